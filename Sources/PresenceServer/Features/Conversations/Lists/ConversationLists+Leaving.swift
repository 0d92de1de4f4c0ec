import PresenceCore
import PresenceProtocol
import Redis

/// Watchers who were removed from a conversation and missed the event.
extension ConversationLists {
    func notifyRemoved(_ id: ConversationID, at version: Int64, to subscribers: [Subscriber]) {
        let frame = Self.frame(ConversationRecord.removed(id, version: version), at: version)
        for subscriber in subscribers where !subscriber.connection.isClosed {
            keep(id, version, frame, for: subscriber)
        }
    }

    /// Takes the version from the conversation, because the inbox does not have it yet (`Joining`). All the subscribers
    /// belong to one user.
    func readLeaving(_ id: ConversationID, for subscribers: [Subscriber]) async {
        let user = subscribers[0].user
        let key = shard.partitions.keys(of: id).conversation(id)
        do throws(RedisFailure) {
            let answer = try await shard.command(["HMGET", key, "m:" + user.string, "j:" + user.string])
            let fields = answer.array?.map(\.string) ?? []
            // A user who is a member again receives the event of having been added.
            guard fields.count == 2, fields[0] == nil else { return }
            // If the conversation has no version for the user, the inbox has been updated since it was read.
            var version = fields[1].flatMap { Int64($0) }
            if version == nil { version = try await reading.inbox(of: user).leaving(id) }
            if let version { notifyRemoved(id, at: version, to: subscribers) }
        } catch {
            if !error.isLasting { postpone([id], for: subscribers) }
        }
    }
}
