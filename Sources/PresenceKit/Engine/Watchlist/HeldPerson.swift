import Foundation
import PresenceProtocol

/// An observed user: both registers as last received, and whether they are current.
///
/// The rule that keeps clients correct: a register in a reply always replaces the stored one; a register in an event
/// replaces it if its version is larger, or is 0.
struct HeldPerson: Watchable {
    var watch = Watch()
    private(set) var presence: Presence?
    private(set) var profile: ProfileRegister?
    private(set) var presenceArrival: Arrival?
    private(set) var profileArrival: Arrival?

    /// Whether the server confirmed this user on this connection.
    private(set) var isConfirmed = false
    /// While not confirmed: since when the values may be outdated; `nil` while there are none.
    private(set) var staleSince: Date?

    /// The watchlist's stamp of each register's last change of value or freshness.
    private(set) var presenceStamp: UInt64 = 0
    private(set) var profileStamp: UInt64 = 0

    /// The newer of the two.
    var stamp: UInt64 { max(presenceStamp, profileStamp) }

    /// Whether there is anything to show.
    var isKnown: Bool { presence != nil && profile != nil }

    /// The versions that the client already has, for the server.
    var knownVersions: ClientMessage.KnownVersions? {
        var known = ClientMessage.KnownVersions()
        if let presence, presence.version != 0 { known.presence = presence.version }
        if case .profile(let profile) = profile, profile.version != 0 { known.profile = profile.version }
        return known.presence == nil && known.profile == nil ? nil : known
    }

    /// Applies a reply: registers in it replace the stored ones; omitted ones are unchanged.
    mutating func replace(with snapshot: UserSnapshot) {
        if let newer = snapshot.presence {
            if newer != presence { presenceArrival = nil }
            presence = newer
        }
        if let newer = snapshot.profile {
            if newer != profile { profileArrival = nil }
            profile = newer
        }
    }

    /// Applies an event; returns whether it was newer.
    mutating func apply(_ newer: Presence, _ arrival: Arrival?) -> Bool {
        guard newer.version == 0 || newer.version > presence?.version ?? -1 else { return false }
        presence = newer
        presenceArrival = arrival
        return true
    }

    /// Applies an event; returns whether it was newer.
    mutating func apply(_ newer: ProfileRegister, _ arrival: Arrival?) -> Bool {
        guard newer.version == 0 || newer.version > profile?.version ?? -1 else { return false }
        profile = newer
        profileArrival = arrival
        return true
    }

    /// The server has answered on this connection: the values are current.
    mutating func confirm() {
        isConfirmed = true
        staleSince = nil
    }

    /// Applies a cached value, unless there is a value already.
    mutating func recall(_ cached: CachedPerson) -> Bool {
        guard !isKnown else { return false }
        presence = cached.presenceRegister
        profile = cached.profileRegister
        staleSince = cached.asOf
        return true
    }

    /// The connection has ended: values known to be current until `date` may be outdated now.
    mutating func lose(at date: Date) -> Bool {
        watch.reset()
        guard isConfirmed else { return false }
        isConfirmed = false
        staleSince = date
        return true
    }

    /// Another user signed in: values that the former one could see are dropped.
    mutating func forget(at date: Date) {
        watch.reset()
        isConfirmed = false
        presenceArrival = nil
        profileArrival = nil
        guard presence != nil || profile != nil else { return }
        presence = .unknown
        profile = ProfileRegister.none
        staleSince = date
    }

    mutating func mark(_ part: PersonPart, stamp: UInt64) {
        if part != .profile { presenceStamp = stamp }
        if part != .presence { profileStamp = stamp }
    }

    /// The value for the cache, at the server's `date`.
    func cached(as user: UserID, at date: Date) -> CachedPerson? {
        guard let presence, let profile else { return nil }
        return CachedPerson(
            user: user, asOf: isConfirmed ? date : staleSince ?? date, presence: presence, profile: profile)
    }
}

extension ProfileRegister {
    /// 0 without a profile, as in the protocol.
    var version: Int64 {
        if case .profile(let profile) = self { profile.version } else { 0 }
    }
}
