import PresenceCore
import PresenceProtocol

extension KeyFamily {
    /// A user's notifications. They expire with the newest.
    static let notifications = KeyFamily(name: "notifications", isPassing: false, type: "hash")
    /// Numbers that outlive them: a seq is given once.
    static let notificationMarks = KeyFamily(name: "notificationMarks", isPassing: false, type: "hash")
}

extension PartitionKeys {
    func notifications(_ id: UserID) -> String { key(.notifications, id) }
    func notificationMarks(_ id: UserID) -> String { key(.notificationMarks, id) }
    /// Both, as scripts name them.
    func inboxOfNotifications(_ id: UserID) -> KeyValuePairs<StaticString, String> {
        ["notifications": notifications(id), "notificationMarks": notificationMarks(id)]
    }
}
