/// A call to another server.
public struct OutgoingRequest: Sendable {
    /// `http://…` or `https://…`, without a user or password in it.
    public var url: String
    public var method: String
    /// Their values may be secrets: nothing of them is in an error, a metric or a log.
    public var headers: [(name: String, value: String)] = []
    /// `nil` for none at all; an empty one has the length 0.
    public var body: [UInt8]?
    public var limits = TransferLimits()
    public var tls = OutgoingTLS()
    /// Whether HTTP/2 is offered; calls to one server at a time then share a connection. Otherwise it is HTTP/1.1.
    public var offersHTTP2 = false
    public var destinations = Destinations.all

    public init(_ method: String = "GET", _ url: String, body: [UInt8]? = nil) {
        self.method = method
        self.url = url
        self.body = body
    }
}

/// How another server makes itself known. Its certificate and name are always verified, and TLS is 1.2 or later.
public struct OutgoingTLS: Sendable, Equatable {
    /// PEM: the authorities that are trusted; `nil`: the system's.
    public var authorities: String?

    public init(authorities: String? = nil) { self.authorities = authorities }
}

/// Where a transfer may go, by the address that it connects to: what a name resolves to does not matter before.
public enum Destinations: Sendable, Equatable {
    case all
    /// Not this machine, its network or other special addresses: for what others chose the address of.
    case publicOnly
}
