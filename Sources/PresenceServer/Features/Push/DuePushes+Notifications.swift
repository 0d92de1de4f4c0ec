import Foundation
import PresenceCore
import PresenceProtocol
import Redis

/// Pushes of backends' notifications. `notify.lua` notes each in the step that stores it, and `push-settle.lua` removes the note in
/// the step that offers the push, so there is at most one.
extension DuePushes {
    /// As for a message that all devices have: the server sends a notification to all sessions, and clients do not mark it delivered.
    func decision(
        ofNotification place: PushPlace, _ facts: PushFacts, at time: Timestamp
    ) async throws(RedisFailure) -> Decision {
        guard let notification = try await pending(place) else { return ([], 0, 0) }
        let (at, isAway) = (notification.at, notification.push != .always)
        // The connection of an active session may be broken and not known to be.
        if isAway, facts.isActive { return ([], 0, Self.rest(of: Self.wait + doubt, since: at, at: time)) }
        let contents = PushContents(shard: shard, user: place.user)
        let wait = isAway ? Self.rest(of: Self.wait, since: at, at: time) : 0
        return (try await contents.members(notification, at: place), notification.seq, wait)
    }

    /// The notification whose push is still wanted: `nil` if the user has read, archived or seen it, if another one has taken its place,
    /// or if it has expired.
    func pending(_ place: PushPlace) async throws(RedisFailure) -> StoredNotification? {
        guard let seq = place.notification?.seq, let inboxes = shard.feature(Notifications.self)?.inboxes,
            let reply = try await run(inboxes.reading(of: place.user, count: 1, before: seq + 1), of: place.user),
            let reading = NotificationReading(reply), let item = reading.items.first,
            item.seq == seq, !item.isRead, reading.counts.seen < seq,
            let notification = try? JSONDecoder().decode(StoredNotification.self, from: Data(item.object)),
            notification.expires.map({ $0 > shard.clock.redisNow }) != false
        else { return nil }
        return notification
    }
}

/// When a backend's notification is pushed.
enum NotificationPush: String, CaseIterable, Codable {
    case away, always, never
}

/// How urgent a push is, in the words of RFC 8030.
enum PushUrgency: String, CaseIterable, Codable, Sendable {
    case veryLow = "very-low"
    case low, normal, high
}

/// A notification as Redis has it.
struct StoredNotification: Decodable {
    let seq: Int64
    let id: String
    let kind: String
    let title: String
    let body: String?
    let push: NotificationPush?
    let urgency: PushUrgency?
    let expires: Timestamp?
    let at: Timestamp
}

/// The members of a notification that its push has beside the texts.
struct PushedNotification: Codable, Sendable, Equatable {
    let seq: Int64
    let id: String
    let kind: String
    /// The same for all notifications of a user with the same `collapse`.
    let tag: String
    let urgency: PushUrgency?
    let expires: Timestamp?
}
