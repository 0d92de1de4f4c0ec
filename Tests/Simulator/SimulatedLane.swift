import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer

/// One of a simulated shard's connections for commands, with its pending commands.
struct SimulatedLane {
    var isUp = false
    /// Grows when the connection breaks: commands for an earlier connection are dropped.
    var number = 0
    /// Not answered yet, in order.
    var pending: [Command] = []
    var lastArrival: Milliseconds = 0
    var lastReply: Milliseconds = 0
    /// Nothing arrives at Redis before.
    var heldUntil: Milliseconds = 0
    /// No answer arrives before this time.
    var repliesHeldUntil: Milliseconds = 0

    final class Command {
        let sentAt: Milliseconds
        /// The Redis process to which it was sent, of those that follow each other.
        let life: Int
        let reply: StoreReply
        let run: (World) -> Result<RedisValue, RedisFailure>
        /// It has reached Redis.
        var hasArrived = false
        /// Whether it will never arrive.
        var isLost = false
        /// Whether its sender knows the outcome.
        var isSettled = false

        init(
            sentAt: Milliseconds, life: Int, reply: @escaping StoreReply,
            run: @escaping (World) -> Result<RedisValue, RedisFailure>
        ) {
            self.sentAt = sentAt
            self.life = life
            self.reply = reply
            self.run = run
        }
    }

    /// The connection breaks: the first few commands on their way still arrive. Returns the unanswered ones.
    mutating func breakDown(arriving: (Int) -> Int) -> [Command] {
        number += 1
        isUp = false
        // A new connection is independent of the old one's delayed commands.
        heldUntil = 0
        repliesHeldUntil = 0
        lastArrival = 0
        lastReply = 0
        let unanswered = pending
        pending = []
        let onTheirWay = unanswered.filter { !$0.hasArrived }
        for command in onTheirWay.dropFirst(arriving(onTheirWay.count)) { command.isLost = true }
        for command in unanswered { command.isSettled = true }
        return unanswered
    }
}
