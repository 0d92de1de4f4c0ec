import PresenceCore
import PresenceProtocol
import Redis

/// What watchers of lists are told after a break.
extension ConversationLists {
    func lost() { if lostAt == nil { lostAt = (shard.clock.redisNow, shard.clock.now) } }

    /// Since when something may have been missed, in versions: they follow Redis' clock, which may have gone back meanwhile.
    private var missedSince: Timestamp {
        let (now, redisNow) = (shard.clock.now, shard.clock.redisNow)
        guard let lostAt else { return redisNow - Self.margin }
        return min(lostAt.redis, redisNow - (now - lostAt.own)) - Self.margin
    }

    /// What is newer than the break is told. A client that may have missed more comes back, and says what it knows.
    func reload(done: @escaping (RedisFailure?) -> Void) {
        let since = missedSince
        var failure: RedisFailure?
        BoundedConcurrency(Array(users.keys), window: 16) { [self] user, next in
            guard failure == nil else { return next() }
            reload(user, since: since) {
                failure = failure ?? $0
                next()
            }
        } done: { [self] in
            if failure == nil { lostAt = nil }
            done(failure)
        }
    }

    private func reload(_ user: UserID, since: Timestamp, done: @escaping (RedisFailure?) -> Void) {
        reading.inbox(of: user) { [self] result in
            guard case .success(let inbox) = result else {
                guard let failure = result.failure, failure.isLasting else { return done(result.failure) }
                // A damaged inbox must not keep everything else stale.
                dismiss(users[user] ?? [])
                return done(nil)
            }
            if inbox.dropped >= since { dismiss(users[user] ?? []) }
            for (id, version) in inbox.left where version >= since {
                tell(user, id, version, Self.frame(ConversationRecord.removed(id, version: version), at: version))
            }
            reading.read(inbox.conversations, of: user) { [self] result in
                let (now, records) = (shard.clock.redisNow, (try? result.get())?.records ?? [])
                for record in records where record.version(for: user, at: now) >= since {
                    for subscriber in users[user] ?? [] { show(record, to: subscriber) }
                }
                let gone = Set(inbox.conversations).subtracting(records.map(\.id)).sorted()
                if result.failure == nil, !gone.isEmpty, let watching = users[user] { tellRemoved(gone, to: watching) }
                done(result.failure)
            }
        }
    }
}
