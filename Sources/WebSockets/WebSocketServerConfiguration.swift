/// The limits and times of a `WebSocketServer`.
public struct WebSocketServerConfiguration: Sendable {
    /// The subprotocols that are echoed when a client offers them, the preferred one first.
    public var subprotocols: [String] = []
    /// The longest message that is received; a longer one closes with 1009, before all of it is buffered.
    public var maxMessageBytes = 256 * 1024
    /// The longest body of an HTTP request; a longer one is answered 413.
    public var maxBodyBytes = 1024 * 1024
    /// The longest request line and headers; longer ones are dropped by libwebsockets without an answer.
    public var maxHeaderBytes: UInt16 = 16 * 1024
    /// The number of WebSockets. Whoever comes beyond is closed with 1013 after the upgrade.
    public var maxConnections = 15_000
    /// Connections beyond `maxConnections` for telling clients so, and for HTTP. When they are used up too, new ones
    /// wait in the kernel.
    public var reservedConnections = 64
    /// Milliseconds from the acceptance of a connection to the end of its upgrade or its first request's headers and
    /// body.
    public var handshakeTimeout: Int64 = 10_000
    /// Milliseconds that a peer has to answer our close frame.
    public var closeTimeout: Int64 = 3_000
    /// Seconds that an idle HTTP connection is kept, and that an answer may take.
    public var httpTimeout: UInt32 = 30

    /// What an HTTP request is answered that the delegate never sees: status and reason.
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
    public var writes = 0
    public var partialWrites = 0
    public var bytesWritten = 0
    public var messagesReceived = 0
    public var bytesReceived = 0
    public var requests = 0

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
