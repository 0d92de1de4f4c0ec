import PresenceCore
import PresenceProtocol
import Redis

/// A deleted user leaves their conversations: an intent of the user, written down by the script that deletes the account. What
/// they wrote stays.
final class Departing {
    static let name = "departing"

    private unowned let shard: ShardLogic
    private var kind: IntentKind!
    private static let page = 20

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        kind = registry.intents(Self.name) { [unowned self] in page(Intent(kind, $0)) }
    }

    /// Does now what a sweep would do.
    func begin(_ user: UserID) {
        let intent = Intent(kind, user)
        shard.intents.begin(intent, first: page(intent)) { _ in }
    }

    private func page(_ intent: Intent, left: [String] = []) -> IntentStep {
        let user = intent.subject
        return IntentStep(
            .departing, intent, keys: { [$0.inbox(user), $0.devices(user), $0.pushed(user)] },
            arguments: [String(Self.page)] + left
        ) { [unowned self] words in
            let ids = words.dropFirst().compactMap { $0.string.flatMap { ConversationID($0) } }
            guard !ids.isEmpty else { return .end(.array([.status("OK")])) }
            return leave(ids[...], ids.map(\.string), intent)
        }
    }

    private func leave(_ ids: ArraySlice<ConversationID>, _ all: [String], _ intent: Intent) -> IntentProgress {
        guard let id = ids.first else { return .step(page(intent, left: all)) }
        let step = IntentStep(
            .depart, Intent(kind, id),
            keys: { [$0.floor, $0.conversation(id), $0.typing(id)] + $0.messages(id) },
            arguments: [id.string, intent.subject.string]
        ) { [unowned self] _ in leave(ids.dropFirst(), all, intent) }
        return .step(step)
    }
}
