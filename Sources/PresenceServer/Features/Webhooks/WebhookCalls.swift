import Dispatch
import Foundation
import OutgoingHTTP
import PresenceProtocol

/// An event that waits for an endpoint, as Redis keeps it: `TRIES SUBJECT BODY`.
struct QueuedWebhook: Sendable, Equatable {
    let id: String
    /// That have failed.
    let tries: Int
    let subject: String
    let body: [UInt8]

    /// `nil` for what no server has written.
    init?(id: String, _ value: [UInt8]) {
        let parts = value.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let tries = Int(String(decoding: parts[0], as: UTF8.self)) else { return nil }
        (self.id, self.tries) = (id, tries)
        (subject, body) = (String(decoding: parts[1], as: UTF8.self), Array(parts[2]))
    }
}

/// What became of a try.
enum WebhookOutcome: Sendable, Equatable {
    case taken
    /// Not taken: why, in a few words that may be logged; how long the receiver asked to be left alone.
    case failed(String, retryAfter: Milliseconds)
    /// 410: the receiver wants nothing any more.
    case unwanted
}

/// Calls an endpoint with some of its events, several at a time; those of one subject one after the other.
///
/// It waits for all of them, so it is for a thread of the pool.
struct WebhookCalls: Sendable {
    let endpoint: WebhookEndpoint

    private static let client = OutgoingClient(name: "webhooks", userAgent: "Presence-Webhooks")
    /// In seconds. What takes longer belongs behind a queue of the receiver's own.
    private static let patience = 15.0

    /// - Parameter time: Now, in ms since 1970.
    func send(_ events: [QueuedWebhook], at time: Timestamp) -> [String: WebhookOutcome] {
        let answer = Answer()
        Task {
            answer.give(
                await withTaskGroup(of: [String: WebhookOutcome].self) { group in
                    for events in Dictionary(grouping: events, by: \.subject).values {
                        group.addTask { await sendInTurn(events, at: time) }
                    }
                    return await group.reduce(into: [:]) { $0.merge($1) { _, new in new } }
                })
        }
        return answer.wait()
    }

    private func sendInTurn(_ events: [QueuedWebhook], at time: Timestamp) async -> [String: WebhookOutcome] {
        var outcomes: [String: WebhookOutcome] = [:]
        let began = ContinuousClock.now
        for event in events {
            // With a receiver so slow, the rest of the batch would outlast the lease on it: it is left for the next one.
            guard ContinuousClock.now - began < .seconds(5) || outcomes.isEmpty else { break }
            let seconds = time / 1_000 + Int64((ContinuousClock.now - began) / .seconds(1))
            outcomes[event.id] = await send(event, seconds: seconds)
        }
        return outcomes
    }

    private func send(_ event: QueuedWebhook, seconds: Int64) async -> WebhookOutcome {
        var request = OutgoingRequest("POST", endpoint.url, body: event.body)
        request.headers = [
            ("content-type", "application/json"), ("webhook-id", event.id), ("webhook-timestamp", String(seconds)),
            ("webhook-signature", endpoint.secret.signature(id: event.id, timestamp: seconds, body: event.body)),
        ]
        request.limits.total = Self.patience
        do throws(OutgoingFailure) {
            let response = try await Self.client.send(request)
            switch response.status {
            case 200..<300: return .taken
            case 410: return .unwanted
            default:
                let asked = [429, 503].contains(response.status) ? RetrySchedule.asked(response["retry-after"]) : 0
                return .failed("status \(response.status)", retryAfter: asked)
            }
        } catch {
            return .failed(error.reason, retryAfter: 0)
        }
    }

    /// A thread that is made for waiting waits for a task.
    private final class Answer: @unchecked Sendable {
        // @unchecked: written once before `signal`, read once after `wait`.
        private var outcomes: [String: WebhookOutcome] = [:]
        private let isGiven = DispatchSemaphore(value: 0)

        func give(_ outcomes: [String: WebhookOutcome]) {
            self.outcomes = outcomes
            isGiven.signal()
        }

        func wait() -> [String: WebhookOutcome] {
            isGiven.wait()
            return outcomes
        }
    }
}
