import Foundation

/// The sentences that models, rules and errors show to users. The raw values are the English ones, with `%1`, `%2` and
/// `%3` in place of values.
///
/// An app translates them further, or chooses other words, in a table `Presence` of its own bundle
/// (`Presence.strings`, `Presence.xcstrings`), whose keys are the English sentences.
package enum Sentence: String, CaseIterable, Sendable {
    // MARK: Errors
    case noConnection = "There is no connection to the server."
    case timedOut = "The server took too long to answer."
    case tooFast = "That was too fast."
    case serverCannot = "The server cannot do that at the moment."
    case notSignedIn = "You are not signed in."
    case banned = "An administrator has banned you here."
    case bannedFor = "An administrator has banned you here: %1"
    case bannedUntil = "An administrator has banned you here until %1: %2"
    case refused = "This text was not accepted."
    case refusedFor = "This text was not accepted: %1"
    case notAllowed = "You are not allowed to do that."
    case notThere = "That is no longer there."
    case changedElsewhere = "This was changed elsewhere in the meantime."
    case tooLarge = "That is too large."
    case notOffered = "The server does not offer that."
    case tooMany = "That is more than the server allows."
    case replaced = "This account is in use on this device elsewhere."
    case disconnected = "An administrator ended the connection."
    case invalidID = "There is no such user or conversation."
    case invalidURL = "The server's address is not valid."
    case storageInUse = "The app's data is in use by another copy of the app."
    case storageFailed = "The change could not be kept on this device."
    case somethingWrong = "Something went wrong."
    case userNotFound = "User not found."
    case loadFailed = "Failed to load the user."
    case saveFailed = "Failed to save the user."

    // MARK: Advice
    case mayHaveWorked = "It may have worked all the same. Please check before you try again."
    case checkConnection = "Please check your internet connection and try again."
    case tryAgain = "Please try again."
    case tryAgainSoon = "Please try again in a moment."
    case tryAgainLater = "Please try again later."
    case tryAgainInOneSecond = "Please try again in 1 second."
    case tryAgainInSeconds = "Please try again in %1 seconds."
    case tryAgainInMinutes = "Please try again in %1 minutes."
    case signInAgain = "Please sign in again."
    case changeAndTryAgain = "Please change it and try again."
    case lookAgain = "Please look at it again, then repeat your change."
    case freeSpace = "Please free some space and try again."

    // MARK: Values that the server rejects
    case nameUnusable = "This name cannot be used."
    case pictureUnusable = "This picture cannot be used."
    case timeZoneUnusable = "This time zone cannot be used."
    case languageUnusable = "This language cannot be used."
    case textUnusable = "This text cannot be used."
    case timeUnusable = "This time cannot be used."
    case fileUnusable = "This file cannot be used."
    case valueUnusable = "The server does not accept this value."

    // MARK: Rules
    case nameEmpty = "Display name cannot be empty"
    case nameLong = "Display name must be %1 characters or less"
    case nameTooLong = "Display name is too long"
    case nameCharacters = "Display name contains characters that cannot be used"
    case standardName = "User"
    case emailInvalid = "Please enter a valid email address."
    case passwordShort = "Password must be at least %1 characters."
    case passwordLong = "Password is too long."
    case usernameInvalid = "Invalid username format. Use 3-30 characters, letters, numbers, periods, and underscores."
    case photoTooLarge = "Image is too large. Maximum size is 5MB."
    case photoNotAnImage = "Failed to process image"

    // MARK: Presence, typing and the connection
    case online = "Online"
    case away = "Away"
    case busy = "Busy"
    case offline = "Offline"
    case someoneTyping = "Someone is typing…"
    case peopleTyping = "%1 people are typing…"
    case oneTyping = "%1 is typing…"
    case twoTyping = "%1 and %2 are typing…"
    case oneAndMoreTyping = "%1 and %2 more are typing…"
    case twoAndMoreTyping = "%1, %2 and %3 more are typing…"
    case connecting = "Connecting…"
    case catchingUp = "The server is catching up."
    case reconnecting = "No connection. Trying again…"

    // MARK: Profile
    case uploading = "Uploading... %1%"
    case uploadFailed = "Failed to upload image"
    case removalFailed = "Failed to remove image"
    case usernameTaken = "This username is already taken."
    case availabilityUnknown = "Failed to check availability."
    case profileNotSaved = "Failed to save profile. Please try again."

    // MARK: Accounts
    case networkError = "Network error. Please check your connection."
    case tooManyAttempts = "Too many attempts. %1"
    case serverBusy = "The server is busy. %1"
    case signUpFirst = "User not found. Please sign up first."
    case unusable = "This cannot be used."
    case sessionNotKept = "The sign-in could not be kept on this device."
    case errorOccurred = "An error occurred: %1"
    case invalidCredentials = "Invalid email or password."
    case linkExpired = "This link is no longer valid. Please ask for a new one."
    case emailTaken = "This email is already registered."
    case otherPassword = "Please choose another password."
    case usernameUnusable = "This username cannot be used."
    case followLink = "Please follow the link in the email that we have sent you, then sign in."
    case followLinkToUpgrade = "Please follow the link in the email that we have sent you. Until then you are a guest."
    case codeSent = "Please enter the code of the email that we have sent you."
    case codeInvalid = "This code is wrong or no longer valid."
    case guestsOff = "There are no guests here. Please sign up."
    case signOutFailed = "Failed to sign out."
    case resetFailed = "Failed to send reset email."
    case resetSent = "Password reset email sent!"
    case passwordChanged = "Your password was changed. Please sign in."
    case unexpectedError = "An unexpected error occurred."

    // MARK: People and one's own data
    case nobodyFound = "Nobody was found. Ask them how their name is spelt."
    case reported = "Thank you. The operators will look at it."
    case contactAsked = "Your request was sent."
    case nightsMissing = "Please choose at least one night."

    // MARK: Messages
    case sending = "Sending…"
    case sent = "Sent"
    case delivered = "Delivered"
    case read = "Read"
    case readBy = "Read by %1"
    case notSent = "Not sent: %1"
    case messageDeleted = "Message deleted"
    case ownMessage = "You: %1"
    case attachments = "%1 attachments"
    case photo = "Photo"
    case video = "Video"
    case file = "File"
    case tooManyFiles = "At most %1 files can be attached."
    case messageLong = "A message must be %1 characters or less"
    case messageTooLong = "This message is too long"
    case messageCharacters = "This message contains characters that cannot be used"

    // MARK: Storage and names
    case storageClosed = "The app's data is closed."
    case laterVersion = "A newer version of the app has written its data on this device."
    case tooManyWaiting = "Too many changes are waiting for a connection."
    case notKept = "This could not be kept on this device."
    case closeOther = "Please close the other one and try again."
    case installNewest = "Please install the newest version of the app."
    case unknownName = "Unknown"
}

