public import EventLoops

/// Counts of a client, for metrics.
public struct OutgoingNumbers: Sendable {
    public var queued = 0
    public var running = 0
    /// Transfers that got a response, of any status.
    public var answered = 0
    /// Requests that were rejected because too many waited.
    public var refused = 0
    public var cancelled = 0
    /// Transfers without an answer, by ``OutgoingFailure/reason``.
    public var failed: [String: Int] = [:]
    /// The time from each request to the end of its transfer, in ms, for answered and failed transfers.
    public var durations = MetricHistogram(bounds: [5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 15_000, 60_000])

    mutating func add(_ other: OutgoingNumbers) {
        queued += other.queued
        running += other.running
        answered += other.answered
        refused += other.refused
        cancelled += other.cancelled
        failed.merge(other.failed, uniquingKeysWith: +)
        durations.add(other.durations)
    }
}
