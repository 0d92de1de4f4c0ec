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
        // By the shard's own clock.
        var renewedAt: Milliseconds?
        world.redis.ran = { script, arguments, _ in
            if script == .renew, arguments.contains(incarnation) { renewedAt = renewedAt ?? shard.logic.clock.now }
        }
        // After one renewal, the answer to the next is late; but not so late that the connection is given up.
        try world.run(until: "the lease is renewed") { renewedAt != nil }
        renewedAt = nil
        let delay = world.configuration.commandTimeout / 2
        shard.holdReplies(.lease, for: world.configuration.lease.renewal + delay)
        let before = link.lastRenewal
        try world.run(until: "it is renewed again") { renewedAt != nil }
        let renewed = try #require(renewedAt)
        try world.run(until: "the answer is there") { link.lastRenewal != before }
        #expect(link.lastRenewal <= renewed && shard.logic.clock.now > renewed + delay / 2)
    }
}
