/// Receives the questions and events of a `WebSocketServer`, on its loop's thread, synchronously.
///
/// Every function may call the server, for any connection. `closed` is never called from inside a call to the server:
/// `close` and `abort` take effect later.
public protocol WebSocketServerDelegate: AnyObject {
    /// A connection was accepted; nothing of it has been read. `false` ends it immediately.
    func accepted(_ socket: SocketID, from peer: PeerAddress) -> Bool

    /// A connection for which `accepted` returned true has ended. This is the last call about it.
    func departed(_ socket: SocketID)

    /// The head of a request with a body has arrived: decides whether to accept the body.
    ///
    /// The delegate may set `grant` to its result, clear `keepsBody` if it does not want the body, and set `sink` to
    /// receive the body in pieces. A body without a sink has at most `maxBodyBytes`; for a body with a sink, the
    /// delegate checks the head's `contentLength`.
    func admission(of request: inout HTTPRequest, _ exchange: HTTPExchangeID) -> BodyAdmission

    /// Decides whether the request may become a WebSocket.
    func shouldUpgrade(_ request: UpgradeRequest) -> UpgradeDecision

    /// A WebSocket has opened.
    func opened(_ socket: SocketID, request: UpgradeRequest)

    /// A whole text message has arrived; valid UTF-8. The bytes are valid during the call.
    func received(_ message: UnsafeRawBufferPointer, on socket: SocketID)

    /// The peer gave a sign of life: a message or a part of one, a ping, a pong. Called before the call for that event.
    func heard(_ socket: SocketID)

    /// This many times 100 frames have arrived that ended no message: pings, pongs, fragments.
    func idled(_ socket: SocketID, hundreds: Int)

    /// After `.congested`: the kernel has all bytes, and more can be written.
    func writable(_ socket: SocketID)

    /// A WebSocket has ended. Called exactly once for each `opened`; afterwards its id is invalid.
    func closed(_ socket: SocketID, _ closure: Closure)

    /// A plain HTTP request, to be answered with `respond`, now or later.
    func request(_ exchange: HTTPExchangeID, _ request: HTTPRequest)

    /// The reason in the close frame with 1013, when the server is full.
    func reasonWhenFull() -> String

    /// Connections cannot be accepted at the moment, because the system lacks some resource. For a log.
    func acceptingFailed(_ description: String)
}

extension WebSocketServerDelegate {
    public func accepted(_ socket: SocketID, from peer: PeerAddress) -> Bool { true }
    public func departed(_ socket: SocketID) {}
    public func admission(of request: inout HTTPRequest, _ exchange: HTTPExchangeID) -> BodyAdmission { .granted }
    public func heard(_ socket: SocketID) {}
    public func idled(_ socket: SocketID, hundreds: Int) {}
    public func reasonWhenFull() -> String { "" }
    public func acceptingFailed(_ description: String) {}
}

/// The decision about the body of a request.
public enum BodyAdmission {
    case granted
    /// The request gets this answer, and its body is not kept.
    case refused(HTTPResponse)
    /// Nothing more is read from the connection until ``WebSocketServer/admit(_:grant:sink:)`` or
    /// ``WebSocketServer/refuse(_:_:)``, neither of which may be called within this call.
    case later
}
