import Foundation
import PresenceProtocol

/// The number of a call of the app.
struct CallID: Hashable, Sendable, Comparable {
    let number: UInt64
    static func < (a: CallID, b: CallID) -> Bool { a.number < b.number }

    /// The id of operations without a waiting caller.
    static let none = CallID(number: 0)
}

/// A call of the app.
enum Call: Sendable {
    case get([UserID])
    case setStatus(StatusChange)
    case updateProfile(Wire.ProfileChanges, PresenceClient.OfflinePolicy)
    case createConversation(Creation)
    /// A change of visibility, contacts or blocks, answered with `ok`.
    case changeVisibility(ClientMessage.Body)
    case readVisibility
    /// A request of an attached library.
    case other(OtherRequest)
}

/// Changes of the same object. They are made one at a time, so that an earlier change that the server delays cannot
/// overwrite a later one.
enum Lane: Sendable {
    case profile, visibility
}

extension Call {
    var lane: Lane? {
        switch self {
        case .updateProfile: .profile
        case .changeVisibility: .visibility
        case .get, .setStatus, .createConversation, .readVisibility, .other: nil
        }
    }

    /// An error that the server would return in any case, so the call is neither stored nor sent.
    var flaw: PresenceError? {
        switch self {
        case .updateProfile(let changes, _): changes.flaw
        case .setStatus(let change): change.flaw
        case .get, .createConversation, .changeVisibility, .readVisibility, .other: nil
        }
    }
}

extension StatusChange {
    fileprivate var flaw: PresenceError? {
        do throws(PresenceError) {
            try ChosenStatus.Rule.check(text: Change(text), clearAfter: clearAfter.map { .milliseconds($0) })
            return nil
        } catch {
            return error
        }
    }
}

extension Wire.ProfileChanges {
    /// The first invalid member, by the server's own rules.
    var flaw: PresenceError? {
        if displayName == .remove { return Self.invalid("displayName", "cannot be removed") }
        if case .set(let name) = displayName, let rule = DisplayName.brokenRule(by: FreeText.trimmed(name)) {
            return Self.invalid("displayName", rule)
        }
        if case .set(let url) = photoURL, !PhotoURL.isValid(url) {
            return Self.invalid(
                "photoURL",
                "must be an absolute https URL of at most \(PhotoURL.maximumBytes) bytes (http for loopback hosts only)"
            )
        }
        if case .set(let zone) = timezone, !TimeZoneName.isWellFormed(zone) {
            return Self.invalid("timezone", "must be the IANA name of a time zone")
        }
        if case .set(let tag) = locale, !LanguageTag.isWellFormed(tag) {
            return Self.invalid("locale", "must be a language tag of BCP 47")
        }
        return nil
    }

    private static func invalid(_ field: String, _ rule: String) -> PresenceError {
        PresenceError(.validationFailed, "\(field) \(rule)", field: field)
    }
}

/// A conversation to create. Its key makes repetition safe: the server creates only one.
struct Creation: Hashable, Sendable {
    let participants: [UserID]
    let key: CreationKey
    /// Whether it was requested before with an unknown outcome.
    var isRepeated = false
}

/// The successful result of a call.
enum Reply: Sendable {
    case done
    /// It will be sent on the next connection.
    case queued
    case people(People)
    case profile(ProfileUpdate<PersonProfile>)
    case conversation(Conversation)
    case visibility(Me.Visibility)
    /// The reply to an attached library's request, as raw parts.
    case other([Data])
}
