import PresenceProtocol

/// A client's state of one person, by the rules of the protocol.
struct Shown: Equatable {
    private(set) var presence: Presence?
    private(set) var profile: ProfileRegister?

    /// A register in an answer replaces the present one; a missing one changes nothing.
    mutating func apply(_ snapshot: UserSnapshot) {
        presence = snapshot.presence ?? presence
        profile = snapshot.profile ?? profile
    }

    /// A register in an event replaces the present one if its version is larger, or is 0. Returns whether it did.
    mutating func apply(_ event: Presence) -> Bool {
        guard event.version == 0 || event.version > presence?.version ?? -1 else { return false }
        presence = event
        return true
    }

    mutating func apply(_ event: ProfileRegister) -> Bool {
        guard event.version == 0 || event.version > profile?.version ?? -1 else { return false }
        profile = event
        return true
    }

    /// The versions to send with a new subscription.
    var known: ClientMessage.KnownVersions? {
        guard presence != nil || profile != nil else { return nil }
        return ClientMessage.KnownVersions(presence: presence?.version, profile: profile?.version)
    }
}

extension ProfileRegister {
    /// 0 without a profile.
    var version: Int64 {
        switch self {
        case .none: 0
        case .profile(let profile): profile.version
        }
    }

    var displayName: String? {
        switch self {
        case .none: nil
        case .profile(let profile): profile.displayName
        }
    }
}
