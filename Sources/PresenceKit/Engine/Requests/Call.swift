import Foundation
import PresenceProtocol

/// Numbers the calls of the app.
struct CallID: Hashable, Sendable, Comparable {
    let number: UInt64
    static func < (a: CallID, b: CallID) -> Bool { a.number < b.number }

    /// Of what nobody waits for.
    static let none = CallID(number: 0)
}

/// What the app asks for and waits for.
enum Call: Sendable {
    case get([UserID])
    case setStatus(StatusChange)
    case updateProfile(Wire.ProfileChanges, OfflinePolicy)
    case createConversation(Creation)
    /// A request about who may see the user, which is answered `ok`.
    case changeVisibility(ClientMessage.Body)
    case readVisibility
    /// A request that another library knows.
    case other(OtherRequest)
}

/// Changes of one thing: one at a time, so that a later one is not overtaken by an earlier one that the server wants
/// later.
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

    /// What the server would refuse whenever it is asked: nothing of it is kept or sent.
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
            try StatusRule.check(text: Change(text), clearAfter: clearAfter.map { .milliseconds($0) })
            return nil
        } catch {
            return error
        }
    }
}

extension Wire.ProfileChanges {
    /// The first member that is out of bounds, by the server's own rules.
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

/// A conversation to be made. With its key it can be asked for again: the server makes one.
struct Creation: Hashable, Sendable {
    let participants: [UserID]
    let key: CreationKey
    /// Whether it was asked for before, and what came of that is not known.
    var isRepeated = false
}

/// How a call was answered.
enum Reply: Sendable {
    case done
    /// It will be done with the next connection.
    case queued
    case people(People)
    case profile(ProfileUpdate)
    case conversation(Conversation)
    case visibility(MyVisibility)
    /// The answer to a request of another library, in its parts, as they came.
    case other([Data])
}
