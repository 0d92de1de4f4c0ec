/// The limits and times of a `WebSocketServer`.
public struct WebSocketServerConfiguration: Sendable {
    /// The subprotocols that are echoed when a client offers them, the preferred one first.
    public var subprotocols: [String] = []
    /// The longest message that is received; a longer one closes with 1009, before all of it is buffered.
    public var maxMessageBytes = 256 * 1024
    /// The same as long as the delegate has not allowed long messages (`allowLongMessages`).
    public var maxFirstMessageBytes = Int.max
    /// The longest body of an HTTP request that is collected in memory; a longer one is answered 413.
    public var maxBodyBytes = 1024 * 1024
    /// The longest request line and headers; longer ones are answered 431.
    public var maxHeaderBytes = 16 * 1024
    /// The number of headers; more are answered 431.
    public var maxHeaders = 100
    /// What may be held of requests and messages that are not whole, shared with the servers of other loops. Beyond it, or beyond
    /// the share of its client's address, a request is answered 503, and a WebSocket closed with 1013.
    public var inbox = AddressBudget(0)
    /// What may wait of answers that clients do not take, shared in the same way. A long answer beyond it, or beyond the share
    /// of its client's address, is 503.
    public var answers = AnswerBudget(0)
    /// The number of WebSockets. Any beyond it is closed with 1013 after the upgrade.
    public var maxConnections = 15_000
    /// Connections beyond `maxConnections` for telling clients so, and for HTTP. When they are used up too, new ones
    /// wait in the kernel.
    public var reservedConnections = 64
    /// Milliseconds from the acceptance of a connection to the end of its upgrade or its first request's headers and
    /// body, TLS included.
    public var handshakeTimeout: Int64 = 10_000
    /// The number of connections that are no WebSockets: handshakes under way, and HTTP. When they are all in use, those
    /// that have waited longest for their peers make room, once that is a fifth of `handshakeTimeout`; until then new ones
    /// wait in the kernel.
    public var maxHandshakes = 100_000
    /// Milliseconds that a peer has to answer our close frame.
    public var closeTimeout: Int64 = 3_000
    /// Seconds that an HTTP connection is kept from one answer to the end of the next request, however that comes, and
    /// that an answer may take.
    public var httpTimeout: UInt32 = 30

    /// Milliseconds in which a body that is streamed, in either direction, moves on by `transferBytes`, or its connection ends.
    /// The time in which the server itself is behind does not count.
    public var transferTimeout: Int64 = 20_000
    /// A reader that takes 2.5 KB a second moves on by one step of the kernel's buffer in that time.
    public var transferBytes = 16 * 1024

    /// The proxies believed about clients' addresses: `HTTPRequest.peer` is what they make of it.
    public var proxies = TrustedProxies()
    /// Whether it can listen for TLS.
    public var servesTLS = false

    /// What an HTTP request is answered that the delegate never sees: status and reason. With 503 it may be repeated.
    public var errorResponse: @Sendable (_ status: Int, _ reason: String) -> HTTPResponse = { .text($0, $1) }

    public init() {}
}

/// What a server has done since it began, for metrics.
public struct WebSocketServerCounters: Sendable {
    public var accepted = 0
    public var acceptFailures = 0
    public var opened = 0
    public var turnedAway = 0
    public var handshakeTimeouts = 0
    /// Connections that made room for others.
    public var handshakesDisplaced = 0
    /// Connections over TLS that came as far as a first request.
    public var tlsHandshakes = 0
    /// Connections over TLS that ended before that: not agreed, not trusted, not TLS at all, or given up.
    public var tlsFailures = 0
    public var writes = 0
    public var partialWrites = 0
    public var bytesWritten = 0
    public var messagesReceived = 0
    public var bytesReceived = 0
    public var requests = 0
    /// Requests that the delegate had not answered within `httpTimeout`.
    public var lateAnswers = 0
    /// Requests and messages refused because too much was held of others.
    public var inboxRefusals = 0
    /// Long answers that were 503 instead because too much waited of others.
    public var answerRefusals = 0
    /// Streamed bodies given up because their clients were too slow.
    public var slowTransfers = 0

    public init() {}

    /// One write that was taken whole.
    mutating func wrote(_ bytes: Int) {
        writes += 1
        bytesWritten += bytes
    }
}

/// What became of a write.
public enum WriteResult: Sendable {
    /// The kernel has it all.
    case written
    /// Taken, but a part waits: do not write before `writable`.
    case congested
    /// Not taken: the connection is congested already, or it is closing or gone.
    case refused
}
