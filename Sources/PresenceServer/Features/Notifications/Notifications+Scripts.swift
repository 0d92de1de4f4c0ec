import CAssets
import PresenceCore

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
