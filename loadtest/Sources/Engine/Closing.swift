/// How a connection ended that the tool did not end itself.
enum Closing: Equatable, CustomStringConvertible {
    /// No WebSocket came about: nobody listens, or the upgrade was answered with something else than 101.
    case refused(String)
    /// The server sent a close frame; `code` is absent when it gave none.
    case closed(code: UInt16?, reason: String)
    /// The line broke without one.
    case lost(String)
    /// The server broke the rules of WebSocket.
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
