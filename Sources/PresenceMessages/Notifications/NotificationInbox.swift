/// The user's notifications as they are now, and what is different from what the same loop got before.
public struct NotificationInbox: Hashable, Sendable {
    /// What is different, by ``UserNotification/id``, in the order of the list.
    public struct Changes: Hashable, Sendable {
        /// In a loop's first element, all.
        public var added: [String] = []
        /// Seen or read since.
        public var changed: [String] = []
        /// Archived, replaced or no longer kept; and, with each new connection, what
        /// ``PresenceNotifications/loadEarlier(limit:)`` added.
        public var removed: [String] = []

        /// Makes changes, as a fake or a preview needs them; by default there are none.
        public init(added: [String] = [], changed: [String] = [], removed: [String] = []) {
            self.added = added
            self.changed = changed
            self.removed = removed
        }
    }

    /// Newest first, without those that are archived.
    public var notifications: [UserNotification]
    /// How many were not seen, of all that the server keeps.
    public var unseenCount: Int
    /// How many were not read, of all that the server keeps.
    public var unreadCount: Int
    /// Whether the server has older ones than these.
    public var hasEarlier: Bool
    /// What is different from the element before, of the same loop.
    public var changes = Changes()
    /// Whose they are, if a client says so; `nil` after a sign-out.
    package var user: String?

    /// Makes an inbox, as a fake or a preview needs it; by default an empty one.
    public init(
        notifications: [UserNotification] = [], unseenCount: Int = 0, unreadCount: Int = 0, hasEarlier: Bool = false
    ) {
        self.notifications = notifications
        self.unseenCount = unseenCount
        self.unreadCount = unreadCount
        self.hasEarlier = hasEarlier
    }

    public subscript(id: String) -> UserNotification? { notifications.first { $0.id == id } }

    /// The same with what is different from a former one.
    package func changed(since former: NotificationInbox?) -> NotificationInbox {
        var inbox = self
        inbox.changes = Changes()
        // By number: an id that was given up long ago may come again.
        let before = Dictionary((former?.notifications ?? []).map { ($0.sequence, $0) }) { $1 }
        let now = Set(notifications.map(\.sequence))
        for notification in notifications {
            guard let known = before[notification.sequence] else {
                inbox.changes.added.append(notification.id)
                continue
            }
            if known != notification { inbox.changes.changed.append(notification.id) }
        }
        inbox.changes.removed = (former?.notifications ?? []).filter { !now.contains($0.sequence) }.map(\.id)
        return inbox
    }
}

/// Says in each element what is different from the one before it, of the same iterator.
package struct InboxSequence<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable
where Base.Element == NotificationInbox {
    package typealias Element = NotificationInbox
    package typealias Failure = Never
    private let base: Base

    package init(_ base: Base) {
        self.base = base
    }

    package func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator()) }

    package struct Iterator: AsyncIteratorProtocol {
        package typealias Failure = Never
        var base: Base.AsyncIterator
        private var former: NotificationInbox?

        init(base: Base.AsyncIterator) {
            self.base = base
        }

        package mutating func next() async -> NotificationInbox? {
            guard let inbox = try? await base.next() else { return nil }
            defer { former = inbox }
            return inbox.changed(since: former)
        }
    }
}
