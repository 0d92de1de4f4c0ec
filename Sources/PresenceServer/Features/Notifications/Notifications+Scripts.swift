import CAssets
import PresenceCore
import PresenceProtocol

/// The scripts of this folder's feature.
extension Script {
    private static let notificationLibrary = ScriptLibrary(
        asset_account_lib(), asset_push_lib(), asset_notification_lib())

    private static func notification(_ name: String, _ file: asset) -> Script {
        Script(name, file, library: notificationLibrary, isAcknowledged: true)
    }

    static let notify = notification("notify", asset_notify())
    static let markNotifications = notification("mark-notifications", asset_mark_notifications())
    static let readNotifications = notification("notifications", asset_notifications())

    static let notificationScripts: [Script] = [.notify, .markNotifications, .readNotifications]
}

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
