/// A conversation: a place where people see each other typing.
public struct Conversation: Codable, Hashable, Sendable, Identifiable {
    /// Cannot be guessed.
    public let id: String
    /// Everyone in it, the creator among them.
    public var participants: [String]

    /// Makes a conversation, as a fake or a preview needs it; ``PresenceClient/createConversation(with:)`` asks the
    /// server for one.
    public init(id: String, participants: [String]) {
        self.id = id
        self.participants = participants
    }
}
