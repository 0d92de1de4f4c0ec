/// What is known of a connection by the socket that it was accepted from.
public struct ListenerKind: Sendable {
    /// It speaks TLS.
    public var isSecure: Bool
    /// Given back with each request, so that one port can answer otherwise than another.
    public var tag: UInt8

    public init(isSecure: Bool = false, tag: UInt8 = 0) {
        self.isSecure = isSecure
        self.tag = tag
    }
}
