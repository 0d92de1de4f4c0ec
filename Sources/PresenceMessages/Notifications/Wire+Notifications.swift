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

    /// The user's notifications in replies and events: the counts, and the members of each type.
    struct Notified: Decodable {
        var version: Int64
        var unseen: Int
        var unread: Int
        var seen: Int64?
        var first: Int64?
        /// In replies to a subscription or for a page.
        var items: [NotificationItem]?
        /// In a `notification` event.
        var notification: NotificationItem?
        var replaces: [Int64]?
        /// In a `notificationCounts` event.
        var read: [Int64]?
        var archived: [Int64]?
        var kept: [Int64]?
    }

    struct SubscribedToNotifications: Decodable {
        var notifications: Notified?
    }
}

extension Ask {
    /// The request `markNotifications`, also as it is stored.
    struct NotificationMarks: Codable, Hashable, Sendable {
        var seen: Int64?
        var read: [Int64]?
        var archived: [Int64]?

        /// The maximum of numbers in one request.
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
