import PresenceProtocol

/// What one client holds of one person, kept by the rules of the protocol.
struct Shown: Equatable {
    private(set) var presence: Presence?
    private(set) var profile: ProfileRegister?

    /// A register in an answer replaces what is held; one that was left out stays.
    mutating func take(_ snapshot: UserSnapshot) {
        presence = snapshot.presence ?? presence
        profile = snapshot.profile ?? profile
    }

    /// One in an event replaces it if its version is larger, or is 0; tells whether it did.
    mutating func take(_ event: Presence) -> Bool {
        guard event.version == 0 || event.version > presence?.version ?? -1 else { return false }
        presence = event
        return true
    }

    mutating func take(_ event: ProfileRegister) -> Bool {
        guard event.version == 0 || event.version > profile?.version ?? -1 else { return false }
        profile = event
        return true
    }

    /// What to tell a server that is subscribed to again.
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
