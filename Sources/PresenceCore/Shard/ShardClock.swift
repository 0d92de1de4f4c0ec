import PresenceProtocol

/// What time it is for a shard: told from outside at every input, never asked of the host.
package final class ShardClock {
    /// The loop's monotonic clock, read once a turn. Everything that a shard measures itself is measured on it.
    package private(set) var now: Milliseconds
    /// The loop stood still for so many ms.
    var onPause: (Milliseconds) -> Void = { _ in }

    /// A loop that is not stopped wakes four times in this.
    private static let pause: Milliseconds = 4 * ShardLogic.longestSleep
    /// How far Redis' clock is ahead of ours; in a cluster, that of the leases' master. An answer that took long, or waited here,
    /// makes it look less, so the largest of the newest ones counts.
    private(set) var redisOffset: Milliseconds?
    private var offsets: [Milliseconds] = []
    private static let mostOffsets = 8
    /// Both clocks are read in whole ms.
    private static let rounding: Milliseconds = 2

    init(now: Milliseconds) { self.now = now }

    /// Before every input, and at the end of every turn.
    func advance(to time: Milliseconds) {
        let gap = time - now
        now = time
        if gap > Self.pause { onPause(gap) }
    }

    /// Redis' time as well as we know it: for what clients are told, never for what is decided.
    package var redisNow: Timestamp { now + (redisOffset ?? 0) }

    /// - Parameters:
    ///   - redisTime: As an answer says that has just come.
    ///   - sentAt: When it was asked for, on our clock. If Redis' time is before that, its clock has gone back, which counts at
    ///     once. `nil`: not known; then it shows only that Redis' clock is further ahead.
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
