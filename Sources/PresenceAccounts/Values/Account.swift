import Foundation

/// The signed-in user's account: data that only they see. Their profile is for others.
public struct Account: Codable, Hashable, Sendable, Identifiable {
    /// The user id, the same as in presence and profiles.
    public let id: String
    /// In lower case, as the server stores it.
    public var email: String
    /// Whether the address was confirmed by a mail.
    public var emailVerified: Bool
    /// In the spelling that the user chose, or `nil`.
    public var username: String?
    /// Whether the user has completed the app's first form.
    public var setupCompleted: Bool
    /// A BCP 47 tag; `nil` until it is set.
    public var preferredLanguage: String?
    /// When the account was created, by the server's clock.
    public var createdAt: Date

    /// Creates an account, for fakes and previews.
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

/// A session of the user on one device.
public struct AccountSession: Codable, Hashable, Sendable, Identifiable {
    /// The id for ``AccountRepository/signOut(_:)``.
    public let id: String
    /// `phone`, `tablet`, `desktop`, `web`, `bot` or `other`; empty if the device did not report it.
    public var kind: String
    /// The name of the device; `nil` if it did not report one.
    public var name: String?
    /// When it signed in, by the server's clock.
    public var createdAt: Date
    /// When its token was last renewed, by the server's clock.
    public var lastUsedAt: Date
    /// Whether this is the session of this device.
    public var isCurrent: Bool

    /// Creates a session, for fakes and previews.
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

/// Whether a username can be claimed. Open: a later server may return other values.
public struct UsernameAvailability: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The name is valid and free.
    public static let available = Self(rawValue: "available")
    /// Another user has the name.
    public static let taken = Self(rawValue: "taken")
    /// The user has the name already.
    public static let yours = Self(rawValue: "yours")
    /// The name violates the rule (`UsernameRule`).
    public static let invalid = Self(rawValue: "invalid")
    /// The name is reserved.
    public static let reserved = Self(rawValue: "reserved")
}
