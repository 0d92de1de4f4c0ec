import PresenceCore
import PresenceProtocol
import Redis

/// Carries membership from a conversation to the inboxes of users who joined or left, as an intent of the conversation.
///
/// Its first step is any script that changes the members. That script notes each user who joined or left, with the
/// version of the change (`j:USER`). An inbox takes a version only if it is larger than the inbox's own, so a step may
/// be repeated or late. The last step removes users whose account was deleted before their inbox had the conversation;
/// users whose inbox had it leave by ``Departing``. The last step also removes users who have reached the limit of
/// conversations meanwhile.
final class Joining {
    private unowned let shard: ShardLogic
    private(set) var kind: IntentKind!
    /// The inboxes that are updated before the conversation notes it, so that a large conversation advances with each
    /// sweep.
    private static let batch = 20

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        kind = registry.intents("joining") { [unowned self] (run) throws(RedisFailure) in try await carryOn(run) }
    }

    /// Runs a script that changes the members, and continues if its reply is `OK`.
    func change(_ call: ScriptCall, _ run: IntentRun) async throws(RedisFailure) -> IntentEnd {
        let reply = try await run.step(call, about: run.intent.subject)
        return reply.word == "OK" ? try await carryOn(run, reply.value) : .done(reply.value)
    }

    /// The same for a request.
    func change(_ call: ScriptCall, of intent: Intent, for user: UserID? = nil) async throws(Refusal) -> ScriptReply {
        try await shard.carryOut(intent, of: user) { [unowned self] (run) throws(RedisFailure) in
            try await change(call, run)
        }
    }

    /// Updates inboxes. The request gets `answer` after all of them are updated, or, if they are very many, after the first
    /// part.
    ///
    /// - Parameter former: Users whose inboxes cannot be updated.
    private func carryOn(
        _ run: IntentRun, _ answer: RedisValue = IntentEnd.okReply, damaged former: Set<UserID> = []
    ) async throws(RedisFailure) -> IntentEnd {
        let (id, keys, intent) = (run.intent.subject, shard.partitions.keys(of: run.intent.subject), run.intent.member)
        let call = ScriptCall(
            .joining, in: keys, ["unfinished": keys.unfinished, "conversation": keys.conversation(id)],
            ["intent": intent])
        let words = try await run.step(call, about: id).rest.compactMap(\.string)
        let waiting = stride(from: 0, to: words.count - 2, by: 3).compactMap { place in
            UserID(words[place]).map { Waiting(user: $0, state: words[place + 1], version: words[place + 2]) }
        }.filter { !former.contains($0.user) }.prefix(Self.batch)
        guard !waiting.isEmpty else { return .done(answer) }
        // User, version, setting of receipts, and whether it is a request, for each updated inbox.
        var heard: [String] = []
        var damaged = former
        for next in waiting {
            if let reply = try await run.stepOrSkip(enrolling(next, in: id), about: next.user) {
                heard += [next.user.string, next.version, reply[0].string ?? "", reply[1].string ?? ""]
            } else {
                damaged.insert(next.user)
            }
        }
        if !heard.isEmpty {
            let call = ScriptCall(
                .settle, in: keys, keys.whole(id), ["intent": intent, "conversation": id], each: heard)
            try await run.step(call, about: id)
        }
        guard waiting.count == Self.batch else { return .done(answer) }
        // In a very large conversation, the inboxes that are still to be updated come after the answer.
        return .more(answer) { [unowned self, damaged] (run) throws(RedisFailure) in
            try await carryOn(run, answer, damaged: damaged)
        }
    }

    private struct Waiting {
        let user: UserID
        let state: String
        let version: String
    }

    private func enrolling(_ next: Waiting, in id: ConversationID) -> ScriptCall {
        let (user, keys) = (next.user, shard.partitions.keys(of: next.user))
        return ScriptCall(
            .enroll, in: keys,
            [
                "unfinished": keys.unfinished, "inbox": keys.inbox(user), "user": keys.user(user),
                "pushed": keys.pushed(user), "contacts": keys.contacts(user),
            ],
            [
                "intent": Intent(kind, user).member, "conversation": id, "change": next.state,
                "version": next.version, "mostIn": shard.configuration[Conversations.mostPerUser],
            ])
    }
}
