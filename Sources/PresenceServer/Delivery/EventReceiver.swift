import PresenceCore
import PresenceProtocol
import Redis

/// A receiver of events outside: an endpoint of webhooks, or a push service. Its events wait in a queue of its own in Redis
/// (`DeliveryQueue`). All its functions run on the shard's thread.
protocol EventReceiver {
    /// Names its keys in Redis.
    var id: Identifier { get }
    /// Its address, as its record in Redis has it.
    var url: String { get }
    /// The same for logs, without secrets.
    var shown: String { get }
    /// The log line of a failed try.
    var complaint: String { get }
    /// The types of events that it wants.
    var events: Set<String> { get }
    /// Calls at a time.
    var mostAtATime: Int { get }
    /// Whether a pause that the answer to one event asks for holds for all of them.
    var pausesForAll: Bool { get }
    /// Whether it gets no calls for a time while all fail (``ReceiverRest``).
    var rests: Bool { get }
    /// Whether it must know of events that are dropped because too many wait (`giveUp`).
    var needsDropped: Bool { get }
    /// Events that wait at most, with at most 1 KiB for each of them on average.
    func mostWaiting(_ configuration: ServerConfiguration) -> Int64

    /// The entries of its queue for an event; `body`: the event as endpoints get it.
    func entries(of event: OfferedEvent, body: [UInt8], partition: Int) -> [WaitingEvent]

    /// Until the next try; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - tries: The number of failed tries, including this one.
    ///   - asked: The pause that the receiver asked for, in ms.
    ///   - spread: From -1 to 1, by chance.
    func pause(after tries: Int, asked: Milliseconds, spread: Double) -> Milliseconds?

    /// The event as it must be sent at this try; `nil` if it is withdrawn.
    ///
    /// - Throws: if Redis cannot answer: the event stays, and is tried later.
    func current(_ event: QueuedEvent) async throws(RedisFailure) -> QueuedEvent?

    /// Makes the call.
    ///
    /// - Parameter time: Now, in ms since 1970.
    /// - Returns: `nil` if there was no call.
    func send(_ event: QueuedEvent, at time: Timestamp) async -> DeliveryOutcome?

    /// These events are not sent any more. Comes before they are settled, and again if this server dies meanwhile; and once
    /// after events are dropped.
    ///
    /// - Parameter time: When their target did not exist any more, if that is why.
    /// - Returns: Whether that is noted. If not, the events stay.
    func giveUp(_ events: [QueuedEvent], gone time: Timestamp?) async -> Bool
}

extension EventReceiver {
    var rests: Bool { true }
    var needsDropped: Bool { false }
    func current(_ event: QueuedEvent) async throws(RedisFailure) -> QueuedEvent? { event }
    func giveUp(_ events: [QueuedEvent], gone time: Timestamp?) async -> Bool { true }
}

/// The outcome of a try.
enum DeliveryOutcome: Sendable, Equatable {
    case accepted
    /// Not taken: the reason, in a few words for the log; the pause that the receiver asked for.
    case failed(String, retryAfter: Milliseconds)
    /// Not taken, now and always: the reason.
    case refused(String)
    /// The event's target did not exist any more at that time.
    case gone(Timestamp)
    /// 410: the receiver wants no events any more.
    case unwanted
}

/// An event on its way into a queue.
struct WaitingEvent: Equatable {
    /// Unique in the queue: of one event there is one, or one for each device.
    let id: String
    /// Its place in the partition's stream.
    let entry: String
    let at: Timestamp
    /// Events of one subject are sent one after the other.
    let subject: String
    let body: [UInt8]
}

/// An event that waits for a receiver, as Redis keeps it: `TRIES SUBJECT BODY`.
struct QueuedEvent: Sendable, Equatable {
    let id: String
    /// Tries that have failed.
    let tries: Int
    let subject: String
    var body: [UInt8]

    /// `nil` for what no server has written.
    init?(id: String, _ value: [UInt8]) {
        let parts = value.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let tries = Int(String(decoding: parts[0], as: UTF8.self)) else { return nil }
        (self.id, self.tries) = (id, tries)
        (subject, body) = (String(decoding: parts[1], as: UTF8.self), Array(parts[2]))
    }
}

/// Numbers of events, over some queues.
struct QueueCounters {
    let sent: MetricCounter
    /// Tries.
    let failed: MetricCounter
    let givenUp: MetricCounter
    let dropped: MetricCounter
}
