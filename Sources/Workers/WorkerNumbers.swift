public import EventLoops

/// What a pool has done, for metrics.
public struct WorkerNumbers: Sendable {
    public let name: String
    public let threads: Int
    /// Jobs that wait, and places that are kept for jobs still to come.
    public let queued: Int
    public let running: Int
    /// Jobs that ran to their end for somebody.
    public let done: Int
    /// Jobs that were not taken because too many waited.
    public let refused: Int
    /// Jobs that were cancelled, while they waited or ran.
    public let cancelled: Int
    /// How long jobs waited before they began, in µs.
    public let waitingTimes: MetricHistogram
    /// How long they ran, in µs.
    public let runningTimes: MetricHistogram
}
