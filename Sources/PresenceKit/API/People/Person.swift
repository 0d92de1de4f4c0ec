/// What is known of one person: presence and profile together.
public struct Person: Codable, Hashable, Sendable, Identifiable {
    /// Whether they are here, and since when.
    public var presence: PersonPresence
    /// Their name and picture.
    public var profile: PersonProfile

    /// The id that the app asked for.
    public var user: String { presence.user }
    /// The same as ``user``.
    public var id: String { presence.user }
    /// Whether they are here: online, away or busy.
    public var isOnline: Bool { presence.isOnline }
    /// Their name; `nil` without a profile, or with one that may not be seen.
    public var displayName: String? { profile.displayName }
    /// Whether both halves are the truth of this moment.
    public var freshness: Freshness { presence.freshness }

    /// Why nothing newer comes: the id is malformed, the server will not show the user, or the client is closed.
    public var problem: PresenceError? { presence.problem }

    /// Whether anything is known of them: missing and hidden users are not found.
    public var isFound: Bool { presence.isKnown || profile.exists }

    /// Puts both halves of the same user together.
    public init(presence: PersonPresence, profile: PersonProfile) {
        self.presence = presence
        self.profile = profile
    }
}
