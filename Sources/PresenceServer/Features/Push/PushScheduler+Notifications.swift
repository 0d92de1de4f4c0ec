import Foundation
import PresenceCore
import PresenceProtocol
import Redis

/// Pushes of backends' notifications. `notify.lua` schedules each in the step that stores it, and `push-settle.lua` removes it in
/// the step that offers the push, so there is at most one.
extension PushScheduler {
    /// As for a message that all devices have: the server sends a notification to all sessions, and clients do not mark it delivered.
    func need(
        ofNotification place: PushPlace, _ facts: PushFacts, at time: Timestamp
    ) async throws(RedisFailure) -> PushNeed {
        guard let notification = try await pending(place), facts.settings.kinds[notification.kind]?.push != false
        else { return PushNeed() }
        let (at, isAway) = (notification.at, notification.push != .always)
        // The connection of an active session may be broken and not known to be.
        if isAway, facts.isActive { return PushNeed(wait: Self.rest(of: Self.wait + doubt, since: at, at: time)) }
        let wait = isAway ? Self.rest(of: Self.wait, since: at, at: time) : 0
        return PushNeed(subject: .notification(notification), wait: wait)
    }

    /// The notification whose push is still wanted: `nil` if the user has read, archived or seen it, if another one has taken its place,
    /// or if it has expired.
    private func pending(_ place: PushPlace) async throws(RedisFailure) -> StoredNotification? {
        guard let json = try await reading(of: place), !json.isEmpty,
            let notification = try? JSONDecoder().decode(StoredNotification.self, from: Data(json + [0x7D])),
            isValid(until: notification.expires)
        else { return nil }
        return notification
    }

    /// The same of one whose push waits for its service.
    func isPending(_ place: PushPlace, until end: Timestamp?) async throws(RedisFailure) -> Bool {
        isValid(until: end) ? try await reading(of: place) != nil : false
    }

    private func isValid(until end: Timestamp?) -> Bool { end.map { $0 > shard.clock.redisNow } != false }

    /// A notification as JSON without the last brace, if its push is still wanted; empty if it was for a push alone that was made.
    private func reading(of place: PushPlace) async throws(RedisFailure) -> [UInt8]? {
        guard let seq = place.notification?.seq else { return nil }
        let (configuration, keys) = (shard.configuration, shard.partitions.keys(of: place.user))
        let call = ScriptCall(
            .pushNotification, in: nil, keys.inboxOfNotifications(place.user),
            [
                "seq": seq, "keep": configuration[Notifications.keep], "keepFor": configuration[Notifications.keepFor],
            ])
        guard let reply = try await run(call, of: place.user), reply.word == "OK" else { return nil }
        return reply[0].bytes.map { NotificationItem.readable($0) }
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
