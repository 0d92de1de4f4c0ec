import PresenceKit

extension PresenceError {
    /// Whether it is about one person or conversation, and not about the connection.
    fileprivate var isRefusal: Bool { [.invalidID, .forbidden, .tooMany].contains(code) }
}

extension Person {
    /// Why they are not watched.
    var refusal: PresenceError? { problem.flatMap { $0.isRefusal ? $0 : nil } }
}

extension Typing {
    /// Why it is not watched.
    var refusal: PresenceError? { problem.flatMap { $0.isRefusal ? $0 : nil } }
}
