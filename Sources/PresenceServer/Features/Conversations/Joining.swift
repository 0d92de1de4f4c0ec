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

    /// The step that finds out who has to be told; after all of them the request gets `answer`.
    func look(_ intent: Intent, _ answer: RedisValue) -> IntentStep {
        IntentStep(.joining, intent, keys: { [$0.conversation(intent.subject)] }) { [unowned self] words in
            let words = words.dropFirst().compactMap(\.string)
            let waiting = stride(from: 0, to: words.count - 2, by: 3).prefix(Self.batch).compactMap { place in
                UserID(words[place]).map { Waiting(user: $0, state: words[place + 1], version: words[place + 2]) }
            }
            guard !waiting.isEmpty else { return .end(answer) }
            return tell(waiting[...], [], intent, answer)
        }
    }

    private struct Waiting {
        let user: UserID
        let state: String
        let version: String
    }

    /// `heard`: user, version and setting of receipts of those who were told.
    private func tell(
        _ waiting: ArraySlice<Waiting>, _ heard: [String], _ intent: Intent, _ answer: RedisValue
    ) -> IntentProgress {
        guard let next = waiting.first else { return .step(settle(heard, intent, answer)) }
        let step = IntentStep(
            .enroll, Intent(kind, next.user),
            keys: { [$0.inbox(next.user), $0.user(next.user), $0.pushed(next.user)] },
            arguments: [
                intent.subject.string, next.state, next.version, String(shard.configuration[Conversations.mostPerUser]),
            ]
        ) { [unowned self] words in
            let told = [next.user.string, next.version, words.last?.string ?? ""]
            return tell(waiting.dropFirst(), heard + told, intent, answer)
        }
        return .step(step)
    }

    private func settle(_ heard: [String], _ intent: Intent, _ answer: RedisValue) -> IntentStep {
        IntentStep(
            .settle, intent,
            keys: {
                [$0.floor, $0.conversation(intent.subject), $0.typing(intent.subject)] + $0.messages(intent.subject)
            },
            arguments: [intent.subject.string] + heard
        ) { [unowned self] _ in
            // Of a very large conversation the rest hear of it after the answer.
            heard.count < 3 * Self.batch ? .end(answer) : .answer(answer, then: look(intent, answer))
        }
    }
}
