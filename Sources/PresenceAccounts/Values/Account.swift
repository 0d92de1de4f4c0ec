import Foundation

/// The own user's account: what only they see of themselves. Their profile is for others.
public struct Account: Codable, Hashable, Sendable, Identifiable {
    /// The user id, the same as in presence and profiles.
    public let id: String
    /// In lower case, as the server stores it.
    public var email: String
    /// Whether the address was confirmed by a mail.
    public var emailVerified: Bool
    /// As it was typed; `nil` without one.
    public var username: String?
    /// Whether the user has been through the app's first form.
    public var setupCompleted: Bool
    /// BCP 47; `nil` until it is set.
    public var preferredLanguage: String?
    /// When the account was made, by the server's clock.
    public var createdAt: Date

    /// Makes an account, as a fake or a preview needs it.
    public init(
        id: String, email: String, emailVerified: Bool = false, username: String? = nil, setupCompleted: Bool = false,
        preferredLanguage: String? = nil, createdAt: Date = .distantPast
    ) {
        self.id = id
        self.email = email
        self.emailVerified = emailVerified
        self.username = username
        self.setupCompleted = setupCompleted
        self.preferredLanguage = preferredLanguage
        self.createdAt = createdAt
    }
}

/// A device on which the user is signed in.
public struct AccountSession: Codable, Hashable, Sendable, Identifiable {
    /// What ``AccountRepository/signOut(_:)`` ends it by.
    public let id: String
    /// `phone`, `tablet`, `desktop`, `web`, `bot` or `other`; empty if the device did not say.
    public var kind: String
    /// What the device calls itself; `nil` if it did not say.
    public var name: String?
    /// When it signed in, by the server's clock.
    public var createdAt: Date
    /// When its token was last renewed, by the server's clock.
    public var lastUsedAt: Date
    /// Whether it is this one.
    public var isCurrent: Bool

    /// Makes a session, as a fake or a preview needs it.
    public init(
        id: String, kind: String = "", name: String? = nil, createdAt: Date, lastUsedAt: Date, isCurrent: Bool = false
    ) {
        self.id = id
        self.kind = kind
        self.name = name
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.isCurrent = isCurrent
    }
}

/// What is to change of the own account and profile, all of it or nothing. Outer `nil`: stays as it is; inner `nil`: is
/// removed.
public struct AccountChanges: Hashable, Sendable {
    /// 1 to 50 characters after trimming.
    public var displayName: String?
    /// https; a picture of the app's own. ``PresenceAccount/uploadPhoto(_:)`` stores one on the server.
    public var photoURL: URL??
    /// IANA name, such as `Europe/Paris`.
    public var timezone: String??
    /// BCP 47, such as `pt-BR`.
    public var locale: String??
    /// BCP 47; seen by the user alone.
    public var preferredLanguage: String??
    /// Whether the user has been through the app's first form.
    public var setupCompleted: Bool?

    /// Makes a change of the members that are given.
    public init(
        displayName: String? = nil, photoURL: URL?? = nil, timezone: String?? = nil, locale: String?? = nil,
        preferredLanguage: String?? = nil, setupCompleted: Bool? = nil
    ) {
        self.displayName = displayName
        self.photoURL = photoURL
        self.timezone = timezone
        self.locale = locale
        self.preferredLanguage = preferredLanguage
        self.setupCompleted = setupCompleted
    }
}

/// Whether a username may be taken. Open: a later server may say more.
public struct UsernameAvailability: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Nobody has it, and it keeps the rule.
    public static let available = Self(rawValue: "available")
    /// Somebody else has it.
    public static let taken = Self(rawValue: "taken")
    /// The user has it already.
    public static let yours = Self(rawValue: "yours")
    /// It breaks the rule (`UsernameRule`).
    public static let invalid = Self(rawValue: "invalid")
    /// Nobody may have it.
    public static let reserved = Self(rawValue: "reserved")
}
