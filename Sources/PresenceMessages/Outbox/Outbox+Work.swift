import PresenceKit

extension Outbox {
    /// The content of an entry. Repeating its request has no effect.
    enum Work: Sendable {
        /// A message, with the newest sequence known when it was written.
        case send(Message, after: Int64)
        case change(MessageChange)
        /// Up to where the user has read a conversation, or has its messages.
        case mark(Ask.Mark)
        case notifications(Ask.NotificationMarks)
        /// Settings of notifications.
        case settings(NotificationSettings)
    }

    static let notifications = "notifications"
    static let settings = "settings"
    static func marks(of conversation: String) -> String { "marks of \(conversation)" }
}

extension Outbox.Work {
    /// The id, if the work has its own.
    var id: String? { message?.id ?? change?.id }

    /// Messages and changes of a conversation are in one order.
    var lane: String {
        switch self {
        case .send(let message, _): message.conversationId
        case .change(let change): change.conversationId
        case .mark(let mark): Outbox.marks(of: mark.conversation)
        case .notifications: Outbox.notifications
        case .settings: Outbox.settings
        }
    }

    /// Whether it is sent only once it is stored.
    var waitsForStorage: Bool {
        if case .mark = self { false } else { true }
    }

    /// Whether a rejection stays until the app handles it. Otherwise the entry is dropped.
    var canFail: Bool { message != nil || change != nil }

    /// Whether it is dropped after this error, because the server will never accept it.
    func isFinal(_ error: PresenceError) -> Bool {
        guard case .notifications = self else { return !error.isPassing }
        return !error.isPassing && [.unknownType, .validationFailed, .badRequest, .tooMany].contains(error.code)
    }

    /// Adds a later entry of the lane to the request, if both fit into one.
    mutating func merge(_ later: Outbox.Work) -> Bool {
        switch (self, later) {
        case (.mark(var mark), .mark(let other)):
            mark.raise(to: other)
            self = .mark(mark)
        case (.notifications(var marks), .notifications(let others)):
            guard marks.count + others.count <= Ask.NotificationMarks.most else { return false }
            marks.add(others)
            self = .notifications(marks)
        case (.settings, .settings): self = later
        default: return false
        }
        return true
    }

    /// Whether an older entry is not needed beside it.
    func covers(_ older: Outbox.Work) -> Bool {
        switch (self, older) {
        case (.mark(let mark), .mark(let other)): mark.covers(other)
        case (.settings, .settings): true
        default: false
        }
    }

    var message: Message? {
        if case .send(let message, _) = self { message } else { nil }
    }

    var change: MessageChange? {
        if case .change(let change) = self { change } else { nil }
    }

    var notificationMarks: Ask.NotificationMarks? {
        if case .notifications(let marks) = self { marks } else { nil }
    }

    var settings: NotificationSettings? {
        if case .settings(let settings) = self { settings } else { nil }
    }
}

extension Ask.Mark {
    /// Whether it includes another mark of the same conversation. A read message is also delivered.
    func covers(_ other: Ask.Mark) -> Bool {
        let delivered = max(self.delivered ?? 0, read ?? 0)
        return conversation == other.conversation && (other.read ?? 0) <= read ?? 0
            && (other.delivered ?? 0) <= delivered
    }

    mutating func raise(to other: Ask.Mark) {
        delivered = [delivered, other.delivered].compactMap(\.self).max()
        read = [read, other.read].compactMap(\.self).max()
    }
}
