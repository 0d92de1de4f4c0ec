/// Times and bounds of a connection that stays up by itself.
public struct RedisOptions: Sendable {
    /// Milliseconds from the start of an attempt (resolving the name included) until the connection must be ready.
    public var connectTimeout: Int64 = 2_000

    /// Milliseconds that the oldest unanswered command may wait before the connection is given up.
    public var commandTimeout: Int64 = 5_000

    /// Milliseconds before the first new attempt after a break; each further one waits twice as long, up to
    /// `slowestRetry`. Every wait is drawn from its upper half, so that a crowd does not come back as one.
    public var firstRetry: Int64 = 50
    public var slowestRetry: Int64 = 1_000

    /// Milliseconds between attempts when the server refuses us (wrong password, no permission, no such database):
    /// that does not heal within a second, and each refused attempt stands in the server's log.
    public var refusedRetry: Int64 = 5_000

    /// Commands that may wait for their answers; one more fails with `.overloaded`. A shard that asserts 20,000
    /// sessions stays far below; a queue of this length takes Redis about a second.
    public var maximumPending = 200_000

    public init() {}
}
