/// One request: its head, as it came, and its body whole, or where that went.
public struct HTTPRequest: Sendable {
    public let head: RequestHead
    public var body: [UInt8] = []
    /// The client's address: the peer's, or the one a trusted proxy names.
    public var peer: PeerAddress
    /// What it is called in logs and in its answer (`X-Request-Id`).
    public var name = ""
    /// Whether it came over TLS.
    public var isSecure = false
    /// That of the listener that its connection came through.
    public var tag: UInt8 = 0
    /// Whether the delegate wants the body; else it is read and thrown away.
    public var keepsBody = true
    /// How many bytes of a body in chunks the delegate takes; of one with a length it judges that. At most `maxBodyBytes`.
    public var mostBodyBytes = Int.max
    /// Gets the body in pieces; `body` then stays empty. Set by the delegate when it is asked whether the body may come.
    public var sink: (any BodySink)?
    /// What the delegate found when it was asked whether the body may come.
    public var grant: (any Sendable)?

    public var method: String { head.method }
    /// See ``RequestHead/path``.
    public var path: String { head.path }
    /// See ``RequestHead/query``.
    public var query: String { head.query }
    public var headers: HeaderFields { head.headers }
    public var host: String? { head.host }
}
