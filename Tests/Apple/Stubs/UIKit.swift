// The part of Apple's UIKit that PresenceKit uses, for the type checker.
import Foundation

extension ProcessInfo {
    public func performExpiringActivity(withReason reason: String, using block: @escaping @Sendable (Bool) -> Void) {}
}

@MainActor public class UIApplication {
    public nonisolated static let didEnterBackgroundNotification = Notification.Name("background")
    public nonisolated static let willEnterForegroundNotification = Notification.Name("foreground")
}
