import PresenceProtocol

/// A bucket for each recent user or address.
///
/// Kept apart from sessions and connections, so that reconnecting does not refill a bucket. Two tables alternate: an
/// entry that was not used for a whole fill time is full, and is dropped with its whole table. So the memory is bounded
/// by the keys used within two fill times, and no search is needed.
package struct Rates<Key: Hashable> {
    package let limit: RateLimit?
    private var current: [Key: TokenBucket] = [:]
    private var previous: [Key: TokenBucket] = [:]
    private var turnsAt: Milliseconds = 0

    package init(_ limit: RateLimit?) { self.limit = limit }

    package var count: Int { current.count + previous.count }

    package func wait(for tokens: Int, by key: Key, at now: Milliseconds) -> Milliseconds? {
        guard let limit, count > 0 else { return nil }
        return bucket(of: key).wait(for: tokens, at: now, limit)
    }

    /// Consumes tokens if they are available, or returns how long until they are.
    package mutating func charge(_ tokens: Int, to key: Key, at now: Milliseconds) -> Milliseconds? {
        guard let limit else { return nil }
        return current[key, default: previous[key] ?? TokenBucket()].charge(tokens, at: now, limit)
    }

    package mutating func consume(_ tokens: Int, by key: Key, at now: Milliseconds) {
        guard let limit else { return }
        var bucket = bucket(of: key)
        bucket.consume(tokens, at: now, limit)
        current[key] = bucket
    }

    /// Undoes a `consume`. A bucket that has refilled meanwhile stays full.
    package mutating func refund(_ tokens: Int, to key: Key) {
        guard let limit, var bucket = current[key] ?? previous[key] else { return }
        bucket.refund(tokens, limit)
        current[key] = bucket
    }

    private func bucket(of key: Key) -> TokenBucket { current[key] ?? previous[key] ?? TokenBucket() }

    /// Drops buckets that are full again.
    package mutating func expire(now: Milliseconds) {
        guard let limit, now >= turnsAt, !current.isEmpty || !previous.isEmpty else { return }
        turnsAt = now + limit.fillTime
        previous = current
        current = [:]
    }
}
