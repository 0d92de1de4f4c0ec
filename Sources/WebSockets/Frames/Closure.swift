/// The reason why a WebSocket connection ended.
public enum Closure: Hashable, Sendable {
    /// The peer closed it, with a code and a reason, or without.
    ///
    /// Over TLS, codes that RFC 6455 reserves or does not name (below 1000, 1004 to 1006, 1012 to 2999) show as 1002.
    case byPeer(code: UInt16?, reason: String)
    /// The server closed it with this code: by `close`, or because the peer violated the protocol (1002, 1003, 1007,
    /// 1009).
    case byServer(code: UInt16)
    /// The connection broke, `abort` ended it, or the peer disconnected without a close frame.
    case lost
}
