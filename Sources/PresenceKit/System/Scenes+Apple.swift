// Never run on a device: only compiled against Apple's frameworks.
#if canImport(UIKit) || canImport(AppKit)
    import Foundation
    // iOS has a WatchKit too, but without `WKApplication`.
    #if canImport(WatchKit) && !os(iOS)
        import WatchKit
    #elseif canImport(UIKit)
        import UIKit
    #elseif canImport(AppKit)
        import AppKit
    #endif

    /// Posts when the app enters the background and when it returns to the foreground.
    func followScenes(_ post: @escaping @Sendable (Input) -> Void) -> @Sendable () -> Void {
        let center = NotificationCenter.default
        let names: (background: Notification.Name, foreground: Notification.Name)
        #if canImport(WatchKit) && !os(iOS)
            names = (
                WKApplication.didEnterBackgroundNotification, WKApplication.willEnterForegroundNotification
            )
        #elseif canImport(UIKit)
            names = (
                UIApplication.didEnterBackgroundNotification, UIApplication.willEnterForegroundNotification
            )
        #else
            names = (NSApplication.didHideNotification, NSApplication.didUnhideNotification)
        #endif
        // Unsafe: the tokens are not Sendable. They are only passed back to the center, once.
        nonisolated(unsafe) let tokens = [
            center.addObserver(forName: names.background, object: nil, queue: nil) { _ in post(.background) },
            center.addObserver(forName: names.foreground, object: nil, queue: nil) { _ in post(.foreground) },
        ]
        return { for token in tokens { NotificationCenter.default.removeObserver(token) } }
    }
#endif
