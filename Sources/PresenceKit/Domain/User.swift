import Foundation

/// A user of an app: identity, profile, and whether they are online.
///
/// A plain value, independent of any server or screen: it can be stored, compared, sent and made up.
public struct User: Codable, Hashable, Sendable, Identifiable {
    /// The version of the encoded form. Older versions can be decoded too.
    public static let currentSchemaVersion = 1
    /// The id is `uid` in the protocol and in stored data.
    private enum CodingKeys: String, CodingKey {
        case id = "uid"
        case email, displayName, username, profileImageURL, timezone, locale, preferredLanguage, isOnline, lastSeen,
            createdAt, fcmToken, schemaVersion
        /// The key of the picture in other versions of an app.
        case photoURL
    }

    /// The user's id, the same as in presence, profiles and accounts.
    public let id: String
    /// Only for the signed-in user; addresses of others are not shown.
    public var email: String?
    /// Free text, 1 to 50 characters, not unique.
    public var displayName: String
    /// Unique, 3 to 30 characters; optional.
    public var username: String?
    /// The picture; `nil` if there is none, so that ``displayInitials`` are shown.
    public var profileImageURL: URL?
    /// An IANA name, such as `Europe/Paris`.
    public var timezone: String?
    /// A BCP 47 tag, such as `pt-BR`.
    public var locale: String?
    /// The user's preferred language; only for the signed-in user.
    public var preferredLanguage: String?
    /// Whether the user is online, away or busy.
    public var isOnline: Bool
    /// When the user was last online; while they are, since when.
    public var lastSeen: Date
    /// When the profile or account was created.
    public var createdAt: Date
    /// The push token of this device, for an app that stores it in its users; only for the signed-in user. No library
    /// sets it: `PresenceMessenger.registerDevice(_:)` sends the token to the server, which never passes it on.
    public var fcmToken: String?
    /// The version to encode: ``currentSchemaVersion``, unless the app sets another.
    public var schemaVersion: Int

    /// Creates a user. By default they are offline, were created now, and have no optional members.
    public init(
        id: String, email: String? = nil, displayName: String, username: String? = nil, profileImageURL: URL? = nil,
        timezone: String? = nil, locale: String? = nil, preferredLanguage: String? = nil, isOnline: Bool = false,
        lastSeen: Date = Date(), createdAt: Date = Date(), fcmToken: String? = nil,
        schemaVersion: Int = User.currentSchemaVersion
    ) {
        (self.id, self.email, self.displayName, self.username) = (id, email, displayName, username)
        (self.profileImageURL, self.timezone, self.locale) = (profileImageURL, timezone, locale)
        (self.preferredLanguage, self.isOnline, self.lastSeen) = (preferredLanguage, isOnline, lastSeen)
        (self.createdAt, self.fcmToken, self.schemaVersion) = (createdAt, fcmToken, schemaVersion)
    }

    /// Decodes this version and earlier ones. In version 0, without `schemaVersion`, the picture was `photoURL`, and
    /// missing values were omitted or empty.
    ///
    /// - Throws: `DecodingError`, also for a later version, whose members may have other meanings.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        let version = try members.decodeIfPresent(Int.self, forKey: .schemaVersion) ?? 0
        guard version <= Self.currentSchemaVersion else {
            throw DecodingError.dataCorruptedError(
                forKey: .schemaVersion, in: members, debugDescription: "version \(version) is later than this one")
        }
        func text(_ key: CodingKeys) throws -> String? {
            try members.decodeIfPresent(String.self, forKey: key).flatMap { $0.isEmpty ? nil : $0 }
        }
        let created = try members.decodeIfPresent(Date.self, forKey: .createdAt)
        self.init(
            id: try members.decode(String.self, forKey: .id), email: try text(.email),
            displayName: try members.decodeIfPresent(String.self, forKey: .displayName) ?? "",
            username: try text(.username),
            profileImageURL: (try text(.profileImageURL) ?? text(.photoURL)).flatMap { URL(string: $0) },
            timezone: try text(.timezone), locale: try text(.locale), preferredLanguage: try text(.preferredLanguage),
            isOnline: try members.decodeIfPresent(Bool.self, forKey: .isOnline) ?? false,
            lastSeen: try members.decodeIfPresent(Date.self, forKey: .lastSeen) ?? created ?? .distantPast,
            createdAt: created ?? .distantPast, fcmToken: try text(.fcmToken))
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(id, forKey: .id)
        try members.encodeIfPresent(email, forKey: .email)
        try members.encode(displayName, forKey: .displayName)
        try members.encodeIfPresent(username, forKey: .username)
        try members.encodeIfPresent(profileImageURL?.absoluteString, forKey: .profileImageURL)
        try members.encodeIfPresent(timezone, forKey: .timezone)
        try members.encodeIfPresent(locale, forKey: .locale)
        try members.encodeIfPresent(preferredLanguage, forKey: .preferredLanguage)
        try members.encode(isOnline, forKey: .isOnline)
        try members.encode(lastSeen, forKey: .lastSeen)
        try members.encode(createdAt, forKey: .createdAt)
        try members.encodeIfPresent(fcmToken, forKey: .fcmToken)
        try members.encode(schemaVersion, forKey: .schemaVersion)
    }

    /// The letters shown in place of a picture: the first letters of the first and the last word (`JD`), the first two
    /// letters of a single word, or `?` without a name.
    public var displayInitials: String {
        let words = displayName.split(whereSeparator: \.isWhitespace)
        guard let first = words.first else { return "?" }
        let letters = words.count == 1 ? String(first.prefix(2)) : "\(first.prefix(1))\(words.last!.prefix(1))"
        return letters.uppercased()
    }
}
