import Foundation

// @unchecked: `tokens` is only touched with the lock, and by `deinit`.
/// Notifies when stored data may have become readable, because the device was unlocked or the app came to the
/// foreground. An app that iOS launched before the first unlock cannot read the keychain.
final class Unlocks: @unchecked Sendable {
    // By name, so that extensions need no `UIApplication`. On other systems they are never posted.
    static let names = [
        "UIApplicationProtectedDataDidBecomeAvailable", "UIApplicationWillEnterForegroundNotification",
    ].map { Notification.Name($0) }

    private let lock = NSLock()
    private var tokens: [any NSObjectProtocol] = []

    func observe(_ body: @escaping @Sendable () -> Void) {
        let added = Self.names.map {
            NotificationCenter.default.addObserver(forName: $0, object: nil, queue: nil) { _ in body() }
        }
        lock.withLock { tokens += added }
    }

    deinit { for token in tokens { NotificationCenter.default.removeObserver(token) } }
}
