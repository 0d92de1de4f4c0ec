import PresenceProtocol

/// A bucket for each user, or each address, that has taken something lately.
///
/// Kept apart from sessions and connections, so that leaving and coming back fills no bucket. Two tables take turns: an
/// entry that a whole filling time has passed over is full, and its table is dropped with all the others in it. So what
/// is kept is bounded by the keys used within two filling times, and nothing is ever searched.
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

    /// Takes tokens that are there, or tells how long until they are.
    package mutating func charge(_ tokens: Int, to key: Key, at now: Milliseconds) -> Milliseconds? {
        guard let limit else { return nil }
        return current[key, default: previous[key] ?? TokenBucket()].charge(tokens, at: now, limit)
    }

    package mutating func take(_ tokens: Int, by key: Key, at now: Milliseconds) {
        guard let limit else { return }
        var bucket = bucket(of: key)
        bucket.take(tokens, at: now, limit)
        current[key] = bucket
    }

    /// Undoes a `take`. A bucket that is full again meanwhile stays so.
    package mutating func giveBack(_ tokens: Int, to key: Key) {
        guard let limit, var bucket = current[key] ?? previous[key] else { return }
        bucket.giveBack(tokens, limit)
        current[key] = bucket
    }

    private func bucket(of key: Key) -> TokenBucket { current[key] ?? previous[key] ?? TokenBucket() }

    /// Forgets buckets full again.
    package mutating func expire(now: Milliseconds) {
        guard let limit, now >= turnsAt, !current.isEmpty || !previous.isEmpty else { return }
        turnsAt = now + limit.fillTime
        previous = current
        current = [:]
    }
}
