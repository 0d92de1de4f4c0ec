import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

@Suite struct LeaseTests {
    /// Redis counts from when it renews, which nobody else knows. Counted from its answer, a shard would hold itself for alive
    /// while others may already end its sessions.
    @Test func `a lease counts from when its renewal was sent, however late the answer comes`() throws {
        let world = try World(shards: 2)
        let shard = world.shards[0]
        let link: ShardMembership = shard.logic.link
        let incarnation = link.incarnation
        // By the shard's own clock. The answer is late; but not so late that the connection is given up.
        let delay = world.configuration.commandTimeout / 2
        var (renewedAt, before): (Milliseconds?, Milliseconds) = (nil, 0)
        world.redis.runs = { script, arguments in
            guard script == .renew, arguments.contains(incarnation), renewedAt == nil else { return }
            (renewedAt, before) = (shard.logic.clock.now, link.lastRenewal)
            shard.holdReplies(.lease, for: delay)
        }
        try world.run(until: "the lease is renewed, and the answer there") {
            renewedAt != nil && link.lastRenewal != before
        }
        let renewed = try #require(renewedAt)
        #expect(link.lastRenewal <= renewed && shard.logic.clock.now >= renewed + delay)
    }
}
