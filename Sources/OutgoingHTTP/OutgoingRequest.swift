/// A call to another server.
public struct OutgoingRequest: Sendable {
    /// `http://…` or `https://…`, without a user or password in it.
    public var url: String
    public var method: String
    /// Their values may be secrets: errors, metrics and logs contain nothing of them.
    public var headers: [(name: String, value: String)] = []
    /// `nil` for no body; an empty one has the length 0.
    public var body: [UInt8]?
    public var limits = TransferLimits()
    public var tls = OutgoingTLS()
    /// Whether HTTP/2 is offered; concurrent requests to one server then share a connection. Otherwise HTTP/1.1 is
    /// used.
    public var offersHTTP2 = false
    public var destinations = Destinations.all

    public init(_ method: String = "GET", _ url: String, body: [UInt8]? = nil) {
        self.method = method
        self.url = url
        self.body = body
    }
}

/// The trust in another server. Its certificate and name are always verified, and TLS is 1.2 or later.
public struct OutgoingTLS: Sendable, Equatable {
    /// PEM: the authorities that are trusted; `nil`: the system's.
    public var authorities: String?

    public init(authorities: String? = nil) { self.authorities = authorities }
}

/// The addresses to which a transfer may connect. The check is on the resolved address, not on the name.
public enum Destinations: Sendable, Equatable {
    case all
    /// Not this machine, its network or other special addresses: for URLs that others chose.
    case publicOnly
}
