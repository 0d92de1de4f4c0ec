// The part of Apple's WatchKit that PresenceKit uses, for the type checker.
import Foundation

@MainActor public class WKApplication {
    public nonisolated static let didEnterBackgroundNotification = Notification.Name("background")
    public nonisolated static let willEnterForegroundNotification = Notification.Name("foreground")
}
