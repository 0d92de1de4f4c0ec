import Foundation
import PresenceProtocol

/// One user's data in a cache: `Codable`, and opaque except for the two members that a store needs.
package struct CachedPerson: Codable, Hashable, Sendable {
    /// The user's id, which is the key.
    package let user: String
    /// When the data was last known to be current, by the server's clock.
    package let asOf: Date
    private let presence: StoredPresence
    private let profile: StoredProfile?

    init(user: UserID, asOf: Date, presence: Presence, profile: ProfileRegister) {
        self.user = user.string
        self.asOf = asOf
        self.presence = StoredPresence(
            version: presence.version, status: presence.status.rawValue, since: presence.since,
            lastSeen: presence.lastSeen, text: presence.text, devices: presence.devices.map(\.rawValue))
        if case .profile(let profile) = profile {
            self.profile = StoredProfile(
                version: profile.version, displayName: profile.displayName, username: profile.username,
                photoURL: profile.photoURL, thumbnailURL: profile.thumbnailURL, timezone: profile.timezone,
                locale: profile.locale, createdAt: profile.createdAt, updatedAt: profile.updatedAt)
        } else {
            self.profile = nil
        }
    }

    /// The stored presence; unknown if a later version of this library wrote a status that this one cannot read.
    var presenceRegister: Presence {
        guard let status = PresenceProtocol.PresenceStatus(rawValue: presence.status) else { return .unknown }
        return Presence(
            version: presence.version, status: status, since: presence.since, lastSeen: presence.lastSeen,
            text: presence.text, devices: presence.devices.compactMap(PresenceProtocol.DeviceKind.init(rawValue:)))
    }

    /// The stored profile.
    var profileRegister: ProfileRegister {
        guard let profile else { return .none }
        return .profile(
            Profile(
                version: profile.version, displayName: profile.displayName, username: profile.username,
                photoURL: profile.photoURL, thumbnailURL: profile.thumbnailURL, timezone: profile.timezone,
                locale: profile.locale, createdAt: profile.createdAt, updatedAt: profile.updatedAt))
    }

    private struct StoredPresence: Codable, Hashable, Sendable {
        var version: Int64
        var status: String
        var since: Int64?
        var lastSeen: Int64?
        var text: String?
        var devices: [String]
    }

    private struct StoredProfile: Codable, Hashable, Sendable {
        var version: Int64
        var displayName: String?
        var username: String?
        var photoURL: String?
        var thumbnailURL: String?
        var timezone: String?
        var locale: String?
        var createdAt: Int64?
        var updatedAt: Int64?
    }
}
