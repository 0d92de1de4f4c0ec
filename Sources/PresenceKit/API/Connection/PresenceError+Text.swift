import Foundation

/// Texts for users, in plain language and without codes, in the app's language: English, German, or that of the app's own
/// table.
extension PresenceError: LocalizedError {
    public var errorDescription: String? {
        if let sentence { return sentence }
        return switch code {
        case .notConnected, .connectionLost, .serverUnavailable, .notAnAnswer: Sentence.noConnection.text()
        case .timedOut: Sentence.timedOut.text()
        case .rateLimited: Sentence.tooFast.text()
        case .unavailable, .internalError: Sentence.serverCannot.text()
        case .unauthorized, .signedOut, .tokenUnavailable, .notSignedIn: Sentence.notSignedIn.text()
        case .banned: banText
        case .refused: reason.map { Sentence.refusedFor.text($0.rawValue) } ?? Sentence.refused.text()
        case .forbidden: Sentence.notAllowed.text()
        case .validationFailed: Self.described(field)
        case .notFound: Sentence.notThere.text()
        case .conflict: Sentence.changedElsewhere.text()
        case .tooLarge: Sentence.tooLarge.text()
        case .notOffered: Sentence.notOffered.text()
        case .tooMany: Sentence.tooMany.text()
        case .replaced: Sentence.replaced.text()
        case .disconnectedByAdministrator: Sentence.disconnected.text()
        case .invalidID: Sentence.invalidID.text()
        case .invalidURL: Sentence.invalidURL.text()
        case .storageInUse: Sentence.storageInUse.text()
        case .storageFailed: Sentence.storageFailed.text()
        default: Sentence.somethingWrong.text()
        }
    }

    /// The operator's words and the end of a ban, as far as they are known.
    package var banText: String {
        guard let reason else { return Sentence.banned.text() }
        guard let until else { return Sentence.bannedFor.text(reason.rawValue) }
        return Sentence.bannedUntil.text(Sentence.time(until), reason.rawValue)
    }

    public var recoverySuggestion: String? {
        if outcomeUnknown { return Sentence.mayHaveWorked.text() }
        // The code's advice fits the code's own text, not necessarily another text: a wrong password is `unauthorized`
        // too.
        return recovery ?? (sentence == nil ? advice : nil)
    }

    /// The advice for the code.
    var advice: String? {
        switch code {
        case .notConnected, .connectionLost, .notAnAnswer: return Sentence.checkConnection.text()
        case .timedOut, .unavailable, .internalError, .serverUnavailable, .rateLimited:
            guard let retryAfter, retryAfter >= .seconds(2) else { return Sentence.tryAgainSoon.text() }
            // The exact number is useless above a year, and a larger one may not fit an `Int`.
            let seconds = min(retryAfter, .seconds(366 * 86_400)).timeInterval.rounded(.up)
            return Sentence.tryAgainInSeconds.text(Int(seconds))
        case .unauthorized, .signedOut, .tokenUnavailable, .notSignedIn: return Sentence.signInAgain.text()
        case .validationFailed: return Sentence.changeAndTryAgain.text()
        case .conflict: return Sentence.lookAgain.text()
        case .storageFailed: return Sentence.freeSpace.text()
        default: return nil
        }
    }

    private static func described(_ field: String?) -> String {
        switch field {
        case "displayName", "name": Sentence.nameUnusable.text()
        case "photoURL": Sentence.pictureUnusable.text()
        case "timezone": Sentence.timeZoneUnusable.text()
        case "locale": Sentence.languageUnusable.text()
        case "status.text", "text": Sentence.textUnusable.text()
        case "status.clearAfter", "clearAfter", "muteFor": Sentence.timeUnusable.text()
        case "file": Sentence.fileUnusable.text()
        default: Sentence.valueUnusable.text()
        }
    }
}
