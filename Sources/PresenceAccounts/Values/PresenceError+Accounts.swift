import Foundation
import PresenceKit

// Errors of accounts have texts of their own, as the forms show them.
extension PresenceError {
    /// An error of accounts.
    package static func account(
        _ code: Code, _ message: String = "", reason: Reason? = nil, field: String? = nil, retryAfter: Duration? = nil,
        outcomeUnknown: Bool = false
    ) -> PresenceError {
        PresenceError(
            code, message, reason: reason, field: field, retryAfter: retryAfter, outcomeUnknown: outcomeUnknown,
            sentence: reason.flatMap { text(for: $0, message) } ?? text(for: code, message, field, retryAfter))
    }

    private static func text(for code: Code, _ message: String, _ field: String?, _ retryAfter: Duration?) -> String {
        switch code {
        case .notConnected, .connectionLost, .notAnAnswer: "Network error. Please check your connection."
        case .rateLimited: "Too many attempts. \(wait(retryAfter))"
        case .unavailable: "The server is busy. \(wait(retryAfter))"
        case .unauthorized, .notSignedIn: "You are not signed in."
        case .forbidden: "You are not allowed to do that."
        case .notFound: "User not found. Please sign up first."
        case .conflict: "This was changed elsewhere in the meantime."
        case .validationFailed: field == "displayName" ? "This name cannot be used." : "This cannot be used."
        case .tooLarge: "That is too large."
        case .storageFailed: "The sign-in could not be kept on this device."
        default: "An error occurred: \(message.isEmpty ? code.rawValue : message)"
        }
    }

    private static func text(for reason: Reason, _ message: String) -> String? {
        switch reason {
        case .invalidCredentials: "Invalid email or password."
        case .tokenExpired: "This link is no longer valid. Please ask for a new one."
        case .tokenReused: "You are not signed in."
        case .emailTaken: "This email is already registered."
        case .usernameTaken: "This username is already taken."
        case .invalidEmail: EmailRule.fault(in: "")
        // The server's message has the rule that applies there, with its number.
        case .weakPassword: message.isEmpty ? "Please choose another password." : message
        case .invalidUsername: UsernameRule.fault(in: "")
        case .reservedUsername: "This username cannot be used."
        case .photoNotAnImage: PhotoRule.notAnImage
        case .photoTooLarge: PhotoRule.tooLarge
        default: nil
        }
    }

    private static func wait(_ time: Duration?) -> String {
        guard let time else { return "Please try again later." }
        // The exact number is useless above a year.
        let shown = min(time, .seconds(366 * 86_400)).components
        let seconds = max(1, shown.seconds + (shown.attoseconds > 0 ? 1 : 0))
        if seconds < 120 { return "Please try again in \(seconds) second\(seconds == 1 ? "" : "s")." }
        return "Please try again in \((seconds + 59) / 60) minutes."
    }
}
