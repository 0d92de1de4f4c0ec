import PresenceCore
import PresenceProtocol
import Redis

/// Whether others see what a user has read: carried to each of their conversations, an intent of the user.
final class Receipts {
    private unowned let shard: ShardLogic
    private var kind: IntentKind!
    private static let page = 20

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        kind = registry.intents("receipts") { [unowned self] in page(Intent(kind, $0)) }
    }

    func set(_ isShown: Bool, of user: UserID, by writer: Writer?, done: @escaping StoreReply) {
        let intent = Intent(kind, user)
        let first = IntentStep(
            .receipts, intent, keys: { [$0.floor, $0.user(user)] + writer.keys },
            arguments: [user.string, isShown ? "e" : "n"]
        ) { [unowned self] _ in .step(page(intent)) }
        shard.intents.begin(intent, first: first, reply: done)
    }

    /// - Parameter told: Conversations that have heard of the setting with this number.
    private func page(_ intent: Intent, told: [String] = [], number: String = "0") -> IntentStep {
        let user = intent.subject
        return IntentStep(
            .receiptsPage, intent, keys: { [$0.inbox(user), $0.user(user)] },
            arguments: [String(Self.page), number] + told
        ) { [unowned self] words in
            let words = words.compactMap(\.string)
            let ids = words.dropFirst(3).compactMap { ConversationID($0) }
            guard words.count > 3, !ids.isEmpty else { return .end(.array([.status("OK")])) }
            return tell(ids[...], ids.map(\.string), words[1], words[2], intent)
        }
    }

    private func tell(
        _ ids: ArraySlice<ConversationID>, _ all: [String], _ receipts: String, _ number: String, _ intent: Intent
    ) -> IntentProgress {
        guard let id = ids.first else { return .step(page(intent, told: all, number: number)) }
        let step = IntentStep(
            .receiptsMember, Intent(kind, id), keys: { [$0.floor, $0.conversation(id)] },
            arguments: [id.string, intent.subject.string, receipts, number]
        ) { [unowned self] _ in tell(ids.dropFirst(), all, receipts, number, intent) }
        return .step(step)
    }
}
