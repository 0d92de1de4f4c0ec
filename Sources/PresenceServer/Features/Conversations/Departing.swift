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
        kind = registry.intents(Self.name) { [unowned self] in page(Departure($0, kind)) }
    }

    /// Starts at once what a sweep would do later.
    func begin(_ user: UserID) {
        let departure = Departure(user, kind)
        shard.intents.begin(departure.intent, first: page(departure)) { _ in }
    }

    /// The progress of one executor.
    private final class Departure {
        let user: UserID
        let intent: Intent
        var erases = false
        var left: [String] = []
        /// Conversations that cannot be left.
        var damaged: [String] = []
        var steps = 0

        init(_ user: UserID, _ kind: IntentKind) { (self.user, intent) = (user, Intent(kind, user)) }
    }

    private func page(_ departure: Departure) -> IntentStep {
        let (user, keys) = (departure.user, shard.partitions.keys(of: departure.user))
        let call = ScriptCall(
            .departing, in: keys,
            [
                "unfinished": keys.unfinished, "inbox": keys.inbox(user), "devices": keys.devices(user),
                "pushed": keys.pushed(user),
            ], ["intent": departure.intent.member, "most": Self.page],
            each: departure.left.flatMap { [$0, "left"] } + departure.damaged.flatMap { [$0, "damaged"] })
        return IntentStep(call, about: user) { [unowned self] reply in
            departure.left = []
            departure.erases = reply[0].int == 1
            let ids = reply.rest.dropFirst().compactMap(\.string)
            guard !ids.isEmpty else { return .end(IntentProgress.ok) }
            return leave(ids[...], isLast: ids.count < Self.page, departure)
        }
    }

    /// A step, in this part of the intent or the next one.
    private func proceed(_ step: IntentStep, _ departure: Departure) -> IntentProgress {
        departure.steps += 1
        guard departure.steps >= Self.mostSteps else { return .step(step) }
        departure.steps = 0
        return .more(IntentProgress.ok, rest: step)
    }

    private func leave(_ ids: ArraySlice<String>, isLast: Bool, _ departure: Departure) -> IntentProgress {
        guard let name = ids.first else {
            let rest = page(departure)
            if isLast { return proceed(rest, departure) }
            departure.steps = 0
            return .more(IntentProgress.ok, rest: rest)
        }
        let next = { [unowned self] in leave(ids.dropFirst(), isLast: isLast, departure) }
        let skip = {
            departure.damaged.append(name)
            return next()
        }
        guard let id = ConversationID(name) else { return skip() }
        let keys = shard.partitions.keys(of: id)
        let call = ScriptCall(
            .depart, in: keys, keys.whole(id),
            ["intent": Intent(kind, id).member, "conversation": id, "user": departure.user])
        let done = {
            departure.left.append(name)
            return next()
        }
        let depart = IntentStep(call, about: id, skip: skip) { [unowned self] _ in
            departure.erases ? proceed(erase(in: id, then: done, skip, departure), departure) : done()
        }
        return proceed(depart, departure)
    }

    /// Deletes the user's messages in a conversation, from the oldest on.
    private func erase(
        in id: ConversationID, after seq: Int64 = 0, then done: @escaping () -> IntentProgress,
        _ skip: @escaping () -> IntentProgress, _ departure: Departure
    ) -> IntentStep {
        let keys = shard.partitions.keys(of: id)
        let call = ScriptCall(
            .eraseMessages, in: keys, keys.written(id),
            [
                "conversation": id, "user": departure.user, "after": seq, "most": Self.mostRead,
                "mostErased": Self.mostErased, "keep": shard.configuration[Messages.keepPerConversation],
            ])
        return IntentStep(call, about: id, skip: skip) { [unowned self] reply in
            if reply[1].int ?? 0 > 0 { shard.feature(Messages.self)?.onDeletion.forEach { $0(id) } }
            guard let last = reply[0].int, last > 0 else { return done() }
            return proceed(erase(in: id, after: last, then: done, skip, departure), departure)
        }
    }
}
