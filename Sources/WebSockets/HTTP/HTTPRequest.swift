/// One request: its unchanged head, and its complete body, or the receiver of the body.
public struct HTTPRequest: Sendable {
    public let head: RequestHead
    public var body: [UInt8] = []
    /// The client's address: the peer's, or the one a trusted proxy names.
    public var peer: PeerAddress
    /// Its name in logs and in its answer (`X-Request-Id`).
    public var name = ""
    /// Whether it came over TLS.
    public var isSecure = false
    /// The tag of the listener that accepted its connection.
    public var tag: UInt8 = 0
    /// Whether the delegate wants the body; otherwise it is read and discarded.
    public var keepsBody = true
    /// The most bytes of a body in chunks that the delegate accepts. (It checks a body with a length by that length.)
    /// At most `maxBodyBytes`.
    public var mostBodyBytes = Int.max
    /// Receives the body in pieces; `body` then stays empty. The delegate sets it in `admission`.
    public var sink: (any BodySink)?
    /// The delegate's result from `admission`.
    public var grant: (any Sendable)?

    public var method: String { head.method }
    /// See ``RequestHead/path``.
    public var path: String { head.path }
    /// See ``RequestHead/query``.
    public var query: String { head.query }
    public var headers: HeaderFields { head.headers }
    public var host: String? { head.host }
}
