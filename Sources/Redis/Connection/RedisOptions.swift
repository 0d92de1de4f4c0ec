/// Times and limits of a connection that reconnects automatically.
public struct RedisOptions: Sendable {
    /// Milliseconds from the start of an attempt (resolving the name included) until the connection must be ready.
    public var connectTimeout: Int64 = 2_000

    /// Milliseconds that the oldest unanswered command may wait before the connection is dropped.
    public var commandTimeout: Int64 = 5_000

    /// Milliseconds before the first new attempt after a break. Each further wait is twice as long, up to
    /// `slowestRetry`. Every wait is a random time from the upper half of that range, so that many clients do not
    /// reconnect at once.
    public var firstRetry: Int64 = 50
    public var slowestRetry: Int64 = 1_000

    /// Milliseconds between attempts when the server rejects the client (wrong password, no permission, no such
    /// database): such a fault does not end within a second, and each rejected attempt appears in the server's log.
    public var refusedRetry: Int64 = 5_000

    /// The most commands that may wait for their answers; a further one fails with `.overloaded`. A shard that writes
    /// 20,000 sessions again stays far below this. Redis needs about a second for a queue of this length.
    public var maximumPending = 200_000

    public init() {}
}
