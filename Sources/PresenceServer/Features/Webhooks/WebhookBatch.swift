import Dispatch
import PresenceProtocol

/// The calls of a batch: of different subjects at a time, of one subject one after the other.
enum WebhookBatch {
    /// With a receiver so slow, the rest of a subject's events would outlast the lease on them: they are left for the next batch.
    private static let longest = Duration.seconds(5)

    /// Waits for all of them, so it is for a thread of a pool.
    ///
    /// - Parameter time: Now, in ms since 1970. `call` gets the time at which it is made.
    static func send(
        _ events: [QueuedWebhook], at time: Timestamp,
        call: @escaping @Sendable (QueuedWebhook, Timestamp) async -> WebhookOutcome
    ) -> [String: WebhookOutcome] {
        Waiting.wait {
            await withTaskGroup(of: [String: WebhookOutcome].self) { group in
                for events in Dictionary(grouping: events, by: \.subject).values {
                    group.addTask { await sendInTurn(events, at: time, call: call) }
                }
                return await group.reduce(into: [:]) { $0.merge($1) { _, new in new } }
            }
        }
    }

    private static func sendInTurn(
        _ events: [QueuedWebhook], at time: Timestamp,
        call: @Sendable (QueuedWebhook, Timestamp) async -> WebhookOutcome
    ) async -> [String: WebhookOutcome] {
        var outcomes: [String: WebhookOutcome] = [:]
        let began = ContinuousClock.now
        for event in events {
            let passed = ContinuousClock.now - began
            guard passed < longest || outcomes.isEmpty else { break }
            outcomes[event.id] = await call(event, time + Milliseconds(passed / .milliseconds(1)))
        }
        return outcomes
    }
}

/// A thread that is made for waiting waits for a task.
enum Waiting {
    static func wait<Value: Sendable>(for work: @escaping @Sendable () async -> Value) -> Value {
        let answer = Answer<Value>()
        Task { answer.give(await work()) }
        return answer.take()
    }

    // @unchecked: written once before `signal`, read once after `wait`.
    private final class Answer<Value: Sendable>: @unchecked Sendable {
        private var value: Value?
        private let isGiven = DispatchSemaphore(value: 0)

        func give(_ value: Value) {
            self.value = value
            isGiven.signal()
        }

        func take() -> Value {
            isGiven.wait()
            guard let value else { preconditionFailure("an answer was signalled before it was given") }
            return value
        }
    }
}
