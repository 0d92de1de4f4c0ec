import PresenceProtocol

/// The conversations in which the user is typing, and when to renew each indicator.
struct OwnTyping: Sendable {
    private var conversations: [ConversationID: Duration] = [:]
    let interval: Duration

    init(interval: Duration) { self.interval = interval }

    /// The uptime at which the next renewal is due.
    var nextDue: Duration? { conversations.values.min() }

    func contains(_ conversation: ConversationID) -> Bool { conversations[conversation] != nil }

    /// Starts or continues typing; the message was just sent.
    mutating func start(_ conversation: ConversationID, at uptime: Duration) {
        conversations[conversation] = uptime + interval
    }

    /// Returns whether the user was typing there.
    mutating func stop(_ conversation: ConversationID) -> Bool {
        conversations.removeValue(forKey: conversation) != nil
    }

    mutating func stopAll() -> [ConversationID] {
        defer { conversations = [:] }
        return conversations.keys.sorted()
    }

    /// The conversations whose renewal is due; they are due again one interval later.
    mutating func takeDue(at uptime: Duration) -> [ConversationID] {
        let due = conversations.filter { $0.value <= uptime }.keys.sorted()
        for conversation in due { conversations[conversation] = uptime + interval }
        return due
    }

    /// All conversations, because a new connection knows of none of them.
    mutating func takeAll(at uptime: Duration) -> [ConversationID] {
        for conversation in conversations.keys { conversations[conversation] = uptime + interval }
        return conversations.keys.sorted()
    }
}
