import Foundation

/// The signed-in user's account: data that only they see. Their profile is for others.
public struct Account: Codable, Hashable, Sendable, Identifiable {
    /// The user id, the same as in presence and profiles.
    public let id: String
    /// In lower case, as the server stores it; `nil` for a guest, and perhaps after a sign-in with a provider.
    public var email: String?
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
    /// The display name as this device last read it, also after a launch without a network; `nil` until
    /// ``AccountRepository/currentUser()`` or ``AccountRepository/update(_:preferredLanguage:setupCompleted:)`` has
    /// returned it.
    public var displayName: String?
    /// The picture as this device last read it, with ``displayName``.
    public var profileImageURL: URL?

    /// Whether the user is a guest, who has neither an address nor a password (``PresenceAccount/upgrade(email:password:)``).
    public var isGuest: Bool { email == nil }

    /// Creates an account, for fakes and previews. Without an address it is a guest's.
    public init(
        id: String, email: String? = nil, emailVerified: Bool = false, username: String? = nil,
        setupCompleted: Bool = false,
        preferredLanguage: String? = nil, createdAt: Date = .distantPast, displayName: String? = nil,
        profileImageURL: URL? = nil
    ) {
        (self.id, self.email, self.emailVerified) = (id, email, emailVerified)
        (self.username, self.setupCompleted) = (username, setupCompleted)
        (self.preferredLanguage, self.createdAt, self.displayName) = (preferredLanguage, createdAt, displayName)
        self.profileImageURL = profileImageURL
    }

    /// Takes over the known members of the profile, if this account has none.
    mutating func addProfile(of known: Account) {
        guard id == known.id, displayName == nil else { return }
        (displayName, profileImageURL) = (known.displayName, known.profileImageURL)
    }
}

extension User {
    /// The signed-in user as far as this device knows them: `await account.currentAccount.map(User.init)` makes no request.
    public init(_ account: Account) {
        self.init(
            id: account.id, email: account.email, displayName: account.displayName ?? "", username: account.username,
            profileImageURL: account.profileImageURL, preferredLanguage: account.preferredLanguage,
            createdAt: account.createdAt)
    }
}

extension Account {
    /// Whether the messages of a user stay when the account is deleted.
    public enum MessageFate: Hashable, Sendable {
        /// They stay with those to whom the user wrote.
        case keep
        /// Their texts and files are deleted everywhere.
        case delete
    }

    /// A session of the user on one device.
    public struct Session: Codable, Hashable, Sendable, Identifiable {
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
            id: String, kind: String = "", name: String? = nil, createdAt: Date, lastUsedAt: Date,
            isCurrent: Bool = false
        ) {
            (self.id, self.kind, self.name) = (id, kind, name)
            (self.createdAt, self.lastUsedAt, self.isCurrent) = (createdAt, lastUsedAt, isCurrent)
        }
    }
}

extension Account {
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
        /// The name violates the rule (`User.UsernameRule`).
        public static let invalid = Self(rawValue: "invalid")
        /// The name is reserved.
        public static let reserved = Self(rawValue: "reserved")
    }
}
