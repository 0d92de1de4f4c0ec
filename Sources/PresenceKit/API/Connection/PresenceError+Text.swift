import Foundation

/// Texts for users, in plain language and without codes. They are in English; a localized app chooses its own texts by
/// ``PresenceError/code`` and ``PresenceError/reason``.
extension PresenceError: LocalizedError {
    public var errorDescription: String? {
        if let sentence { return sentence }
        return switch code {
        case .notConnected, .connectionLost, .serverUnavailable, .notAnAnswer: "There is no connection to the server."
        case .timedOut: "The server took too long to answer."
        case .rateLimited: "That was too fast."
        case .unavailable, .internalError: "The server cannot do that at the moment."
        case .unauthorized, .signedOut, .tokenUnavailable, .notSignedIn: "You are not signed in."
        case .forbidden: "You are not allowed to do that."
        case .validationFailed: Self.described(field)
        case .notFound: "That is no longer there."
        case .conflict: "This was changed elsewhere in the meantime."
        case .tooLarge: "That is too large."
        case .notOffered: "The server does not offer that."
        case .tooMany: "That is more than the server allows."
        case .replaced: "This account is in use on this device elsewhere."
        case .disconnectedByAdministrator: "An administrator ended the connection."
        case .invalidID: "There is no such user or conversation."
        case .invalidURL: "The server's address is not valid."
        case .storageInUse: "The app's data is in use by another copy of the app."
        case .storageFailed: "The change could not be kept on this device."
        default: "Something went wrong."
        }
    }

    public var recoverySuggestion: String? {
        if outcomeUnknown { return "It may have worked all the same. Please check before you try again." }
        // The code's advice fits the code's own text, not necessarily another text: a wrong password is `unauthorized`
        // too.
        return recovery ?? (sentence == nil ? advice : nil)
    }

    /// The advice for the code.
    var advice: String? {
        switch code {
        case .notConnected, .connectionLost, .notAnAnswer: return "Please check your internet connection and try again."
        case .timedOut, .unavailable, .internalError, .serverUnavailable, .rateLimited:
            guard let retryAfter, retryAfter >= .seconds(2) else { return "Please try again in a moment." }
            // The exact number is useless above a year, and a larger one may not fit an `Int`.
            let seconds = min(retryAfter, .seconds(366 * 86_400)).timeInterval.rounded(.up)
            return "Please try again in \(Int(seconds)) seconds."
        case .unauthorized, .signedOut, .tokenUnavailable, .notSignedIn: return "Please sign in again."
        case .validationFailed: return "Please change it and try again."
        case .conflict: return "Please look at it again, then repeat your change."
        case .storageFailed: return "Please free some space and try again."
        default: return nil
        }
    }

    private static func described(_ field: String?) -> String {
        switch field {
        case "displayName", "name": "This name cannot be used."
        case "photoURL": "This picture cannot be used."
        case "timezone": "This time zone cannot be used."
        case "locale": "This language cannot be used."
        case "status.text", "text": "This text cannot be used."
        case "status.clearAfter", "clearAfter", "muteFor": "This time cannot be used."
        case "file": "This file cannot be used."
        default: "The server does not accept this value."
        }
    }
}
