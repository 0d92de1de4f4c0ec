import Foundation
import PresenceKit
import PresenceMessages

// @unchecked: `state` is only touched with the lock.
/// A user's notifications in memory, and a record of the calls, with the server's rules.
///
/// ```swift
/// let fake = FakeNotifications()
/// let model = NotificationsModel(fake)
/// fake.notify(id: "order-77", kind: "order", title: "Shipped")
/// ```
///
/// While it ``isOffline``, marks are accepted and show at once, as from a client; pages fail with `notConnected`.
/// Changes by the backend and other devices show with the next connection.
public final class FakeNotifications: @unchecked Sendable {
    /// A call of the fake.
    public enum Call: Hashable, Sendable {
        case markSeen(upTo: Int64?)
        case markRead([Int64])
        case archive([Int64])
        case loadEarlier(Int)
    }

    /// The number of notifications shown at first, in addition to all unseen ones.
    public static let page = 50
    /// The number of notifications that the server stores.
    public static let most = 200
    /// The fake's start time; each notification is one second later.
    public static let beginning = Date(timeIntervalSince1970: 1_763_712_000)

    private let lock = NSLock()
    private var state = State()
    private let feed = Feed(NotificationInbox())

    /// Creates a fake without notifications.
    public init() {}

    // MARK: For assertions

    /// All calls, in order.
    public var calls: [Call] { lock.withLock { state.calls } }

    // MARK: The script

    /// The backend notifies the user. A repeated `id` changes nothing; a notification replaces an unread one with the
    /// same `collapse`.
    ///
    /// - Returns: the notification; `nil` if its `id` was used before.
    @discardableResult
    public func notify(
        id: String = UUID().uuidString, kind: String = "news", title: String, body: String? = nil,
        data: JSONValue? = nil, collapse: String? = nil
    ) -> UserNotification? {
        let added: UserNotification? = lock.withLock {
            guard !state.former.contains(id), !state.kept.contains(where: { $0.id == id }) else { return nil }
            if let collapse {
                let replaced = state.kept.filter { !$0.isRead && state.collapses[$0.sequence] == collapse }
                state.drop(replaced.map(\.sequence))
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

    /// Another device of the user sets marks, which show here, too.
    public func mark(seen: Int64 = 0, read: [Int64] = [], archived: [Int64] = []) {
        lock.withLock { state.mark(seen: seen, read: read, archived: archived, isOwn: false) }
        publish()
    }

    /// Makes the next call fail with `error`. A mark that fails with `storageFailed` shows for a moment, as from a
    /// client.
    public func failNext(with error: any Error) { lock.withLock { state.failures.append(error) } }

    /// Whether there is no connection.
    public var isOffline: Bool {
        get { lock.withLock { state.isOffline } }
        set {
            lock.withLock {
                guard newValue != state.isOffline else { return }
                state.offline = newValue ? state.kept : nil
                if !newValue { state.subscribe() }
            }
            publish()
        }
    }

    // MARK: Implementation

    private func publish() {
        let inbox = lock.withLock {
            if !state.isFollowed { state.subscribe() }
            return state.inbox
        }
        if feed.value != inbox { feed.send(inbox) }
    }

    private func record(_ call: Call, needsConnection: Bool = false) throws {
        let (error, isOffline) = lock.withLock {
            state.calls.append(call)
            return (state.failures.isEmpty ? nil : state.failures.removeFirst(), state.isOffline)
        }
        if let error { throw error }
        if needsConnection, isOffline { throw PresenceError(.notConnected, "the test is offline") }
    }

    /// The user's own marks.
    private func mark(_ call: Call, seen: Int64 = 0, read: [Int64] = [], archived: [Int64] = []) async throws {
        do {
            try record(call)
        } catch {
            if (error as? PresenceError)?.code == .storageFailed {
                var marked = lock.withLock { state }
                marked.mark(seen: seen, read: read, archived: archived, isOwn: true)
                if marked.inbox != feed.value { feed.send(marked.inbox) }
                await Task.yield()
                publish()
            }
            throw error
        }
        lock.withLock { state.mark(seen: seen, read: read, archived: archived, isOwn: true) }
        publish()
    }
}

extension FakeNotifications: NotificationRepository {
    public var inbox: PresenceUpdates<NotificationInbox> {
        lock.withLock { state.isFollowed = true }
        return NotificationInbox.updates(feed.updates)
    }

    public func markSeen(upTo notification: UserNotification?) async throws {
        let last = notification?.sequence ?? feed.value?.notifications.first?.sequence ?? 0
        try await mark(.markSeen(upTo: notification?.sequence), seen: last)
    }

    public func markRead(_ notifications: [UserNotification]) async throws {
        try await mark(.markRead(notifications.map(\.sequence)), read: notifications.map(\.sequence))
    }

    public func archive(_ notifications: [UserNotification]) async throws {
        try await mark(.archive(notifications.map(\.sequence)), archived: notifications.map(\.sequence))
    }

    @discardableResult
    public func loadEarlier(limit: Int) async throws -> Bool {
        try record(.loadEarlier(limit), needsConnection: true)
        lock.withLock { state.showEarlier(limit) }
        publish()
        return feed.value?.hasEarlier ?? false
    }
}

private struct State {
    /// The notifications on the server, oldest first.
    var kept: [UserNotification] = []
    /// The client's values when the connection was lost, with its own later marks.
    var offline: [UserNotification]?
    var collapses: [Int64: String] = [:]
    /// Ids of removed notifications.
    var former: Set<String> = []
    var last: Int64 = 0
    /// The oldest notification shown.
    var lowest: Int64 = 1
    /// Whether a loop has begun. From then on, shown notifications stay.
    var isFollowed = false
    var calls: [FakeNotifications.Call] = []
    var failures: [any Error] = []
    var isOffline: Bool { offline != nil }

    /// Shows the newest page and all unseen notifications.
    mutating func subscribe() {
        lowest = kept.suffix(max(FakeNotifications.page, kept.count { !$0.isSeen })).first?.sequence ?? last + 1
    }

    mutating func showEarlier(_ limit: Int) {
        lowest = kept.filter { $0.sequence < lowest }.suffix(limit).first?.sequence ?? lowest
    }

    mutating func drop(_ sequences: [Int64]) {
        former.formUnion(kept.filter { sequences.contains($0.sequence) }.map(\.id))
        kept.removeAll { sequences.contains($0.sequence) }
    }

    mutating func mark(seen: Int64, read: [Int64], archived: [Int64], isOwn: Bool) {
        drop(archived)
        Self.mark(&kept, seen, read)
        guard isOwn, offline != nil else { return }
        offline!.removeAll { archived.contains($0.sequence) }
        Self.mark(&offline!, seen, read)
    }

    private static func mark(_ notifications: inout [UserNotification], _ seen: Int64, _ read: [Int64]) {
        for place in notifications.indices {
            if notifications[place].sequence <= seen { notifications[place].isSeen = true }
            if read.contains(notifications[place].sequence) { notifications[place].isRead = true }
        }
    }

    var inbox: NotificationInbox {
        let known = offline ?? kept
        return NotificationInbox(
            notifications: known.filter { $0.sequence >= lowest }.reversed(),
            unseenCount: known.count { !$0.isSeen }, unreadCount: known.count { !$0.isRead },
            hasEarlier: known.contains { $0.sequence < lowest })
    }
}
