// Never run on a device: only compiled against Apple's frameworks.
#if canImport(UIKit) || canImport(AppKit)
    import Foundation
    #if canImport(UIKit)
        import UIKit
    #elseif canImport(AppKit)
        import AppKit
    #endif

    /// Posts when the app enters the background and when it returns to the foreground.
    func observeScenes(
        _ post: @escaping @Sendable (Input) -> Void, _ isBusy: @escaping @Sendable () async -> Bool
    ) -> @Sendable () -> Void {
        let center = NotificationCenter.default
        let names: (background: Notification.Name, foreground: Notification.Name)
        #if canImport(UIKit)
            names = (
                UIApplication.didEnterBackgroundNotification, UIApplication.willEnterForegroundNotification
            )
        #else
            names = (NSApplication.didHideNotification, NSApplication.didUnhideNotification)
        #endif
        // Unsafe: the tokens are not Sendable. They are only passed back to the center.
        nonisolated(unsafe) let tokens = [
            center.addObserver(forName: names.background, object: nil, queue: nil) { _ in
                post(.background)
                #if canImport(UIKit)
                    finishInBackground(while: isBusy)
                #endif
            },
            center.addObserver(forName: names.foreground, object: nil, queue: nil) { _ in post(.foreground) },
        ]
        return { for token in tokens { NotificationCenter.default.removeObserver(token) } }
    }

    #if canImport(UIKit)
        /// Asks the system to let the app finish what it began, such as a message sent just before. Unlike a background
        /// task of `UIApplication`, this is there for extensions, too.
        private func finishInBackground(while isBusy: @escaping @Sendable () async -> Bool) {
            let isDone = DispatchSemaphore(value: 0)
            // The system calls the closure on a queue of its own. When the time has expired, it calls the closure
            // again, at the same time as the first call. It may suspend the app once both calls have returned.
            ProcessInfo.processInfo.performExpiringActivity(withReason: "presence") { isExpired in
                if isExpired {
                    isDone.signal()
                    return
                }
                let waiting = Task {
                    // Between two messages of a conversation the client is idle for a moment.
                    var idle = 0
                    while idle < 2, !Task.isCancelled {
                        idle = await isBusy() ? 0 : idle + 1
                        try? await Task.sleep(for: .milliseconds(250))
                    }
                    isDone.signal()
                }
                _ = isDone.wait(timeout: .now() + longestFinish)
                waiting.cancel()
            }
        }

        /// In seconds. The system gives some 30 s to all of the app together.
        private let longestFinish = 20.0
    #endif
#endif
