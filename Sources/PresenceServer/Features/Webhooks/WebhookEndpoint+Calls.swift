import OutgoingHTTP
import PresenceCore
import PresenceProtocol

/// The calls of an endpoint.
extension WebhookEndpoint: EventReceiver {
    /// Calls of all endpoints run at a time, so that none waits for others that hang.
    private static let client = OutgoingClient(
        name: "webhooks", mostRunning: most * mostCalls, userAgent: "Presence-Webhooks")
    private static let mostCalls = 16
    /// In seconds. A receiver that needs longer must have a queue of its own.
    private static let patience = 15.0

    var shown: String { Self.shown(url) }
    var complaint: String { "webhook not taken" }
    var mostAtATime: Int { Self.mostCalls }
    var pausesForAll: Bool { true }

    func mostWaiting(_ configuration: ServerConfiguration) -> Int64 { Int64(configuration[Webhooks.queue]) }

    func entries(of event: OfferedEvent, body: [UInt8], partition: Int) -> [WaitingEvent] {
        [
            WaitingEvent(
                id: event.id(partition: partition), entry: event.entry, at: event.at, subject: event.subject,
                body: body)
        ]
    }

    func pause(after tries: Int, asked: Milliseconds, spread: Double) -> Milliseconds? {
        RetrySchedule.pause(after: tries, asked: asked, spread: spread)
    }

    func send(_ event: QueuedEvent, at time: Timestamp) async -> DeliveryOutcome? {
        let seconds = time / 1_000
        var request = OutgoingRequest("POST", url, body: event.body)
        request.headers = [
            ("content-type", "application/json"), ("webhook-id", event.id), ("webhook-timestamp", String(seconds)),
            ("webhook-signature", secret.signature(id: event.id, timestamp: seconds, body: event.body)),
        ]
        request.limits.total = Self.patience
        do throws(OutgoingFailure) {
            let response = try await Self.client.send(request)
            switch response.status {
            case 200..<300: return .accepted
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
