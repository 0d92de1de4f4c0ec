import Foundation
import PresenceKit

// Errors of accounts have texts of their own, as the forms show them.
extension PresenceError {
    /// An error of accounts.
    package static func account(
        _ code: Code, _ message: String = "", reason: Reason? = nil, field: String? = nil, retryAfter: Duration? = nil,
        until: Date? = nil, outcomeUnknown: Bool = false
    ) -> PresenceError {
        PresenceError(
            code, message, reason: reason, field: field, retryAfter: retryAfter, until: until,
            outcomeUnknown: outcomeUnknown,
            // The reason of a ban is the operator's text.
            sentence: code == .banned
                ? nil : reason.flatMap { text(for: $0, message) } ?? text(for: code, message, field, retryAfter))
    }

    private static func text(for code: Code, _ message: String, _ field: String?, _ retryAfter: Duration?) -> String {
        switch code {
        case .notConnected, .connectionLost, .notAnAnswer: Sentence.networkError.text()
        case .rateLimited: Sentence.tooManyAttempts.text(wait(retryAfter))
        case .unavailable: Sentence.serverBusy.text(wait(retryAfter))
        case .unauthorized, .notSignedIn: Sentence.notSignedIn.text()
        case .forbidden: Sentence.notAllowed.text()
        case .notFound: Sentence.signUpFirst.text()
        case .conflict: Sentence.changedElsewhere.text()
        case .validationFailed: field == "displayName" ? Sentence.nameUnusable.text() : Sentence.unusable.text()
        case .tooLarge: Sentence.tooLarge.text()
        case .storageFailed: Sentence.sessionNotKept.text()
        default: Sentence.errorOccurred.text(message.isEmpty ? code.rawValue : message)
        }
    }

    private static func text(for reason: Reason, _ message: String) -> String? {
        switch reason {
        case .invalidCredentials: Sentence.invalidCredentials.text()
        case .tokenExpired: Sentence.linkExpired.text()
        case .tokenReused: Sentence.notSignedIn.text()
        case .emailTaken: Sentence.emailTaken.text()
        case .guestsOff: Sentence.guestsOff.text()
        case .usernameTaken: Sentence.usernameTaken.text()
        case .invalidEmail: User.EmailRule.fault(in: "")
        // The server's message has the rule that applies there, with its number.
        case .weakPassword: message.isEmpty ? Sentence.otherPassword.text() : message
        case .invalidUsername: User.UsernameRule.fault(in: "")
        case .reservedUsername: Sentence.usernameUnusable.text()
        case .photoNotAnImage: Photo.Rule.notAnImage
        case .photoTooLarge: Photo.Rule.tooLarge
        default: nil
        }
    }

    private static func wait(_ time: Duration?) -> String {
        guard let time else { return Sentence.tryAgainLater.text() }
        // The exact number is useless above a year.
        let shown = min(time, .seconds(366 * 86_400)).components
        let seconds = max(1, shown.seconds + (shown.attoseconds > 0 ? 1 : 0))
        if seconds == 1 { return Sentence.tryAgainInOneSecond.text() }
        if seconds < 120 { return Sentence.tryAgainInSeconds.text(seconds) }
        return Sentence.tryAgainInMinutes.text((seconds + 59) / 60)
    }
}
