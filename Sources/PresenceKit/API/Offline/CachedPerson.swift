import Foundation
import PresenceProtocol

/// One user's data in a cache: `Codable`, and opaque except for the two members that a store needs.
package struct CachedPerson: Codable, Hashable, Sendable {
    /// The user's id, which is the key.
    package let user: String
    /// When the data was last known to be current, by the server's clock.
    package let asOf: Date
    private let presence: Presence
    private let profile: Profile?

    init(user: UserID, asOf: Date, presence: Presence, profile: ProfileRegister) {
        (self.user, self.asOf, self.presence) = (user.string, asOf, presence)
        self.profile = if case .profile(let profile) = profile { profile } else { nil }
    }

    var presenceRegister: Presence { presence }
    var profileRegister: ProfileRegister { profile.map { .profile($0) } ?? .none }
}
