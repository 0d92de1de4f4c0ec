import PresenceProtocol

/// How fast something may be done for long, and how much of it at once.
package struct RateLimit: Sendable, Equatable {
    /// Between two tokens, in ns: whole ms would make every rate above 500 a second one of 1,000.
    let interval: Int64
    /// Tokens in a full bucket.
    let burst: Int64

    /// `nil` for 0 a second: no limit.
    init?(perSecond: Int, burst: Int) {
        guard perSecond > 0 else { return nil }
        interval = 1_000_000_000 / Int64(perSecond)
        self.burst = Int64(burst)
    }

    /// So many tokens an hour, and as many at once; `nil` for 0: no limit.
    package init?(perHour: Int64) {
        guard perHour > 0 else { return nil }
        interval = max(1, 3_600_000_000_000 / perHour)
        burst = perHour
    }

    /// One token in so many ms.
    package init(every interval: Milliseconds, burst: Int) {
        self.interval = interval * 1_000_000
        self.burst = Int64(burst)
    }

    /// How long an empty bucket takes to fill, rounded up.
    var fillTime: Milliseconds { interval * burst / 1_000_000 + 1 }
}

/// A token bucket, kept as the time at which it will be full again (the generic cell rate algorithm): filling it costs
/// nothing, and one that nobody has taken from for a while is the same as a new one. 8 bytes.
struct TokenBucket: Equatable {
    /// In ns, on the monotonic clock.
    private var fullAt: Int64 = 0

    /// How long until so many tokens are there; `nil` if they are there now. More than fit count as a full bucket:
    /// whatever may be asked for at all is possible to a client that waits.
    package func wait(for tokens: Int, at now: Milliseconds, _ limit: RateLimit) -> Milliseconds? {
        let now = now * 1_000_000
        let excess =
            max(fullAt, now) + limit.interval * min(Int64(tokens), limit.burst) - now - limit.interval * limit.burst
        return excess > 0 ? (excess + 999_999) / 1_000_000 : nil
    }

    /// Takes tokens that are there, or tells how long until they are.
    mutating func charge(_ tokens: Int, at now: Milliseconds, _ limit: RateLimit) -> Milliseconds? {
        if let wait = wait(for: tokens, at: now, limit) { return wait }
        take(tokens, at: now, limit)
        return nil
    }

    /// Takes tokens that are there.
    package mutating func take(_ tokens: Int, at now: Milliseconds, _ limit: RateLimit) {
        fullAt = max(fullAt, now * 1_000_000) + limit.interval * min(Int64(tokens), limit.burst)
    }

    /// Puts tokens back that were taken. One that was full before is full again.
    mutating func giveBack(_ tokens: Int, _ limit: RateLimit) {
        fullAt -= limit.interval * min(Int64(tokens), limit.burst)
    }
}
