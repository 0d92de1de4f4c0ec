/// Properties that a connection gets from the socket that accepted it.
public struct ListenerKind: Sendable {
    /// Whether it uses TLS.
    public var isSecure: Bool
    /// Contained in each request, so that ports can be answered differently.
    public var tag: UInt8

    public init(isSecure: Bool = false, tag: UInt8 = 0) {
        self.isSecure = isSecure
        self.tag = tag
    }
}