extension Sentence {
    /// A language of the package's own tables.
    package enum Language: String, Sendable {
        case english = "en"
        case german = "de"

        /// The language of a test's task.
        @TaskLocal package static var ofTask: Language?

        /// The language in which the system shows the app, one of those that the app itself has.
        static let ofApp =
            Bundle.main.preferredLocalizations.first.flatMap { Language(rawValue: String($0.prefix(2))) } ?? .english
    }

    /// A day and a time, in the app's language.
    package static func time(_ date: Date) -> String {
        let locale = Language.ofTask.map { Locale(identifier: $0.rawValue) } ?? .current
        return date.formatted(Date.FormatStyle(date: .abbreviated, time: .shortened, locale: locale))
    }

    /// Whether the app has a table of its own.
    private static let isTranslatedByApp =
        ["strings", "stringsdict"].contains { Bundle.main.path(forResource: "Presence", ofType: $0) != nil }

    /// The sentence in the app's language.
    package func text(_ values: any CustomStringConvertible...) -> String {
        let language = Language.ofTask ?? .ofApp
        var template = language == .german ? Self.german[self] ?? rawValue : rawValue
        if Self.isTranslatedByApp {
            template = Bundle.main.localizedString(forKey: rawValue, value: template, table: "Presence")
        }
        return Self.filled(template, values.map(\.description))
    }

    /// Replaces each `%` that a digit follows. The values may contain such ones.
    private static func filled(_ template: String, _ values: [String]) -> String {
        var parts = template.split(separator: "%", omittingEmptySubsequences: false)
        var text = String(parts.removeFirst())
        for part in parts {
            if let number = part.first?.wholeNumberValue, values.indices.contains(number - 1) {
                text += values[number - 1] + part.dropFirst()
            } else {
                text += "%" + part
            }
        }
        return text
    }
}
