import Expectations
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A Redis that answers but accepts no writes, because its disk is full or it has too few replicas.
@Suite struct RefusedEntryTests {
    @Test(arguments: [[], [.join], [.renew]] as [[Script]])
    func `a server that Redis refuses for long leaves one incarnation to clear, not one per attempt`(
        refused: [Script]
    ) throws {
        let world = try World(shards: 2)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        _ = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try world.run(until: "bob is online") { watcher.status(of: "bob") == .online }
        world.redis.refuse = { script, _ in
            guard let script, refused.isEmpty || refused.contains(script) else { return nil }
            return .server(code: "MISCONF", message: "MISCONF no disk")
        }
        world.shards.forEach { $0.cut(.lease) }
        // Thousands of attempts.
        try world.run(for: 60_000)
        expect(world.shards.allSatisfy { $0.logic.link.former.count <= 1 })
        // Each shard's former and present lease, and the time of the last sweep.
        let leases = try world.redis.ask(["HLEN", "leases"]).get().int ?? 0
        expect(leases <= 5)
        world.redis.refuse = { _, _ in nil }
        try world.run(until: "both serve again") { world.shards.allSatisfy(\.logic.link.isLive) }
        try world.run(for: 60_000)
        expect(watcher.shown("bob"), equals: [.online])
        expect(world.shards.allSatisfy { $0.logic.link.former.isEmpty })
    }
}
