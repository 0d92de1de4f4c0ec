/// What a `WebSocketServer` asks and tells, on its loop's thread, synchronously.
///
/// Every function may call the server back, for any connection. `closed` is never called from inside a call to the
/// server: `close` and `abort` take effect later.
public protocol WebSocketServerDelegate: AnyObject {
    /// A connection has been accepted; nothing of it has been read. `false` ends it at once.
    func accepted(_ socket: SocketID, from peer: PeerAddress) -> Bool

    /// A connection of which `accepted` was true is gone. The last that is heard of it.
    func departed(_ socket: SocketID)

    /// A request with a body has come as far as its head: whether its body may come.
    ///
    /// What was found out may be noted in its `grant`; that the body is not wanted, in `keepsBody`; where it goes in pieces,
    /// in `sink`. A body without a sink has at most `maxBodyBytes`; how large one with a sink may be, the delegate judges by
    /// the head's `contentLength`.
    func admission(of request: inout HTTPRequest, _ exchange: HTTPExchangeID) -> BodyAdmission

    /// Whether the request may become a WebSocket.
    func shouldUpgrade(_ request: UpgradeRequest) -> UpgradeDecision

    /// A WebSocket is there.
    func opened(_ socket: SocketID, request: UpgradeRequest)

    /// One whole text message has come; valid UTF-8. The bytes are lent for the call.
    func received(_ message: UnsafeRawBufferPointer, on socket: SocketID)

    /// The peer gave a sign of life: a message or a part of one, a ping, a pong. Called before what it brought.
    func heard(_ socket: SocketID)

    /// So many times 100 frames have come that ended no message: pings, pongs, fragments.
    func idled(_ socket: SocketID, hundreds: Int)

    /// After `.congested`: everything has gone to the kernel, and more can be written.
    func writable(_ socket: SocketID)

    /// A WebSocket has ended. Exactly once for each `opened`; its id means nothing any more.
    func closed(_ socket: SocketID, _ closure: Closure)

    /// A plain HTTP request, to be answered with `respond`, now or later.
    func request(_ exchange: HTTPExchangeID, _ request: HTTPRequest)

    /// The reason to close with, and 1013, when the server is full.
    func reasonWhenFull() -> String

    /// Connections cannot be accepted for a moment: the system is short of something. For a log.
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

/// Whether the body of a request may come.
public enum BodyAdmission {
    case granted
    /// It is answered so, and its body is not kept.
    case refused(HTTPResponse)
    /// Nothing more is read from it until ``WebSocketServer/admit(_:grant:sink:)`` or ``WebSocketServer/refuse(_:_:)`` is called,
    /// which is never within the call.
    case later
}
