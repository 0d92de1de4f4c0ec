import PresenceCore
import PresenceProtocol

extension KeyFamily {
    /// A user's notifications. They expire together with the newest one.
    static let notifications = KeyFamily(name: "notifications", isPassing: false, type: "hash")
    /// Numbers that outlive the notifications: each seq is assigned once.
    static let notificationMarks = KeyFamily(name: "notificationMarks", isPassing: false, type: "hash")
}

extension PartitionKeys {
    func notifications(_ id: UserID) -> String { key(.notifications, id) }
    func notificationMarks(_ id: UserID) -> String { key(.notificationMarks, id) }
    /// The keys of both, by the names that scripts use.
    func inboxOfNotifications(_ id: UserID) -> KeyValuePairs<StaticString, String> {
        ["notifications": notifications(id), "notificationMarks": notificationMarks(id)]
    }
}
