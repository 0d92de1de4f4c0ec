import PresenceCore
import PresenceProtocol

/// Somebody outside who is told of events: an endpoint of webhooks, or a push service. What waits for it is in a queue of its
/// own in Redis (`WebhookQueue`).
protocol EventReceiver: Sendable {
    /// What its keys in Redis are called.
    var id: Identifier { get }
    /// Where it is, as its record in Redis says it.
    var url: String { get }
    /// The same as logs show it: nothing of it is a secret.
    var shown: String { get }
    /// What logs say when it has not taken something.
    var complaint: String { get }
    /// Types of events that it wants.
    var events: Set<String> { get }
    /// Whose threads send.
    var pool: WorkerPlan { get }
    /// How many events are sent at a time.
    var mostAtATime: Int { get }
    /// Whether a pause that one event's answer asks for is meant for all that wait.
    var pausesForAll: Bool { get }
    /// How many wait for it at most, and at most 1 KiB for each of them on average.
    func mostWaiting(_ configuration: ServerConfiguration) -> Int64

    /// What waits for it of an event; `body`: what endpoints are told.
    func entries(of event: WebhookEvent, body: [UInt8], partition: Int) -> [WaitingEvent]

    /// Until the next try; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - tries: That have failed, this one included.
    ///   - asked: How long the receiver asked to be left alone, in ms.
    ///   - spread: From -1 to 1, by chance.
    func pause(after tries: Int, asked: Milliseconds, spread: Double) -> Milliseconds?

    /// Makes the calls of a batch, and waits for them: for a thread of the pool.
    ///
    /// - Parameter time: Now, in ms since 1970.
    func send(_ events: [QueuedWebhook], at time: Timestamp) -> [String: WebhookOutcome]
}

/// An event on its way into a queue.
struct WaitingEvent: Equatable {
    /// Unique in the queue: of one event there is one, or one for each device.
    let id: String
    /// Of the partition's stream.
    let entry: String
    let at: Timestamp
    /// Those of one subject are sent one after the other.
    let subject: String
    let body: [UInt8]
}

/// What has become of events, over some queues.
struct QueueCounters {
    let sent: MetricCounter
    /// Tries.
    let failed: MetricCounter
    let givenUp: MetricCounter
    let dropped: MetricCounter
}
