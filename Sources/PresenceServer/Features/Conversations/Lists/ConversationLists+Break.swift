import PresenceCore
import PresenceProtocol
import Redis

/// Changes that watchers of lists receive after a break.
extension ConversationLists {
    func lost() { if lostAt == nil { lostAt = (shard.clock.redisNow, shard.clock.now) } }

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
        lostAt = nil
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
