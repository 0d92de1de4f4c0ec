import Foundation
import OutgoingHTTP
import PresenceCore
import PresenceProtocol

/// An event that waits for an endpoint, as Redis keeps it: `TRIES SUBJECT BODY`.
struct QueuedWebhook: Sendable, Equatable {
    let id: String
    /// That have failed.
    let tries: Int
    let subject: String
    fileprivate(set) var body: [UInt8]

    /// `nil` for what no server has written.
    init?(id: String, _ value: [UInt8]) {
        let parts = value.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let tries = Int(String(decoding: parts[0], as: UTF8.self)) else { return nil }
        (self.id, self.tries) = (id, tries)
        (subject, body) = (String(decoding: parts[1], as: UTF8.self), Array(parts[2]))
    }
}

/// What is found out about events before they are sent. Both are by their ids.
struct WebhookCheck {
    /// What became of those that are not to be sent.
    var settled: [String: WebhookOutcome] = [:]
    /// What others are to say now, at this try.
    var bodies: [String: [UInt8]] = [:]

    func current(_ events: [QueuedWebhook]) -> [QueuedWebhook] {
        events.map { event in
            var event = event
            if let body = bodies[event.id] { event.body = body }
            return event
        }
    }
}

/// What became of a try.
enum WebhookOutcome: Sendable, Equatable {
    case taken
    /// Not taken: why, in a few words that may be logged; how long the receiver asked to be left alone.
    case failed(String, retryAfter: Milliseconds)
    /// Not taken, and it never will be: why.
    case refused(String)
    /// What it was for was not there any more at that time.
    case gone(Timestamp)
    /// Not sent, and it never will be: what it was for has been taken back.
    case withdrawn
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

    func send(_ events: [QueuedWebhook], at time: Timestamp) -> [String: WebhookOutcome] {
        WebhookBatch.send(events, at: time) { await send($0, seconds: $1 / 1_000) }
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
}

extension WebhookEndpoint: EventReceiver {
    var shown: String { Self.shown(url) }
    var complaint: String { "webhook not taken" }
    var pool: WorkerPlan { Webhooks.pool }
    var mostAtATime: Int { 16 }
    var pausesForAll: Bool { true }

    func mostWaiting(_ configuration: ServerConfiguration) -> Int64 { Int64(configuration[Webhooks.queue]) }

    func entries(of event: WebhookEvent, body: [UInt8], partition: Int) -> [WaitingEvent] {
        [
            WaitingEvent(
                id: event.id(partition: partition), entry: event.entry, at: event.at, subject: event.subject,
                body: body)
        ]
    }

    func pause(after tries: Int, asked: Milliseconds, spread: Double) -> Milliseconds? {
        RetrySchedule.pause(after: tries, asked: asked, spread: spread)
    }

    func send(_ events: [QueuedWebhook], at time: Timestamp) -> [String: WebhookOutcome] {
        WebhookCalls(endpoint: self).send(events, at: time)
    }
}
