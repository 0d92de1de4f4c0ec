import Foundation
import PresenceProtocol

/// One observed person: both registers as last heard, and whether that is the truth.
///
/// The rule that keeps clients right: a register in an answer replaces; one in an event replaces if its version is
/// larger, or is 0.
struct HeldPerson: Watchable {
    var watch = Watch()
    private(set) var presence: Presence?
    private(set) var profile: ProfileRegister?
    private(set) var presenceArrival: Arrival?
    private(set) var profileArrival: Arrival?

    /// Whether the server answered for this person on this connection.
    private(set) var isConfirmed = false
    /// While not confirmed: since when what is held may be out of date; `nil` while nothing is held.
    private(set) var staleSince: Date?

    /// The watchlist's stamp when either was last changed, in itself or in its freshness.
    private(set) var presenceStamp: UInt64 = 0
    private(set) var profileStamp: UInt64 = 0

    /// The newer of the two.
    var stamp: UInt64 { max(presenceStamp, profileStamp) }

    /// Whether there is anything to show.
    var isKnown: Bool { presence != nil && profile != nil }

    /// What to tell the server that is held already.
    var knownVersions: ClientMessage.KnownVersions? {
        var known = ClientMessage.KnownVersions()
        if let presence, presence.version != 0 { known.presence = presence.version }
        if case .profile(let profile) = profile, profile.version != 0 { known.profile = profile.version }
        return known.presence == nil && known.profile == nil ? nil : known
    }

    /// An answer: what is in it replaces; what was left out is as it was held.
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

    /// An event; whether it was newer.
    mutating func apply(_ newer: Presence, _ arrival: Arrival?) -> Bool {
        guard newer.version == 0 || newer.version > presence?.version ?? -1 else { return false }
        presence = newer
        presenceArrival = arrival
        return true
    }

    /// An event; whether it was newer.
    mutating func apply(_ newer: ProfileRegister, _ arrival: Arrival?) -> Bool {
        guard newer.version == 0 || newer.version > profile?.version ?? -1 else { return false }
        profile = newer
        profileArrival = arrival
        return true
    }

    /// The server has answered on this connection: what is held is the truth.
    mutating func confirm() {
        isConfirmed = true
        staleSince = nil
    }

    /// What a cache held, unless something is held already.
    mutating func recall(_ cached: CachedPerson) -> Bool {
        guard !isKnown else { return false }
        presence = cached.presenceRegister
        profile = cached.profileRegister
        staleSince = cached.asOf
        return true
    }

    /// The connection is gone: what was the truth until `date` may not be it any more.
    mutating func lose(at date: Date) -> Bool {
        watch.reset()
        guard isConfirmed else { return false }
        isConfirmed = false
        staleSince = date
        return true
    }

    /// Another user signed in: what the former one could see is forgotten.
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

    /// What a cache keeps of this person, at the server's `date`.
    func cached(as user: UserID, at date: Date) -> CachedPerson? {
        guard let presence, let profile else { return nil }
        return CachedPerson(
            user: user, asOf: isConfirmed ? date : staleSince ?? date, presence: presence, profile: profile)
    }
}

extension ProfileRegister {
    /// 0 without a profile, as on the wire.
    var version: Int64 {
        if case .profile(let profile) = self { profile.version } else { 0 }
    }
}
