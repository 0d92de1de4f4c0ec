import OutgoingHTTP
import PresenceCore
import PresenceProtocol

/// Sends to one platform's devices.
protocol PushSender: Sendable {
    /// As devices say it.
    var platform: String { get }
    /// What makes its queue another one: where it sends to, and as whom.
    var name: String { get }
    var url: String { get }

    /// - Parameters:
    ///   - id: of the push, the same at each try.
    ///   - time: Now, in ms since 1970.
    func send(_ message: PushMessage, id: String, at time: Timestamp) async -> WebhookOutcome
}

/// A push service: of each event `push.due` it is told once for each device of its platform.
struct PushService: EventReceiver {
    let sender: any PushSender

    /// HTTP/2 where the service has it: then all pushes share one connection.
    static let client = OutgoingClient(name: "push", mostRunning: 100, userAgent: "Presence-Push")
    /// In seconds, for one push.
    static let patience = 10.0
    /// In ms, after failed tries, each a fifth more or less: six tries within an hour. What is older is no news.
    private static let pauses: [Milliseconds] = [10_000, 30_000, 120_000, 600_000, 1_800_000]
    /// ms since it was due, after which a push is not sent any more.
    static let longestAge: Milliseconds = 3_600_000
    /// ms: a service may ask for no longer a pause.
    private static let longestPause: Milliseconds = 600_000

    var id: Identifier { WebhookEndpoint.id(of: sender.name) }
    var url: String { sender.name }
    var shown: String { WebhookEndpoint.shown(sender.url) }
    var complaint: String { "push not taken" }
    var events: Set<String> { ["push.due"] }
    var pool: WorkerPlan { Push.pool }
    var mostAtATime: Int { 50 }
    /// A service limits single devices as well as all.
    var pausesForAll: Bool { false }

    func mostWaiting(_ configuration: ServerConfiguration) -> Int64 { Int64(configuration[Push.queue]) }

    func entries(of event: WebhookEvent, body: [UInt8], partition: Int) -> [WaitingEvent] {
        let id = event.id(partition: partition)
        let messages = PushMessage.all(
            for: sender.platform, in: body, at: event.at, of: event.about.flatMap { Int64($0) })
        return messages.enumerated().map { place, message in
            WaitingEvent(
                id: "\(id)_\(place)", entry: event.entry, at: event.at,
                subject: PushTarget(user: event.subject, token: message.pushToken).subject, body: message.body)
        }
    }

    func pause(after tries: Int, asked: Milliseconds, spread: Double) -> Milliseconds? {
        guard (1...Self.pauses.count).contains(tries) else { return nil }
        let pause = Double(Self.pauses[tries - 1]) * (1 + 0.2 * min(max(spread, -1), 1))
        return max(Milliseconds(pause), min(asked, Self.longestPause))
    }

    func send(_ events: [QueuedWebhook], at time: Timestamp) -> [String: WebhookOutcome] {
        let sender = sender
        return WebhookBatch.send(events, at: time) { event, time in
            guard let message = PushMessage(event.body) else { return .refused("damaged record") }
            if let due = message.at, time - due > Self.longestAge { return .refused("too late") }
            return await sender.send(message, id: event.id, at: time)
        }
    }

    /// A try that failed; what is asked for longer than it may be is cut.
    static func failed(_ reason: String, _ response: OutgoingResponse) -> WebhookOutcome {
        .failed(reason, retryAfter: min(RetrySchedule.asked(response["retry-after"]), longestPause))
    }

    /// A status and a word of the service's own for logs: letters and underscores, or nothing of it.
    static func reason(_ status: Int, _ word: String?) -> String {
        guard let word, (1...60).contains(word.utf8.count),
            word.utf8.allSatisfy({ (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x5F })
        else { return "status \(status)" }
        return "status \(status) \(word)"
    }
}
