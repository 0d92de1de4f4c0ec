/// The end of a connection that the tool did not end itself.
enum Closing: Equatable, CustomStringConvertible {
    /// No WebSocket was opened: no server listens, or the answer to the upgrade was not 101.
    case refused(String)
    /// The server sent a close frame; `code` is absent if it had none.
    case closed(code: UInt16?, reason: String)
    /// The connection broke without a close frame.
    case lost(String)
    /// The server violated the WebSocket protocol.
    case violation(String)

    var description: String {
        switch self {
        case .refused(let why): why
        case .closed(let code, let reason):
            "closed by the server with \(code.map(String.init) ?? "no code")\(reason.isEmpty ? "" : " (\(reason))")"
        case .lost(let why): "connection lost: \(why)"
        case .violation(let what): "the server sent \(what)"
        }
    }
}
