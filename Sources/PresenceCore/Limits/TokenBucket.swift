import PresenceProtocol

/// A sustained rate, and a burst.
package struct RateLimit: Sendable, Equatable {
    /// The time between two tokens, in ns: whole ms would turn every rate above 500 a second into 1,000.
    let interval: Int64
    /// Tokens in a full bucket.
    let burst: Int64

    /// `nil` for 0 a second: no limit.
    init?(perSecond: Int, burst: Int) {
        guard perSecond > 0 else { return nil }
        interval = 1_000_000_000 / Int64(perSecond)
        self.burst = Int64(burst)
    }

    /// This many tokens an hour, and as many in a burst; `nil` for 0: no limit.
    package init?(perHour: Int64) {
        guard perHour > 0 else { return nil }
        interval = max(1, 3_600_000_000_000 / perHour)
        burst = perHour
    }

    /// One token in this many ms.
    package init(every interval: Milliseconds, burst: Int) {
        self.interval = interval * 1_000_000
        self.burst = Int64(burst)
    }

    /// How long an empty bucket takes to fill, rounded up.
    var fillTime: Milliseconds { interval * burst / 1_000_000 + 1 }
}

/// A token bucket, stored as the time at which it will be full again (the generic cell rate algorithm): refilling costs
/// nothing, and a bucket that was not used for a while equals a new one. 8 bytes.
struct TokenBucket: Equatable {
    /// In ns, on the monotonic clock.
    private var fullAt: Int64 = 0

    /// How long until this many tokens are available; `nil` if they are available now. A request for more than the
    /// capacity waits for a full bucket: every allowed request is possible for a client that waits.
    package func wait(for tokens: Int, at now: Milliseconds, _ limit: RateLimit) -> Milliseconds? {
        let now = now * 1_000_000
        let excess =
            max(fullAt, now) + limit.interval * min(Int64(tokens), limit.burst) - now - limit.interval * limit.burst
        return excess > 0 ? (excess + 999_999) / 1_000_000 : nil
    }

    /// Consumes tokens if they are available, or returns how long until they are.
    mutating func charge(_ tokens: Int, at now: Milliseconds, _ limit: RateLimit) -> Milliseconds? {
        if let wait = wait(for: tokens, at: now, limit) { return wait }
        consume(tokens, at: now, limit)
        return nil
    }

    /// Consumes tokens that are available.
    package mutating func consume(_ tokens: Int, at now: Milliseconds, _ limit: RateLimit) {
        fullAt = max(fullAt, now * 1_000_000) + limit.interval * min(Int64(tokens), limit.burst)
    }

    /// Gives back tokens. A bucket that was full before is full again.
    mutating func refund(_ tokens: Int, _ limit: RateLimit) {
        fullAt -= limit.interval * min(Int64(tokens), limit.burst)
    }
}
