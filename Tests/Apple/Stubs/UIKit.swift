// The part of Apple's UIKit that PresenceKit uses, for the type checker.
import Foundation

@MainActor public class UIApplication {
    public nonisolated static let didEnterBackgroundNotification = Notification.Name("background")
    public nonisolated static let willEnterForegroundNotification = Notification.Name("foreground")
}
