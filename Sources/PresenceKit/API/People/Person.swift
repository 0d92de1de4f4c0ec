/// The known data of one user: presence and profile.
public struct Person: Codable, Hashable, Sendable, Identifiable {
    /// Whether the user is online, and since when.
    public var presence: PersonPresence
    /// The user's name and picture.
    public var profile: PersonProfile

    /// The id that the app requested.
    public var user: String { presence.user }
    /// The same as ``user``.
    public var id: String { presence.user }
    /// Whether the user is online, away or busy.
    public var isOnline: Bool { presence.isOnline }
    /// The display name; `nil` if there is no profile, or if it may not be seen.
    public var displayName: String? { profile.displayName }
    /// Whether presence and profile are current.
    public var freshness: Freshness { presence.freshness }

    /// Why the value is not updated: the id is malformed, the server does not show the user, or the client is closed.
    public var problem: PresenceError? { presence.problem }

    /// Whether any data is known. Users who do not exist and hidden users are not found.
    public var isFound: Bool { presence.isKnown || profile.exists }

    /// Combines presence and profile of the same user.
    public init(presence: PersonPresence, profile: PersonProfile) {
        self.presence = presence
        self.profile = profile
    }
}
