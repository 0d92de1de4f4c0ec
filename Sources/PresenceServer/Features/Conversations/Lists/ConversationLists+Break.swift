import PresenceCore
import PresenceProtocol
import Redis

/// Changes that watchers of lists receive after a break.
extension ConversationLists {
    func lost() { if lostAt == nil { lostAt = (shard.clock.redisNow, shard.clock.now) } }

    /// Until the shard is live, another break may follow, and the lists are read once more: all changes since the first
    /// loss are sent then.
    func live() { lostAt = nil }

    /// The version from which on events may be missing. Versions follow Redis' clock, which may have gone back since.
    private var missedSince: Timestamp {
        let (now, redisNow) = (shard.clock.now, shard.clock.redisNow)
        guard let lostAt else { return redisNow - Self.margin }
        return min(lostAt.redis, redisNow - (now - lostAt.own)) - Self.margin
    }

    /// Sends all changes since the break. A client that may have missed more is disconnected, and reconnects with the
    /// versions that it has.
    func readAgain() async throws(RedisFailure) {
        let since = missedSince
        try await shard.tasks.each(users.ids, window: 16) { [self] (user) throws(RedisFailure) in
            try await reload(user, since: since)
        }
    }

    private func reload(_ user: UserID, since: Timestamp) async throws(RedisFailure) {
        let inbox: ConversationReading.Inbox
        do throws(RedisFailure) {
            inbox = try await reading.inbox(of: user)
        } catch  where error.isLasting {
            // A damaged inbox must not keep the whole shard stale.
            return dismiss(users[user] ?? [])
        }
        if inbox.dropped >= since { dismiss(users[user] ?? []) }
        for (id, version) in inbox.left where version >= since {
            notify(user, id, version, Self.frame(ConversationRecord.removed(id, version: version), at: version))
        }
        let records = try await reading.read(inbox.conversations, of: user).records
        let now = shard.clock.redisNow
        for record in records where record.version(for: user, at: now) >= since {
            for subscriber in users[user] ?? [] { show(record, to: subscriber) }
        }
        let gone = Set(inbox.conversations).subtracting(records.map(\.id)).sorted()
        if !gone.isEmpty, let watching = users[user] {
            shard.tasks.run { [self] in await notifyRemoved(gone, to: watching) }
        }
    }
}

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
