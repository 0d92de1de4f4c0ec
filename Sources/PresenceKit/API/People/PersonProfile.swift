import Foundation
import PresenceProtocol

/// The known profile of one user.
public struct PersonProfile: Codable, Hashable, Sendable {
    /// The id that the app requested.
    public let user: String
    /// Whether the user has a profile that may be seen. Otherwise all other members are empty.
    public var exists: Bool
    /// Free text of 1 to 50 characters, not unique.
    public var displayName: String?
    /// The unique username, in the spelling that its owner chose. Only users with an account have one.
    public var username: String?
    /// The picture, an https URL.
    public var photoURL: URL?
    /// A small version of the picture. Only for pictures that were uploaded to the server.
    public var thumbnailURL: URL?
    /// An IANA name, such as `Europe/Paris`.
    public var timezone: String?
    /// A BCP 47 tag, such as `pt-BR`.
    public var locale: String?
    /// When the profile was created, by the server's clock.
    public var createdAt: Date?
    /// When the profile was last changed, by the server's clock.
    public var updatedAt: Date?
    /// Increases with every change; 0 without a profile.
    public var version: Int64
    /// Whether the value is current.
    public var freshness: Freshness
    /// Why the value is not updated, as in ``PersonPresence/problem``.
    public var problem: PresenceError?
    /// When the newest change was made and received; `nil` if the value came as a reply and not as a change.
    public var arrival: Arrival?

    /// Creates a profile, for fakes and previews. The defaults are those of a user without a profile.
    public init(
        user: String, exists: Bool = false, displayName: String? = nil, username: String? = nil, photoURL: URL? = nil,
        thumbnailURL: URL? = nil, timezone: String? = nil, locale: String? = nil, createdAt: Date? = nil,
        updatedAt: Date? = nil,
        version: Int64 = 0, freshness: Freshness, problem: PresenceError? = nil, arrival: Arrival? = nil
    ) {
        (self.user, self.exists, self.displayName, self.username) = (user, exists, displayName, username)
        (self.photoURL, self.thumbnailURL, self.timezone) = (photoURL, thumbnailURL, timezone)
        (self.locale, self.createdAt, self.updatedAt, self.version) = (locale, createdAt, updatedAt, version)
        (self.freshness, self.problem, self.arrival) = (freshness, problem, arrival)
    }

    init(
        user: String, _ register: ProfileRegister, freshness: Freshness, problem: PresenceError? = nil,
        arrival: Arrival? = nil
    ) {
        guard case .profile(let profile) = register else {
            self.init(user: user, freshness: freshness, problem: problem, arrival: arrival)
            return
        }
        self.init(
            user: user, exists: true, displayName: profile.displayName, username: profile.username,
            photoURL: profile.photoURL.flatMap { URL(string: $0) },
            thumbnailURL: profile.thumbnailURL.flatMap { URL(string: $0) }, timezone: profile.timezone,
            locale: profile.locale, createdAt: profile.createdAt.map(Date.init(timestamp:)),
            updatedAt: profile.updatedAt.map(Date.init(timestamp:)), version: profile.version,
            freshness: freshness, problem: problem, arrival: arrival)
    }
}
