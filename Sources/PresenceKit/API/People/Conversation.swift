/// A conversation, in which participants see each other typing.
public struct Conversation: Codable, Hashable, Sendable, Identifiable {
    /// An id that cannot be guessed.
    public let id: String
    /// All participants, including the creator.
    public var participants: [String]

    /// Creates a value, for fakes and previews. ``PresenceClient/createConversation(with:)`` creates a conversation on
    /// the server.
    public init(id: String, participants: [String]) {
        self.id = id
        self.participants = participants
    }
}
