/// The users who are typing in a conversation, without the signed-in user.
public struct Typing: Codable, Hashable, Sendable {
    /// The id that the app requested.
    public let conversation: String
    /// Up to 20 users who are typing now, sorted. Empty while there is no connection.
    public var users: [String]
    /// The number of users typing beyond those in ``users``.
    public var othersCount: Int
    /// Whether the value is current.
    public var freshness: Freshness
    /// Why the value is not updated: the id is malformed, the user is not in this conversation, or the client is
    /// closed.
    public var problem: PresenceError?
    /// When the newest change was made and received; `nil` if the value came as a reply and not as a change.
    public var arrival: Arrival?

    /// Whether any other user is typing.
    public var isAnyone: Bool { !users.isEmpty || othersCount > 0 }

    /// Creates a value, for fakes and previews. By default no user is typing.
    public init(
        conversation: String, users: [String] = [], othersCount: Int = 0, freshness: Freshness,
        problem: PresenceError? = nil, arrival: Arrival? = nil
    ) {
        (self.conversation, self.users, self.othersCount) = (conversation, users, othersCount)
        (self.freshness, self.problem, self.arrival) = (freshness, problem, arrival)
    }
}
