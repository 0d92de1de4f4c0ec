import Foundation
import PresenceKit

/// Texts for users, in plain language and without codes. They are in English; a localized app chooses its own texts by
/// ``AccountError/code`` and ``AccountError/reason``.
extension AccountError: LocalizedError {
    public var errorDescription: String? {
        if let reason, let text = Self.text(for: reason, message) { return text }
        return switch code {
        case .notConnected, .connectionLost, .notAnAnswer: "Network error. Please check your connection."
        case .rateLimited: "Too many attempts. \(Self.wait(retryAfter))"
        case .unavailable: "The server is busy. \(Self.wait(retryAfter))"
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

    public var recoverySuggestion: String? {
        outcomeUnknown ? "It may have worked all the same. Please check before you try again." : nil
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
