import PresenceKit

/// The user's notifications, as an app's views and tests need them: ``PresenceNotifications``, or a fake.
public protocol NotificationRepository: Sendable {
    /// See ``PresenceNotifications/inbox``.
    var inbox: PresenceUpdates<NotificationInbox> { get }
    /// See ``PresenceNotifications/markSeen(upTo:)``.
    func markSeen(upTo notification: UserNotification?) async throws
    /// Notes that the user has read notifications: see ``PresenceNotifications/markRead(_:)``.
    func markRead(_ notifications: [UserNotification]) async throws
    /// Puts notifications away on all devices: see ``PresenceNotifications/archive(_:)``.
    func archive(_ notifications: [UserNotification]) async throws
    /// See ``PresenceNotifications/loadEarlier(limit:)``.
    @discardableResult
    func loadEarlier(limit: Int) async throws -> Bool
}

extension PresenceNotifications: NotificationRepository {}
