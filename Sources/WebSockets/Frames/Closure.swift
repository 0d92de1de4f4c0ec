/// Why a WebSocket connection ended.
public enum Closure: Hashable, Sendable {
    /// The peer closed it, with a code and a reason, or without.
    ///
    /// Over TLS, codes that RFC 6455 reserves or does not name (below 1000, 1004 to 1006, 1012 to 2999) show as 1002.
    case byPeer(code: UInt16?, reason: String)
    /// We closed it with this code, be it by `close`, or because the peer broke the protocol (1002, 1003, 1007, 1009).
    case byServer(code: UInt16)
    /// It broke, was ended by `abort`, or the peer went away without a close frame.
    case lost
}
