import Foundation

// @unchecked: `tokens` is only touched with the lock, and by `deinit`.
/// Tells when what the device keeps may be readable that was not before: it was unlocked, or the app came to the front. An
/// app that iOS has launched before the first unlock finds no keychain.
final class Unlocks: @unchecked Sendable {
    // By their names, so that no extension needs the application of UIKit. Elsewhere they are never posted.
    static let names = [
        "UIApplicationProtectedDataDidBecomeAvailable", "UIApplicationWillEnterForegroundNotification",
    ].map { Notification.Name($0) }

    private let lock = NSLock()
    private var tokens: [any NSObjectProtocol] = []

    func follow(_ body: @escaping @Sendable () -> Void) {
        let added = Self.names.map {
            NotificationCenter.default.addObserver(forName: $0, object: nil, queue: nil) { _ in body() }
        }
        lock.withLock { tokens += added }
    }

    deinit { for token in tokens { NotificationCenter.default.removeObserver(token) } }
}
