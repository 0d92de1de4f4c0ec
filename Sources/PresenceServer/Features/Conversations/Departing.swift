import PresenceCore
import PresenceProtocol
import Redis

/// A deleted user leaves their conversations, by an intent that the script of the deletion writes down. Their messages
/// stay.
final class Departing {
    static let name = "departing"

    private unowned let shard: ShardLogic
    private var kind: IntentKind!
    /// The most conversations in one part of the intent.
    private static let page = 50

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        kind = registry.intents(Self.name) { [unowned self] in page(Intent(kind, $0)) }
    }

    /// Starts at once what a sweep would do later.
    func begin(_ user: UserID) {
        let intent = Intent(kind, user)
        shard.intents.begin(intent, first: page(intent)) { _ in }
    }

    /// - Parameter damaged: conversations that cannot be left.
    private func page(_ intent: Intent, left: [String] = [], damaged: [String] = []) -> IntentStep {
        let (user, keys) = (intent.subject, shard.partitions.keys(of: intent.subject))
        let call = ScriptCall(
            .departing, in: keys,
            [
                "unfinished": keys.unfinished, "inbox": keys.inbox(user), "devices": keys.devices(user),
                "pushed": keys.pushed(user),
            ], ["intent": intent.member, "most": Self.page],
            each: left.flatMap { [$0, "left"] } + damaged.flatMap { [$0, "damaged"] })
        return IntentStep(call, about: user) { [unowned self] reply in
            let ids = reply.rest.compactMap(\.string)
            guard !ids.isEmpty else { return .end(IntentProgress.ok) }
            return leave(ids[...], isLast: ids.count < Self.page, [], damaged, intent)
        }
    }

    private func leave(
        _ ids: ArraySlice<String>, isLast: Bool, _ left: [String], _ damaged: [String], _ intent: Intent
    ) -> IntentProgress {
        guard let name = ids.first else {
            let rest = page(intent, left: left, damaged: damaged)
            return isLast ? .step(rest) : .more(IntentProgress.ok, rest: rest)
        }
        let skip = { [unowned self] in leave(ids.dropFirst(), isLast: isLast, left, damaged + [name], intent) }
        guard let id = ConversationID(name) else { return skip() }
        let keys = shard.partitions.keys(of: id)
        let call = ScriptCall(
            .depart, in: keys, keys.whole(id),
            ["intent": Intent(kind, id).member, "conversation": id, "user": intent.subject])
        return .step(
            IntentStep(call, about: id, skip: skip) { [unowned self] _ in
                leave(ids.dropFirst(), isLast: isLast, left + [name], damaged, intent)
            })
    }
}
