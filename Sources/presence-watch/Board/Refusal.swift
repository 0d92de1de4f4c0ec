import PresenceKit

extension PresenceError {
    /// Whether the error concerns one user or conversation, and not the connection.
    fileprivate var isRefusal: Bool { [.invalidID, .forbidden, .tooMany].contains(code) }
}

extension Person {
    /// Why the user is not watched.
    var refusal: PresenceError? { problem.flatMap { $0.isRefusal ? $0 : nil } }
}

extension Typing {
    /// Why the conversation is not watched.
    var refusal: PresenceError? { problem.flatMap { $0.isRefusal ? $0 : nil } }
}
