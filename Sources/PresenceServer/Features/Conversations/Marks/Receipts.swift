import PresenceCore
import PresenceProtocol
import Redis

/// Whether others see what a user has read: carried to each of their conversations, an intent of the user.
final class Receipts {
    private unowned let shard: ShardLogic
    private var kind: IntentKind!
    /// Conversations in a part. Setting one that is not in more is done when it is answered.
    private static let page = 50

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

    /// - Parameters:
    ///   - told: Conversations that have heard of the setting with this number.
    ///   - damaged: Conversations that cannot hear of it.
    private func page(
        _ intent: Intent, told: [String] = [], number: String = "0", damaged: [String] = []
    ) -> IntentStep {
        let user = intent.subject
        return IntentStep(
            .receiptsPage, intent, keys: { [$0.inbox(user), $0.user(user)] },
            arguments: [String(Self.page), number, String(damaged.count)] + damaged + told
        ) { [unowned self] words in
            let words = words.compactMap(\.string)
            guard words.count > 3 else { return .end(.array([.status("OK")])) }
            // Each costs as much as a request, which the user's next ones wait for.
            shard.userRates.take(words.count - 3, by: user, at: shard.clock.now)
            let setting = Setting(receipts: words[1], number: words[2], isLast: words.count - 3 < Self.page)
            return tell(words.dropFirst(3), setting, [], damaged, intent)
        }
    }

    private struct Setting {
        let receipts: String
        let number: String
        /// Whether no further conversations have to hear of it.
        let isLast: Bool
    }

    private func tell(
        _ ids: ArraySlice<String>, _ setting: Setting, _ told: [String], _ damaged: [String], _ intent: Intent
    ) -> IntentProgress {
        guard let name = ids.first else {
            let rest = page(intent, told: told, number: setting.number, damaged: damaged)
            return setting.isLast ? .step(rest) : .more(.array([.status("OK")]), rest: rest)
        }
        let skip = { [unowned self] in tell(ids.dropFirst(), setting, told, damaged + [name], intent) }
        guard let id = ConversationID(name) else { return skip() }
        let step = IntentStep(
            .receiptsMember, Intent(kind, id), keys: { [$0.floor, $0.conversation(id)] },
            arguments: [id.string, intent.subject.string, setting.receipts, setting.number],
            skip: skip
        ) { [unowned self] _ in tell(ids.dropFirst(), setting, told + [name], damaged, intent) }
        return .step(step)
    }
}
