import PresenceKit

/// The user's notifications as they are now, and what is different from what the same loop got before.
public struct NotificationInbox: Hashable, Sendable {
    /// What is different, by ``UserNotification/id``. `removed` are those archived, replaced or no longer kept, and, with each
    /// new connection, what ``PresenceNotifications/loadEarlier(limit:)`` added.
    public typealias Changes = ListChanges

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
        // By number: an id that was given up long ago may come again.
        inbox.changes = ListChanges(from: former?.notifications ?? [], to: notifications, by: \.sequence)
        return inbox
    }

    /// Says in each element what is different from the one before it.
    package static func updates<Base: AsyncSequence & Sendable>(
        _ inboxes: Base
    ) -> PresenceUpdates<NotificationInbox> where Base.Element == NotificationInbox {
        PresenceUpdates(Compared(inboxes) { $0.changed(since: $1) })
    }
}
