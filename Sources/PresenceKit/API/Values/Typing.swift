/// Who is typing in a conversation, without the own user.
public struct Typing: Hashable, Sendable {
    public var conversation: String
    /// At most 20 of those who type now, sorted. Empty while there is no connection.
    public var users: [String]
    /// How many more are typing.
    public var more: Int
    /// Whether this is the truth of this moment.
    public var freshness: Freshness
    /// When the newest change was made and received; `nil` while what is shown came as an answer, not as a change.
    public var arrival: Arrival?

    /// Whether anybody else is typing.
    public var isAnyone: Bool { !users.isEmpty || more > 0 }

    public init(
        conversation: String, users: [String] = [], more: Int = 0, freshness: Freshness, arrival: Arrival? = nil
    ) {
        self.conversation = conversation
        self.users = users
        self.more = more
        self.freshness = freshness
        self.arrival = arrival
    }
}
