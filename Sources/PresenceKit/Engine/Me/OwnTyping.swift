import PresenceProtocol

/// Where the own user is typing, and when to say so again.
struct OwnTyping: Sendable {
    private var conversations: [ConversationID: Duration] = [:]
    let interval: Duration

    init(interval: Duration) { self.interval = interval }

    /// The uptime at which the next repetition is due.
    var nextDue: Duration? { conversations.values.min() }

    func contains(_ conversation: ConversationID) -> Bool { conversations[conversation] != nil }

    /// Begins, or goes on; it has just been said.
    mutating func start(_ conversation: ConversationID, at uptime: Duration) {
        conversations[conversation] = uptime + interval
    }

    /// Whether the user was typing there.
    mutating func stop(_ conversation: ConversationID) -> Bool {
        conversations.removeValue(forKey: conversation) != nil
    }

    mutating func stopAll() -> [ConversationID] {
        defer { conversations = [:] }
        return conversations.keys.sorted()
    }

    /// The conversations due to be repeated; they are due again one interval later.
    mutating func takeDue(at uptime: Duration) -> [ConversationID] {
        let due = conversations.filter { $0.value <= uptime }.keys.sorted()
        for conversation in due { conversations[conversation] = uptime + interval }
        return due
    }

    /// A new connection knows of no typing: everything is due.
    mutating func takeAll(at uptime: Duration) -> [ConversationID] {
        for conversation in conversations.keys { conversations[conversation] = uptime + interval }
        return conversations.keys.sorted()
    }
}
