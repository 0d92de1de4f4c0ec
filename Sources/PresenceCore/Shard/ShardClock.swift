import PresenceProtocol

/// A shard's time: set from outside at every input, never read from the host.
package final class ShardClock {
    /// The loop's monotonic clock, read once a turn. The shard measures all durations with it.
    package private(set) var now: Milliseconds
    /// Called when the loop stood still for this many ms.
    var onPause: (Milliseconds) -> Void = { _ in }

    /// A running loop wakes four times in this time.
    private static let pause: Milliseconds = 4 * ShardLogic.longestSleep
    /// How far Redis' clock is ahead of this one; in a cluster, the clock of the leases' master. A reply that took
    /// long, or waited here, gives a smaller value, so the largest of the recent values is used.
    private(set) var redisOffset: Milliseconds?
    private var offsets: [Milliseconds] = []
    private static let mostOffsets = 8
    /// Both clocks are read in whole ms.
    private static let rounding: Milliseconds = 2

    init(now: Milliseconds) { self.now = now }

    /// Called before every input, and at the end of every turn.
    func advance(to time: Milliseconds) {
        let gap = time - now
        now = time
        if gap > Self.pause { onPause(gap) }
    }

    /// An estimate of Redis' time: for what clients receive, never for decisions.
    package var redisNow: Timestamp { now + (redisOffset ?? 0) }

    /// - Parameters:
    ///   - redisTime: The time in a reply that has just arrived.
    ///   - sentAt: When the request was sent, on this clock. If Redis' time is before that, Redis' clock was set back,
    ///     which
    ///   counts at once. `nil` if unknown: then the reply can only show that Redis' clock is further ahead.
    func learn(redisTime: Timestamp, sentAt: Milliseconds? = nil) {
        let offset = redisTime - now
        if let known = redisOffset {
            guard let sentAt else {
                if offset > known { add(offset) }
                return
            }
            if redisTime - sentAt + Self.rounding < known { offsets = [] }
        }
        add(offset)
    }

    private func add(_ offset: Milliseconds) {
        if offsets.count == Self.mostOffsets { offsets.removeFirst() }
        offsets.append(offset)
        redisOffset = offsets.max()
    }
}
