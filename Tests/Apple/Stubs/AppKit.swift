// The part of Apple's AppKit that PresenceKit uses, for the type checker.
import Foundation

@MainActor public class NSApplication {
    public nonisolated static let didHideNotification = Notification.Name("hide")
    public nonisolated static let didUnhideNotification = Notification.Name("unhide")
}
