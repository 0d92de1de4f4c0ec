import Foundation
import PresenceProtocol

/// What is known of one person's profile.
public struct PersonProfile: Codable, Hashable, Sendable {
    /// The id that the app asked for.
    public let user: String
    /// Whether they have a profile that may be seen; without one every other member is empty.
    public var exists: Bool
    /// Free text of 1 to 50 characters, not unique.
    public var displayName: String?
    /// Unique, as its owner writes it. Of users with an account.
    public var username: String?
    /// Their picture; an https address.
    public var photoURL: URL?
    /// The same picture, small. Of pictures that were uploaded to the server.
    public var thumbnailURL: URL?
    /// IANA name, such as `Europe/Paris`.
    public var timezone: String?
    /// BCP 47, such as `pt-BR`.
    public var locale: String?
    /// When the profile was made, by the server's clock.
    public var createdAt: Date?
    /// When it was last changed, by the server's clock.
    public var updatedAt: Date?
    /// Grows with every change; 0 without a profile.
    public var version: Int64
    /// Whether this is the truth of this moment.
    public var freshness: Freshness
    /// Why nothing newer comes, as ``PersonPresence/problem``.
    public var problem: PresenceError?
    /// When the newest change was made and received; `nil` while what is shown came as an answer, not as a change.
    public var arrival: Arrival?

    /// Makes a profile, as a fake or a preview needs it; by default of a user without one.
    public init(
        user: String, exists: Bool = false, displayName: String? = nil, username: String? = nil, photoURL: URL? = nil,
        thumbnailURL: URL? = nil, timezone: String? = nil, locale: String? = nil, createdAt: Date? = nil,
        updatedAt: Date? = nil,
        version: Int64 = 0, freshness: Freshness, problem: PresenceError? = nil, arrival: Arrival? = nil
    ) {
        self.user = user
        self.exists = exists
        self.displayName = displayName
        self.username = username
        self.photoURL = photoURL
        self.thumbnailURL = thumbnailURL
        self.timezone = timezone
        self.locale = locale
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.version = version
        self.freshness = freshness
        self.problem = problem
        self.arrival = arrival
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
