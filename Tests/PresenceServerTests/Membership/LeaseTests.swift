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
        var renewedAt: Milliseconds?
        world.redis.ran = { script, arguments, _ in
            if script == .renew, arguments.contains(incarnation) { renewedAt = renewedAt ?? world.now }
        }
        // This one is the last that is taken, and its answer is late; but not so late that the connection is given up.
        world.redis.refuse = { [unowned world] script, _ in
            guard script == .renew, let renewed = renewedAt, world.now > renewed else { return nil }
            return .server(code: "MISCONF", message: "MISCONF no space left")
        }
        let delay = world.configuration.commandTimeout / 2
        shard.holdReplies(.lease, for: world.configuration.lease.renewal + delay)
        try world.run(until: "the lease is renewed") { renewedAt != nil }
        let renewed = try #require(renewedAt)
        try world.run(until: "the answer is there") {
            link.lastRenewal > renewed - world.configuration.lease.renewal / 2
        }
        #expect(link.lastRenewal <= renewed && world.now - renewed >= delay)
        try world.run(until: "the lease has run out", within: 60_000) { link.incarnation != incarnation }
        #expect(world.now <= renewed + world.configuration.lease.duration + 1_000)
    }
}
