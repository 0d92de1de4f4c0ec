import PresenceCore
import PresenceProtocol
import Redis

/// Carries membership from a conversation to the inboxes of those who joined or left: an intent of the conversation.
///
/// Its first step is any script that changes who is in it. That notes each who came or went with the version of the change
/// (`j:USER`). An inbox takes a version only if it is a larger one than it has, so a step may come twice or late. Somebody whose
/// account was deleted before their inbox heard of it is taken out again by the last step; who had heard of it leaves by
/// ``Departing``. So is somebody who has come to be in too many conversations meanwhile.
final class Joining {
    private unowned let shard: ShardLogic
    private(set) var kind: IntentKind!
    /// Inboxes that are told before the conversation notes it: a large conversation gets further with each sweep.
    private static let batch = 20

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        kind = registry.intents("joining") { [unowned self] in look(Intent(kind, $0), .array([.status("OK")])) }
    }

    /// The step that finds out who has to be told; after all of them, or the first part of very many, the request gets `answer`.
    ///
    /// - Parameter damaged: Users whose inboxes cannot be told.
    func look(_ intent: Intent, _ answer: RedisValue, damaged: Set<UserID> = []) -> IntentStep {
        IntentStep(.joining, intent, keys: { [$0.conversation(intent.subject)] }) { [unowned self] words in
            let words = words.dropFirst().compactMap(\.string)
            let waiting = stride(from: 0, to: words.count - 2, by: 3).compactMap { place in
                UserID(words[place]).map { Waiting(user: $0, state: words[place + 1], version: words[place + 2]) }
            }.filter { !damaged.contains($0.user) }.prefix(Self.batch)
            guard !waiting.isEmpty else { return .end(answer) }
            return tell(waiting, Part(damaged: damaged, isLast: waiting.count < Self.batch), intent, answer)
        }
    }

    private struct Waiting {
        let user: UserID
        let state: String
        let version: String
    }

    /// What has come of those who were told so far.
    private struct Part {
        /// User, version and setting of receipts of those who have heard.
        var heard: [String] = []
        var damaged: Set<UserID>
        let isLast: Bool
    }

    private func tell(
        _ waiting: ArraySlice<Waiting>, _ part: Part, _ intent: Intent, _ answer: RedisValue
    ) -> IntentProgress {
        guard let next = waiting.first else {
            return part.heard.isEmpty ? goOn(after: part, intent, answer) : .step(settle(part, intent, answer))
        }
        let step = IntentStep(
            .enroll, Intent(kind, next.user),
            keys: { [$0.inbox(next.user), $0.user(next.user), $0.pushed(next.user)] },
            arguments: [
                intent.subject.string, next.state, next.version, String(shard.configuration[Conversations.mostPerUser]),
            ],
            skip: { [unowned self] in
                var part = part
                part.damaged.insert(next.user)
                return tell(waiting.dropFirst(), part, intent, answer)
            }
        ) { [unowned self] words in
            var part = part
            part.heard += [next.user.string, next.version, words.last?.string ?? ""]
            return tell(waiting.dropFirst(), part, intent, answer)
        }
        return .step(step)
    }

    private func settle(_ part: Part, _ intent: Intent, _ answer: RedisValue) -> IntentStep {
        IntentStep(
            .settle, intent,
            keys: {
                [$0.floor, $0.conversation(intent.subject), $0.typing(intent.subject)] + $0.messages(intent.subject)
            },
            arguments: [intent.subject.string] + part.heard
        ) { [unowned self] _ in goOn(after: part, intent, answer) }
    }

    /// Of a very large conversation the rest hear of it after the answer.
    private func goOn(after part: Part, _ intent: Intent, _ answer: RedisValue) -> IntentProgress {
        part.isLast ? .end(answer) : .more(answer, rest: look(intent, answer, damaged: part.damaged))
    }
}
