/// The lag of a loop since the last query, for a metric.
public struct LoopLag: Sendable, Equatable {
    /// How many times the loop woke up.
    public var turns = 0
    /// The longest time between waking up and going to sleep again, in microseconds.
    public var longestTurn: Int64 = 0
    /// The time of all turns together, in microseconds: the loop's busy time.
    public var busy: Int64 = 0
    /// The longest delay of a timer, in milliseconds.
    public var latestTimer: Int64 = 0
}
