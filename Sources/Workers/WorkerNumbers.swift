public import EventLoops

/// Counts of a pool, for metrics.
public struct WorkerNumbers: Sendable {
    public let name: String
    public let threads: Int
    /// Waiting jobs and reserved places.
    public let queued: Int
    public let running: Int
    /// Jobs that ran to their end and were not cancelled.
    public let done: Int
    /// Jobs that were rejected because too many waited.
    public let refused: Int
    /// Jobs that were cancelled, while they waited or ran.
    public let cancelled: Int
    /// How long jobs waited before they began, in µs.
    public let waitingTimes: MetricHistogram
    /// How long they ran, in µs.
    public let runningTimes: MetricHistogram
}
