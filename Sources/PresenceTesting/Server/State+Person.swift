import Foundation
import PresenceKit
import PresenceProtocol

extension InMemoryServer.State {
    /// Sets the registers of a user.
    mutating func set(_ person: Person) {
        guard let user = UserID(person.user) else { return }
        func milliseconds(_ date: Date?) -> Timestamp? { date.map { Timestamp($0.timeIntervalSince1970 * 1_000) } }
        let (presence, profile) = (person.presence, person.profile)
        users[user, default: .init()].isFromSession = false
        users[user]!.presence = Presence(
            version: nextVersion(), status: PresenceProtocol.PresenceStatus(rawValue: presence.status.rawValue)!,
            since: milliseconds(presence.since), lastSeen: milliseconds(presence.lastSeen), text: presence.text,
            devices: presence.devices.map { PresenceProtocol.DeviceKind(rawValue: $0.rawValue)! })
        users[user]!.profile =
            profile.exists
            ? .profile(
                Profile(
                    version: nextVersion(), displayName: profile.displayName, username: profile.username,
                    photoURL: profile.photoURL?.absoluteString, timezone: profile.timezone, locale: profile.locale,
                    createdAt: milliseconds(profile.createdAt) ?? now, updatedAt: now)) : .none
    }

    mutating func setTyping(_ typists: [String], in talk: String) {
        let until = time + InMemoryServer.typingTime
        talks[talk]!.typists = Dictionary(uniqueKeysWithValues: typists.compactMap(UserID.init).map { ($0, until) })
        talks[talk]!.typingVersion += 1
    }
}
