import PresenceProtocol

/// What time it is for a shard: told from outside at every input, never asked of the host.
package final class ShardClock {
    /// The loop's monotonic clock, read once a turn. Everything that a shard measures itself is measured on it.
    package private(set) var now: Milliseconds
    /// The loop stood still for so many ms.
    var onPause: (Milliseconds) -> Void = { _ in }

    /// A loop that is not stopped wakes four times in this.
    private static let pause: Milliseconds = 4 * ShardLogic.longestSleep
    /// How far Redis' clock is ahead of ours, as of its last answer; in a cluster, that of the leases' master.
    private(set) var redisOffset: Milliseconds?

    init(now: Milliseconds) { self.now = now }

    /// Before every input, and at the end of every turn.
    func advance(to time: Milliseconds) {
        let gap = time - now
        now = time
        if gap > Self.pause { onPause(gap) }
    }

    /// Redis' time as well as we know it: for what clients are told, never for what is decided.
    package var redisNow: Timestamp { now + (redisOffset ?? 0) }

    func learn(redisTime: Timestamp) { redisOffset = redisTime - now }
}
