import PresenceCore

/// The settings of conversations. config/presenced.yaml has each with its sentence.
extension Conversations {
    static let mostPerUser = Setting<Int>(
        "conversations.mostPerUser", 2_000, in: 2...100_000,
        about: "How many conversations a user may be in; beyond it, they cannot be added to another one. It bounds a "
            + "user's list, to which any user can add: reading one of 1,000 takes Redis some ms. Groups of other "
            + "users take at most half of it; the rest is for direct conversations, the user's own groups and those "
            + "of backends.")
    static let mostParticipants = Setting<Int>(
        "limits.participants", 10, in: 2...1_000,
        about:
            "Participants of one conversation (2 to 1000). The server sends each change of it to all of them, whole, "
            + "so the cost grows with the square of their number.")
    static let mostCreated = Setting<Int>(
        "limits.conversationsPerUser", 1_000, in: 1...1_000_000, about: "Conversations that one user may create.")
}
