import Foundation
import PresenceKit
import PresenceKitTesting
import PresenceMessages

/// A user's notifications in memory, and what was asked for, with the server's rules.
///
/// ```swift
/// let fake = FakeNotifications()
/// let model = NotificationsModel(fake)
/// fake.notify(id: "order-77", kind: "order", title: "Shipped")
/// ```
///
/// While it ``isOffline``, marks are taken and show at once, as from a client; pages fail with `notConnected`.
// @unchecked: `state` is only touched with the lock.
public final class FakeNotifications: @unchecked Sendable {
    /// What was asked of it.
    public enum Call: Hashable, Sendable {
        case markSeen(upTo: Int64?)
        case markRead([Int64])
        case archive([Int64])
        case loadEarlier(Int)
    }

    private struct State {
        /// Oldest first.
        var kept: [UserNotification] = []
        var collapses: [Int64: String] = [:]
        /// Ids that were given up.
        var former: Set<String> = []
        var last: Int64 = 0
        var shown = FakeNotifications.page
        var calls: [Call] = []
        var failures: [any Error] = []
        var isOffline = false
    }

    /// As many are shown at first, and all unseen ones.
    public static let page = 50
    /// As many are kept.
    public static let most = 200
    /// The time that the fake begins at; each notification is a second later.
    public static let beginning = Date(timeIntervalSince1970: 1_763_712_000)

    private let lock = NSLock()
    private var state = State()
    private let feed = Feed(NotificationInbox())

    public init() {}

    // MARK: What the test looks at

    /// What was asked for, in order.
    public var calls: [Call] { lock.withLock { state.calls } }

    // MARK: The script

    /// The backend tells the user something. The same `id` again changes nothing; one with the same `collapse` replaces an
    /// unread one.
    ///
    /// - Returns: the notification; `nil` if the user has had it.
    @discardableResult
    public func notify(
        id: String = UUID().uuidString, kind: String = "news", title: String, body: String? = nil,
        data: JSONValue? = nil, collapse: String? = nil
    ) -> UserNotification? {
        let added: UserNotification? = lock.withLock {
            guard !state.former.contains(id), !state.kept.contains(where: { $0.id == id }) else { return nil }
            if let collapse {
                let replaced = state.kept.filter { !$0.isRead && state.collapses[$0.sequence] == collapse }
                drop(replaced.map(\.sequence))
            }
            state.last += 1
            let added = UserNotification(
                id: id, sequence: state.last, kind: kind, title: title, body: body, data: data,
                timestamp: Self.beginning + TimeInterval(state.last))
            state.kept.append(added)
            state.collapses[state.last] = collapse
            if state.kept.count > Self.most { state.kept.removeFirst() }
            return added
        }
        publish()
        return added
    }

    /// Another device of the user marks; it shows here, too.
    public func mark(seen: Int64 = 0, read: [Int64] = [], archived: [Int64] = []) {
        lock.withLock {
            for place in state.kept.indices {
                if state.kept[place].sequence <= seen { state.kept[place].isSeen = true }
                if read.contains(state.kept[place].sequence) { state.kept[place].isRead = true }
            }
            drop(archived)
        }
        publish()
    }

    /// The next call fails with `error`.
    public func failNext(with error: any Error) { lock.withLock { state.failures.append(error) } }

    /// Whether there is no connection.
    public var isOffline: Bool {
        get { lock.withLock { state.isOffline } }
        set { lock.withLock { state.isOffline = newValue } }
    }

    // MARK: Behind it

    /// With the lock held.
    private func drop(_ sequences: [Int64]) {
        state.former.formUnion(state.kept.filter { sequences.contains($0.sequence) }.map(\.id))
        state.kept.removeAll { sequences.contains($0.sequence) }
    }

    private func publish() {
        let inbox = lock.withLock {
            let unseen = state.kept.count { !$0.isSeen }
            let shown = state.kept.suffix(max(state.shown, unseen)).reversed()
            return NotificationInbox(
                notifications: Array(shown), unseenCount: unseen, unreadCount: state.kept.count { !$0.isRead },
                hasEarlier: state.kept.count > shown.count)
        }
        if feed.value != inbox { feed.send(inbox) }
    }

    private func note(_ call: Call, needsConnection: Bool = false) throws {
        let (error, isOffline) = lock.withLock {
            state.calls.append(call)
            return (state.failures.isEmpty ? nil : state.failures.removeFirst(), state.isOffline)
        }
        if let error { throw error }
        if needsConnection, isOffline { throw PresenceError(.notConnected, "the test is offline") }
    }
}

extension FakeNotifications: NotificationRepository {
    public var inbox: PresenceUpdates<NotificationInbox> { PresenceUpdates(InboxSequence(feed.updates)) }

    public func markSeen(upTo notification: UserNotification?) async throws {
        try note(.markSeen(upTo: notification?.sequence))
        mark(seen: notification?.sequence ?? feed.value?.notifications.first?.sequence ?? 0)
    }

    public func markRead(_ notifications: [UserNotification]) async throws {
        try note(.markRead(notifications.map(\.sequence)))
        mark(read: notifications.map(\.sequence))
    }

    public func archive(_ notifications: [UserNotification]) async throws {
        try note(.archive(notifications.map(\.sequence)))
        mark(archived: notifications.map(\.sequence))
    }

    @discardableResult
    public func loadEarlier(limit: Int) async throws -> Bool {
        try note(.loadEarlier(limit), needsConnection: true)
        lock.withLock { state.shown = min(Self.most, state.shown + limit) }
        publish()
        return feed.value?.hasEarlier ?? false
    }
}
