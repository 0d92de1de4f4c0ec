import Foundation

/// An error of reading or changing users. Its `localizedDescription` is for users.
public enum UserError: Error, Hashable, Sendable {
    /// No user with this id exists, or may be seen.
    case userNotFound(String)
    /// A value is invalid: the member, and the reason as a text for users.
    case invalid(field: String, reason: String)
    /// The user could not be read: the reason as a text for users. A retry may succeed.
    case fetchFailed(reason: String)
    /// The change could not be made. With `outcomeUnknown` it may have been made nevertheless.
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
