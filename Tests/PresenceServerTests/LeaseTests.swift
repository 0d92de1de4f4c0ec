import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// How long a shard may treat its sessions as its own.
@Suite struct LeaseTests {
    @Test func `a lease counts from when its renewal was sent, not from the answer`() throws {
        let world = try World(shards: 1)
        let shard = world.shards[0]
        try world.run(for: 5_000)
        let incarnation = shard.logic.link.incarnation
        expect(shard.logic.link.isLive)
        // One more renewal runs and is answered 2 s late. Redis rejects all that follow.
        var last: Milliseconds?
        world.redis.ran = { [unowned world] script, _, _ in
            guard script == .renew, last == nil else { return }
            last = world.now
            shard.holdReplies(.lease, for: 2_000)
        }
        world.redis.refuse = { script, _ in
            script == .renew && last != nil ? .server(code: "OOM", message: "OOM") : nil
        }
        try world.run(until: "the lease has run out", within: 20_000) {
            shard.logic.link.needsIncarnation || shard.logic.link.incarnation != incarnation
        }
        let held = world.now - (try #require(last))
        expect((9_500...11_000).contains(held), "the shard gave its sessions up after \(held) ms")
    }
}
