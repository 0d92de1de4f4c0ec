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
        kind = registry.intents("joining") { [unowned self] in findInboxes(Intent(kind, $0)) }
    }

    /// The step of a script that changes the members. The intent continues if the reply is `OK`.
    func first(_ call: ScriptCall, of intent: Intent) -> IntentStep {
        IntentStep(call, about: intent.subject) { [unowned self] reply in
            reply.word == "OK" ? .step(findInboxes(intent, reply.value)) : .end(reply.value)
        }
    }

    /// The step that reads which inboxes to update. The request gets `answer` after all of them are updated, or, if
    /// they are very many, after the first part.
    ///
    /// - Parameter damaged: users whose inboxes cannot be updated.
    private func findInboxes(
        _ intent: Intent, _ answer: RedisValue = IntentProgress.ok, damaged: Set<UserID> = []
    ) -> IntentStep {
        let (id, keys) = (intent.subject, shard.partitions.keys(of: intent.subject))
        let call = ScriptCall(
            .joining, in: keys, ["unfinished": keys.unfinished, "conversation": keys.conversation(id)],
            ["intent": intent.member])
        return IntentStep(call, about: id) { [unowned self] reply in
            let words = reply.rest.compactMap(\.string)
            let waiting = stride(from: 0, to: words.count - 2, by: 3).compactMap { place in
                UserID(words[place]).map { Waiting(user: $0, state: words[place + 1], version: words[place + 2]) }
            }.filter { !damaged.contains($0.user) }.prefix(Self.batch)
            guard !waiting.isEmpty else { return .end(answer) }
            return updateInboxes(waiting, Part(damaged: damaged, isLast: waiting.count < Self.batch), intent, answer)
        }
    }

    private struct Waiting {
        let user: UserID
        let state: String
        let version: String
    }

    /// The results for the users handled so far.
    private struct Part {
        /// User, version, setting of receipts, and whether it is a request, for each updated inbox.
        var heard: [String] = []
        var damaged: Set<UserID>
        let isLast: Bool
    }

    private func updateInboxes(
        _ waiting: ArraySlice<Waiting>, _ part: Part, _ intent: Intent, _ answer: RedisValue
    ) -> IntentProgress {
        guard let next = waiting.first else {
            return part.heard.isEmpty ? proceed(after: part, intent, answer) : .step(settle(part, intent, answer))
        }
        let (user, keys) = (next.user, shard.partitions.keys(of: next.user))
        let call = ScriptCall(
            .enroll, in: keys,
            [
                "unfinished": keys.unfinished, "inbox": keys.inbox(user), "user": keys.user(user),
                "pushed": keys.pushed(user), "contacts": keys.contacts(user),
            ],
            [
                "intent": Intent(kind, user).member, "conversation": intent.subject, "change": next.state,
                "version": next.version, "mostIn": shard.configuration[Conversations.mostPerUser],
            ])
        func advance(_ change: (inout Part) -> Void) -> IntentProgress {
            var part = part
            change(&part)
            return updateInboxes(waiting.dropFirst(), part, intent, answer)
        }
        return .step(
            IntentStep(call, about: user, skip: { advance { $0.damaged.insert(user) } }) { reply in
                advance { $0.heard += [user.string, next.version, reply[0].string ?? "", reply[1].string ?? ""] }
            })
    }

    private func settle(_ part: Part, _ intent: Intent, _ answer: RedisValue) -> IntentStep {
        let (id, keys) = (intent.subject, shard.partitions.keys(of: intent.subject))
        let call = ScriptCall(
            .settle, in: keys, keys.whole(id), ["intent": intent.member, "conversation": id], each: part.heard)
        return IntentStep(call, about: id) { [unowned self] _ in proceed(after: part, intent, answer) }
    }

    /// In a very large conversation, the inboxes that are still to be updated come after the answer.
    private func proceed(after part: Part, _ intent: Intent, _ answer: RedisValue) -> IntentProgress {
        part.isLast ? .end(answer) : .more(answer, rest: findInboxes(intent, answer, damaged: part.damaged))
    }
}
