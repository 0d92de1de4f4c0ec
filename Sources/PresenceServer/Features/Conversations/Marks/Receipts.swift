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
        kind = registry.intents("receipts") { [unowned self] (run) throws(RedisFailure) in try await carryOn(run) }
    }

    func set(_ isShown: Bool, of user: UserID, by writer: Writer?) async throws(Refusal) {
        let (intent, keys) = (Intent(kind, user), shard.partitions.keys(of: user))
        let call = ScriptCall(
            .receipts, in: keys, ["unfinished": keys.unfinished, "user": keys.user(user)],
            ["intent": intent.member, "user": user, "wanted": isShown ? "e" : "n"], by: writer)
        _ = try await shard.carryOut(intent) { [unowned self] (run) throws(RedisFailure) in
            try await run.step(call, about: user)
            return try await carryOn(run)
        }
    }

    /// - Parameters:
    ///   - former: Conversations that have the setting with this number.
    ///   - broken: Conversations that cannot take it.
    private func carryOn(
        _ run: IntentRun, updated former: [String] = [], number: String = "0", damaged broken: [String] = []
    ) async throws(RedisFailure) -> IntentEnd {
        let (user, keys) = (run.intent.subject, shard.partitions.keys(of: run.intent.subject))
        let call = ScriptCall(
            .receiptsPage, in: keys,
            ["unfinished": keys.unfinished, "inbox": keys.inbox(user), "user": keys.user(user)],
            ["intent": run.intent.member, "most": Self.page, "told": number],
            each: former.flatMap { [$0, "told"] } + broken.flatMap { [$0, "damaged"] })
        let words = try await run.step(call, about: user).rest.compactMap(\.string)
        guard words.count > 2 else { return .ok }
        let (receipts, number, ids) = (words[0], words[1], words.dropFirst(2))
        // Each conversation costs as much as a request, paid by the user's next requests.
        shard.userRates.consume(ids.count, by: user, at: shard.clock.now)
        var (updated, damaged) = ([String](), broken)
        for name in ids {
            guard let id = ConversationID(name) else {
                damaged.append(name)
                continue
            }
            let keys = shard.partitions.keys(of: id)
            let call = ScriptCall(
                .receiptsMember, in: keys, ["conversation": keys.conversation(id)],
                ["conversation": id, "user": user, "receipts": receipts, "number": number])
            if try await run.stepOrSkip(call, about: id) != nil { updated.append(name) } else { damaged.append(name) }
        }
        guard ids.count == Self.page else {
            return try await carryOn(run, updated: updated, number: number, damaged: damaged)
        }
        return .more(IntentEnd.okReply) { [unowned self, updated, damaged] (run) throws(RedisFailure) in
            try await carryOn(run, updated: updated, number: number, damaged: damaged)
        }
    }
}
