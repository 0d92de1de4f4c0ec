import Foundation

/// A user of an app: who they are, and whether they are here.
///
/// A value of its own, without anything of a server or a screen: it can be stored, compared, sent and made up.
public struct User: Codable, Hashable, Sendable, Identifiable {
    /// The form of what is encoded; an older one is read as well.
    public static let currentSchemaVersion = 1
    /// What the id is called on the wire and in stored data.
    private enum CodingKeys: String, CodingKey {
        case id = "uid"
        case email, displayName, username, profileImageURL, timezone, locale, preferredLanguage, isOnline, lastSeen,
            createdAt, fcmToken, schemaVersion
        /// What other versions of an app called the picture.
        case photoURL
    }

    /// Who it is: the same as in presence, profiles and accounts.
    public let id: String
    /// The own one only: others' addresses are not shown.
    public var email: String?
    /// Free text, 1 to 50 characters, not unique.
    public var displayName: String
    /// Unique, 3 to 30 characters; not everybody has one.
    public var username: String?
    /// The picture; `nil` without one, where ``displayInitials`` stand.
    public var profileImageURL: URL?
    /// IANA name, such as `Europe/Paris`.
    public var timezone: String?
    /// BCP 47, such as `pt-BR`.
    public var locale: String?
    /// The language in which the user wants to be addressed; the own one only.
    public var preferredLanguage: String?
    /// Whether they are here: online, away or busy.
    public var isOnline: Bool
    /// When they were here last; while they are, since when.
    public var lastSeen: Date
    /// When profile or account was made.
    public var createdAt: Date
    /// Where a push reaches this device, for an app that keeps it in its users; the own one only. No library fills it in: the
    /// server is told by `PresenceMessages.registerDevice(_:)`, and tells nobody.
    public var fcmToken: String?
    /// The form that is encoded: ``currentSchemaVersion``, unless the app says otherwise.
    public var schemaVersion: Int

    /// Makes a user; by default offline, made now, and without what may be missing.
    public init(
        id: String, email: String? = nil, displayName: String, username: String? = nil, profileImageURL: URL? = nil,
        timezone: String? = nil, locale: String? = nil, preferredLanguage: String? = nil, isOnline: Bool = false,
        lastSeen: Date = Date(), createdAt: Date = Date(), fcmToken: String? = nil,
        schemaVersion: Int = User.currentSchemaVersion
    ) {
        self.id = id
        self.email = email
        self.displayName = displayName
        self.username = username
        self.profileImageURL = profileImageURL
        self.timezone = timezone
        self.locale = locale
        self.preferredLanguage = preferredLanguage
        self.isOnline = isOnline
        self.lastSeen = lastSeen
        self.createdAt = createdAt
        self.fcmToken = fcmToken
        self.schemaVersion = schemaVersion
    }

    /// Reads this version, and the ones before: without `schemaVersion` (0), the picture was `photoURL`, and what had no
    /// value was left out or empty.
    ///
    /// - Throws: `DecodingError`; of a later version too, which may mean something else by the same members.
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

    /// What stands in a circle without a picture: the first letters of the first and the last word, `JD`; of one word its
    /// first two letters; `?` without a name.
    public var displayInitials: String {
        let words = displayName.split(whereSeparator: \.isWhitespace)
        guard let first = words.first else { return "?" }
        let letters = words.count == 1 ? String(first.prefix(2)) : "\(first.prefix(1))\(words.last!.prefix(1))"
        return letters.uppercased()
    }
}
