/// Who is typing in a conversation, without the own user.
public struct Typing: Codable, Hashable, Sendable {
    /// The id that the app asked for.
    public let conversation: String
    /// At most 20 of those who type now, sorted. Empty while there is no connection.
    public var users: [String]
    /// How many more are typing than are named.
    public var othersCount: Int
    /// Whether this is the truth of this moment.
    public var freshness: Freshness
    /// Why nothing newer comes: the id is malformed, the user is not in this conversation, or the client is closed.
    public var problem: PresenceError?
    /// When the newest change was made and received; `nil` while what is shown came as an answer, not as a change.
    public var arrival: Arrival?

    /// Whether anybody else is typing.
    public var isAnyone: Bool { !users.isEmpty || othersCount > 0 }

    /// Makes a value, as a fake or a preview needs it; by default nobody types.
    public init(
        conversation: String, users: [String] = [], othersCount: Int = 0, freshness: Freshness,
        problem: PresenceError? = nil, arrival: Arrival? = nil
    ) {
        self.conversation = conversation
        self.users = users
        self.othersCount = othersCount
        self.freshness = freshness
        self.problem = problem
        self.arrival = arrival
    }
}
