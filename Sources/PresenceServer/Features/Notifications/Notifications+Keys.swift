import PresenceCore
import PresenceProtocol

extension KeyFamily {
    /// What a user was notified of. It expires with the newest of it.
    static let notifications = KeyFamily(name: "notifications", isPassing: false, type: "hash")
    /// Numbers that outlive it: a seq is given once.
    static let notificationMarks = KeyFamily(name: "notificationMarks", isPassing: false, type: "hash")
}

extension PartitionKeys {
    func notifications(_ id: UserID) -> String { key(.notifications, id) }
    func notificationMarks(_ id: UserID) -> String { key(.notificationMarks, id) }
}
