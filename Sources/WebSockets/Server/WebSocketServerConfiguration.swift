/// The limits and times of a `WebSocketServer`.
public struct WebSocketServerConfiguration: Sendable {
    /// The subprotocols that the server selects if a client offers them, the preferred one first.
    public var subprotocols: [String] = []
    /// The longest message that is accepted; a longer one closes with 1009, before all of it is buffered.
    public var maxMessageBytes = 256 * 1024
    /// The longest message until the delegate allows long messages (`allowLongMessages`).
    public var maxFirstMessageBytes = Int.max
    /// The longest body of an HTTP request that is collected in memory; a longer one is answered 413.
    public var maxBodyBytes = 1024 * 1024
    /// The longest request line and headers; longer ones are answered 431.
    public var maxHeaderBytes = 16 * 1024
    /// The number of headers; more are answered 431.
    public var maxHeaders = 100
    /// The limit on bytes of incomplete requests and messages, shared with the servers of other loops. Beyond it, or
    /// beyond the share of the client's address, a request is answered 503, and a WebSocket closed with 1013.
    public var inbox = AddressBudget(0)
    /// The limit on bytes of answers to slow clients, shared with the servers of other loops. A long answer beyond it,
    /// or beyond the share of the client's address, is replaced by 503.
    public var answers = AnswerBudget(0)
    /// The most WebSockets. Further ones are closed with 1013 after the upgrade.
    public var maxConnections = 15_000
    /// The most connections beyond `maxConnections`, to inform clients that the server is full, and for HTTP. When
    /// these are used up too, new connections wait in the kernel.
    public var reservedConnections = 64
    /// Milliseconds from the acceptance of a connection to the end of its upgrade or its first request's headers and
    /// body, TLS included.
    public var handshakeTimeout: Int64 = 10_000
    /// The most connections without a WebSocket: handshakes and HTTP. When all are in use, those that have waited
    /// longest for their peers make room, after a fifth of `handshakeTimeout`; until then new connections wait in the
    /// kernel.
    public var maxHandshakes = 100_000
    /// The time for a peer's answer to our close frame, in milliseconds.
    public var closeTimeout: Int64 = 3_000
    /// The time, in seconds, for which an HTTP connection is kept: from one answer to the end of the next request, at
    /// any speed. It is also the time limit of an answer.
    public var httpTimeout: UInt32 = 30

    /// Milliseconds in which a streamed body, in either direction, must move by `transferBytes`; otherwise its
    /// connection ends. Delays of the server itself do not count.
    public var transferTimeout: Int64 = 20_000
    /// A client that reads 2.5 KB a second moves by one step of the kernel's buffer in that time.
    public var transferBytes = 16 * 1024

    /// The proxies that are trusted about clients' addresses, for `HTTPRequest.peer`.
    public var proxies = TrustedProxies()
    /// Whether the server can listen for TLS.
    public var servesTLS = false

    /// The answer to HTTP requests that do not reach the delegate: status and reason. With 503 the request may be
    /// repeated.
    public var errorResponse: @Sendable (_ status: Int, _ reason: String) -> HTTPResponse = { .text($0, $1) }

    public init() {}
}

/// Counts since the server's start, for metrics.
public struct WebSocketServerCounters: Sendable {
    public var accepted = 0
    public var acceptFailures = 0
    public var opened = 0
    public var turnedAway = 0
    public var handshakeTimeouts = 0
    /// Connections that made room for others.
    public var handshakesDisplaced = 0
    /// Connections over TLS that sent a first request.
    public var tlsHandshakes = 0
    /// Connections over TLS that ended before a first request: no agreement, no trust, not TLS at all, or given up.
    public var tlsFailures = 0
    public var writes = 0
    public var partialWrites = 0
    public var bytesWritten = 0
    public var messagesReceived = 0
    public var bytesReceived = 0
    public var requests = 0
    /// Requests that the delegate had not answered within `httpTimeout`.
    public var lateAnswers = 0
    /// Requests and messages that were rejected because too many bytes of other requests and messages waited.
    public var inboxRefusals = 0
    /// Long answers that were replaced by 503 because too many bytes of other answers waited.
    public var answerRefusals = 0
    /// Streamed bodies that were aborted because their clients were too slow.
    public var slowTransfers = 0

    public init() {}

    /// Counts one write that was sent completely.
    mutating func wrote(_ bytes: Int) {
        writes += 1
        bytesWritten += bytes
    }
}

/// The outcome of a write.
public enum WriteResult: Sendable {
    /// The kernel has all bytes.
    case written
    /// Accepted, but a part waits: do not write before `writable`.
    case congested
    /// Rejected: the connection is congested already, or closing or closed.
    case refused
}
