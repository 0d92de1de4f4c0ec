import PresenceProtocol

/// A bucket for each user who has asked for something lately on this shard.
///
/// Kept apart from the users' sessions, so that whoever leaves and comes back finds the bucket as they left it. Two
/// tables take turns: an entry that a whole filling time has passed over is full, and its table is dropped with all the
/// others in it. So what is kept is bounded by who asks within two filling times, and nothing is ever searched.
struct UserRates {
    let limit: RateLimit?
    private var current: [UserID: TokenBucket] = [:]
    private var previous: [UserID: TokenBucket] = [:]
    private var turnsAt: Milliseconds = 0

    init(_ limit: RateLimit?) { self.limit = limit }

    var count: Int { current.count + previous.count }

    func wait(for tokens: Int, by user: UserID, at now: Milliseconds) -> Milliseconds? {
        guard let limit else { return nil }
        return bucket(of: user).wait(for: tokens, at: now, limit)
    }

    mutating func take(_ tokens: Int, by user: UserID, at now: Milliseconds) {
        guard let limit else { return }
        var bucket = bucket(of: user)
        bucket.take(tokens, at: now, limit)
        current[user] = bucket
    }

    private func bucket(of user: UserID) -> TokenBucket { current[user] ?? previous[user] ?? TokenBucket() }

    /// Forgets whose bucket is full again.
    mutating func expire(now: Milliseconds) {
        guard let limit, now >= turnsAt, !current.isEmpty || !previous.isEmpty else { return }
        turnsAt = now + limit.fillTime
        previous = current
        current = [:]
    }
}
