import PresenceCore
import PresenceProtocol
import Redis

/// A deleted user leaves their conversations, by an intent that the script of the deletion writes down. Their messages
/// stay, or are deleted too, if the script has recorded that. A user leaves first, so no later message is missed.
final class Departing {
    static let name = "departing"

    private unowned let shard: ShardLogic
    private var kind: IntentKind!
    /// The most conversations in one part of the intent.
    private static let page = 50
    /// The most steps of one part.
    private static let mostSteps = 50
    /// Messages that one step reads, and deletes: all members receive each deletion.
    private static let (mostRead, mostErased) = (500, 20)

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        kind = registry.intents(Self.name) { [unowned self] (run) throws(RedisFailure) in
            try await carryOn(Departure(run.intent.subject), run)
        }
    }

    /// Starts at once what a sweep would do later.
    func begin(_ user: UserID) { shard.intents.begin(Intent(kind, user)) }

    /// The progress of one executor.
    private final class Departure {
        let user: UserID
        var erases = false
        /// Conversations that are still to be left.
        var waiting: ArraySlice<String> = []
        /// The conversation in which messages are being deleted, and the last one that was looked at.
        var erasing: (id: ConversationID, seq: Int64)?
        var left: [String] = []
        /// Conversations that cannot be left.
        var damaged: [String] = []

        init(_ user: UserID) { self.user = user }
    }

    private func carryOn(_ departure: Departure, _ run: IntentRun) async throws(RedisFailure) -> IntentEnd {
        for _ in 0..<Self.mostSteps {
            if let (id, seq) = departure.erasing {
                try await erase(in: id, after: seq, departure, run)
            } else if let name = departure.waiting.popFirst() {
                try await leave(name, departure, run)
            } else {
                try await find(departure, run)
                if departure.waiting.isEmpty { return .ok }
            }
        }
        return .more(IntentEnd.okReply) { [unowned self] (run) throws(RedisFailure) in
            try await carryOn(departure, run)
        }
    }

    /// Notes which conversations have been left, and reads the next ones.
    private func find(_ departure: Departure, _ run: IntentRun) async throws(RedisFailure) {
        let (user, keys) = (departure.user, shard.partitions.keys(of: departure.user))
        let call = ScriptCall(
            .departing, in: keys,
            [
                "unfinished": keys.unfinished, "inbox": keys.inbox(user), "devices": keys.devices(user),
                "pushed": keys.pushed(user),
            ], ["intent": run.intent.member, "most": Self.page],
            each: departure.left.flatMap { [$0, "left"] } + departure.damaged.flatMap { [$0, "damaged"] })
        let reply = try await run.step(call, about: user)
        departure.left = []
        departure.erases = reply[0].int == 1
        departure.waiting = reply.rest.dropFirst().compactMap(\.string)[...]
    }

    private func leave(_ name: String, _ departure: Departure, _ run: IntentRun) async throws(RedisFailure) {
        guard let id = ConversationID(name) else { return departure.damaged.append(name) }
        let keys = shard.partitions.keys(of: id)
        let call = ScriptCall(
            .depart, in: keys, keys.whole(id),
            ["intent": Intent(kind, id).member, "conversation": id, "user": departure.user])
        guard try await run.stepOrSkip(call, about: id) != nil else { return departure.damaged.append(name) }
        if departure.erases { departure.erasing = (id, 0) } else { departure.left.append(name) }
    }

    /// Deletes some of the user's messages in a conversation, from the oldest on.
    private func erase(
        in id: ConversationID, after seq: Int64, _ departure: Departure, _ run: IntentRun
    ) async throws(RedisFailure) {
        let keys = shard.partitions.keys(of: id)
        let call = ScriptCall(
            .eraseMessages, in: keys, keys.written(id),
            [
                "conversation": id, "user": departure.user, "after": seq, "most": Self.mostRead,
                "mostErased": Self.mostErased, "keep": shard.configuration[Messages.keepPerConversation],
            ])
        departure.erasing = nil
        guard let reply = try await run.stepOrSkip(call, about: id) else { return departure.damaged.append(id.string) }
        if reply[1].int ?? 0 > 0 { shard.feature(Messages.self)?.onDeletion.forEach { $0(id) } }
        if let last = reply[0].int, last > 0 {
            departure.erasing = (id, last)
        } else {
            departure.left.append(id.string)
        }
    }
}
