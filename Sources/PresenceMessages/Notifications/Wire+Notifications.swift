import Foundation

extension Wire {
    struct NotificationItem: Decodable {
        var seq: Int64
        var id: String
        var kind: String
        var title: String?
        var body: String?
        var data: JSONValue?
        var at: Int64
        var read: Bool?
    }

    /// What the server says of the user's notifications, in answers and events: the counts, and what comes with them.
    struct Notified: Decodable {
        var version: Int64
        var unseen: Int
        var unread: Int
        var seen: Int64?
        var first: Int64?
        /// A subscription's and a page's.
        var items: [NotificationItem]?
        /// A `notification` event's.
        var notification: NotificationItem?
        var replaces: [Int64]?
        /// `notificationCounts`.
        var read: [Int64]?
        var archived: [Int64]?
        var kept: [Int64]?
    }

    struct SubscribedToNotifications: Decodable {
        var notifications: Notified?
    }
}

extension Ask {
    struct Notifications: Encodable {
        var notifications = true
    }

    struct NotificationPage: Encodable {
        var before: Int64?
        var limit: Int
    }

    /// `markNotifications`, and what of it is in the storage.
    struct NotificationMarks: Codable, Hashable, Sendable {
        var seen: Int64?
        var read: [Int64]?
        var archived: [Int64]?

        /// As many numbers as one request may have.
        static let most = 1_000
        var count: Int { (read?.count ?? 0) + (archived?.count ?? 0) }

        mutating func add(_ other: NotificationMarks) {
            seen = [seen, other.seen].compactMap(\.self).max()
            if let more = other.read { read = (read ?? []) + more }
            if let more = other.archived { archived = (archived ?? []) + more }
        }
    }
}

extension UserNotification {
    init(_ wire: Wire.NotificationItem) {
        self.init(
            id: wire.id, sequence: wire.seq, kind: wire.kind, title: wire.title ?? "", body: wire.body, data: wire.data,
            timestamp: Date(milliseconds: wire.at), isRead: wire.read ?? false)
    }
}
