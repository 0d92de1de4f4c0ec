import PresenceKit

/// The user's notifications, for an app's views and tests: ``PresenceNotifications`` or a fake.
public protocol NotificationRepository: Sendable {
    /// See ``PresenceNotifications/inbox``.
    var inbox: PresenceUpdates<NotificationInbox> { get }
    /// See ``PresenceNotifications/markSeen(upTo:)``.
    func markSeen(upTo notification: UserNotification?) async throws
    /// Marks notifications as read: see ``PresenceNotifications/markRead(_:)``.
    func markRead(_ notifications: [UserNotification]) async throws
    /// Archives notifications on all devices: see ``PresenceNotifications/archive(_:)``.
    func archive(_ notifications: [UserNotification]) async throws
    /// See ``PresenceNotifications/loadEarlier(limit:)``.
    @discardableResult
    func loadEarlier(limit: Int) async throws -> Bool
}

extension PresenceNotifications: NotificationRepository {}
