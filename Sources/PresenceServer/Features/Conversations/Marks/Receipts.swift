import PresenceCore
import PresenceProtocol
import Redis

/// Whether others see what a user has read. An intent of the user carries the setting to each of their conversations.
final class Receipts {
    private unowned let shard: ShardLogic
    private var kind: IntentKind!
    /// The most conversations in one part. If a user has no more than that, all have the setting when the request is
    /// answered.
    private static let page = 50

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        kind = registry.intents("receipts") { [unowned self] in page(Intent(kind, $0)) }
    }

    func set(_ isShown: Bool, of user: UserID, by writer: Writer?) async throws(Refusal) {
        let (intent, keys) = (Intent(kind, user), shard.partitions.keys(of: user))
        let call = ScriptCall(
            .receipts, in: keys, ["unfinished": keys.unfinished, "user": keys.user(user)],
            ["intent": intent.member, "user": user, "wanted": isShown ? "e" : "n"], by: writer)
        let first = IntentStep(call, about: user) { [unowned self] _ in .step(page(intent)) }
        _ = try await shard.carryOut(intent, first: first)
    }

    /// - Parameters:
    ///   - told: conversations that have the setting with this number.
    ///   - damaged: conversations that cannot take it.
    private func page(
        _ intent: Intent, told: [String] = [], number: String = "0", damaged: [String] = []
    ) -> IntentStep {
        let (user, keys) = (intent.subject, shard.partitions.keys(of: intent.subject))
        let call = ScriptCall(
            .receiptsPage, in: keys,
            ["unfinished": keys.unfinished, "inbox": keys.inbox(user), "user": keys.user(user)],
            ["intent": intent.member, "most": Self.page, "told": number],
            each: told.flatMap { [$0, "told"] } + damaged.flatMap { [$0, "damaged"] })
        return IntentStep(call, about: user) { [unowned self] reply in
            let words = reply.rest.compactMap(\.string)
            guard words.count > 2 else { return .end(IntentProgress.ok) }
            // Each conversation costs as much as a request, paid by the user's next requests.
            shard.userRates.consume(words.count - 2, by: user, at: shard.clock.now)
            let setting = Setting(receipts: words[0], number: words[1], isLast: words.count - 2 < Self.page)
            return updateMembers(words.dropFirst(2), setting, [], damaged, intent)
        }
    }

    private struct Setting {
        let receipts: String
        let number: String
        /// Whether no further conversations need the setting.
        let isLast: Bool
    }

    private func updateMembers(
        _ ids: ArraySlice<String>, _ setting: Setting, _ told: [String], _ damaged: [String], _ intent: Intent
    ) -> IntentProgress {
        guard let name = ids.first else {
            let rest = page(intent, told: told, number: setting.number, damaged: damaged)
            return setting.isLast ? .step(rest) : .more(IntentProgress.ok, rest: rest)
        }
        let skip = { [unowned self] in updateMembers(ids.dropFirst(), setting, told, damaged + [name], intent) }
        guard let id = ConversationID(name) else { return skip() }
        let keys = shard.partitions.keys(of: id)
        let call = ScriptCall(
            .receiptsMember, in: keys, ["conversation": keys.conversation(id)],
            [
                "conversation": id, "user": intent.subject, "receipts": setting.receipts, "number": setting.number,
            ])
        return .step(
            IntentStep(call, about: id, skip: skip) { [unowned self] _ in
                updateMembers(ids.dropFirst(), setting, told + [name], damaged, intent)
            })
    }
}
