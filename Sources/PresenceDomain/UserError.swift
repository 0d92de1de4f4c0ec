import Foundation

/// Why something about users was not done. `localizedDescription` is for people.
public enum UserError: Error, Hashable, Sendable {
    /// Nobody with this id exists, or may be seen.
    case userNotFound(String)
    /// A value cannot be used; the member, and why, for people.
    case invalid(field: String, reason: String)
    /// It could not be read: the reason, for people, and whether another try may do.
    case fetchFailed(reason: String)
    /// It could not be written; `outcomeUnknown`: it may have been all the same.
    case updateFailed(reason: String, outcomeUnknown: Bool)
}

extension UserError: LocalizedError {
    public var errorDescription: String? {
        switch self {
        case .userNotFound: "User not found."
        case .invalid(_, let reason): reason
        case .fetchFailed(let reason): "Failed to load the user. \(reason)"
        case .updateFailed(let reason, _): "Failed to save the user. \(reason)"
        }
    }

    public var recoverySuggestion: String? {
        switch self {
        case .userNotFound: nil
        case .invalid: "Please change it and try again."
        case .fetchFailed: "Please try again."
        case .updateFailed(_, outcomeUnknown: true):
            "It may have worked all the same. Please check before you try again."
        case .updateFailed: "Please try again."
        }
    }
}
