import PresenceCore
import PresenceProtocol
import Redis

/// A deleted user leaves their conversations: an intent of the user, written down by the script that deletes the account. What
/// they wrote stays.
final class Departing {
    static let name = "departing"

    private unowned let shard: ShardLogic
    private var kind: IntentKind!
    /// Conversations in a part.
    private static let page = 50

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        kind = registry.intents(Self.name) { [unowned self] in page(Intent(kind, $0)) }
    }

    /// Does now what a sweep would do.
    func begin(_ user: UserID) {
        let intent = Intent(kind, user)
        shard.intents.begin(intent, first: page(intent)) { _ in }
    }

    /// - Parameter damaged: Conversations that cannot be left.
    private func page(_ intent: Intent, left: [String] = [], damaged: [String] = []) -> IntentStep {
        let user = intent.subject
        return IntentStep(
            .departing, intent, keys: { [$0.inbox(user), $0.devices(user), $0.pushed(user)] },
            arguments: [String(Self.page), String(damaged.count)] + damaged + left
        ) { [unowned self] words in
            let ids = words.dropFirst().compactMap(\.string)
            guard !ids.isEmpty else { return .end(.array([.status("OK")])) }
            return leave(ids[...], isLast: ids.count < Self.page, [], damaged, intent)
        }
    }

    private func leave(
        _ ids: ArraySlice<String>, isLast: Bool, _ left: [String], _ damaged: [String], _ intent: Intent
    ) -> IntentProgress {
        guard let name = ids.first else {
            let rest = page(intent, left: left, damaged: damaged)
            return isLast ? .step(rest) : .more(.array([.status("OK")]), rest: rest)
        }
        let skip = { [unowned self] in leave(ids.dropFirst(), isLast: isLast, left, damaged + [name], intent) }
        guard let id = ConversationID(name) else { return skip() }
        let step = IntentStep(
            .depart, Intent(kind, id),
            keys: { [$0.floor, $0.conversation(id), $0.typing(id)] + $0.messages(id) },
            arguments: [id.string, intent.subject.string],
            skip: skip
        ) { [unowned self] _ in leave(ids.dropFirst(), isLast: isLast, left + [name], damaged, intent) }
        return .step(step)
    }
}
