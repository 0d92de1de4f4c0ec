import PresenceKit

/// The user's notifications, and the changes since the loop's previous element.
public struct NotificationInbox: Hashable, Sendable {
    /// The changes by ``UserNotification/id``. `removed` includes archived, replaced and deleted notifications, and,
    /// after each new connection, those added by ``PresenceNotifications/loadEarlier(limit:)``.
    public typealias Changes = ListChanges

    /// Newest first, without archived ones.
    public var notifications: [UserNotification]
    /// The number of unseen notifications among all on the server.
    public var unseenCount: Int
    /// The number of unread notifications among all on the server.
    public var unreadCount: Int
    /// Whether the server has older notifications.
    public var hasEarlier: Bool
    /// The changes since the loop's previous element.
    public var changes = Changes()
    /// The owner, if known to the client; `nil` after a sign-out.
    package var user: String?

    /// Creates an inbox, for fakes and previews; empty by default.
    public init(
        notifications: [UserNotification] = [], unseenCount: Int = 0, unreadCount: Int = 0, hasEarlier: Bool = false
    ) {
        (self.notifications, self.unseenCount, self.unreadCount) = (notifications, unseenCount, unreadCount)
        self.hasEarlier = hasEarlier
    }

    public subscript(id: String) -> UserNotification? { notifications.first { $0.id == id } }

    /// The same inbox with the changes since a former inbox.
    func changed(since former: NotificationInbox?) -> NotificationInbox {
        var inbox = self
        // Compared by number, because an id may be reused.
        inbox.changes = ListChanges(from: former?.notifications ?? [], to: notifications, by: \.sequence)
        return inbox
    }
}
