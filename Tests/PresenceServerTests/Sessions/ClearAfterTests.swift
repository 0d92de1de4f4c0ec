import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// The end of a chosen status, in simulated time.
@Suite struct ClearAfterTests {
    @Test func `a status with clearAfter ends by itself, on time`() throws {
        let world = try World(shards: 1)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        bob.send(.status(.init(status: .busy, text: .set("lunch"), clearAfter: 3_600_000)))
        try world.run(for: 3_599_000)
        expect(watcher.status(of: "bob"), equals: .busy)
        try world.run(for: 1_100)
        expect(watcher.status(of: "bob"), equals: .online)
        expect(watcher.presences[UserID("bob")!]?.text, equals: nil)
        expect(bob.received.contains(.ownStatus(.init(status: .auto))))
    }

    /// A server that paused may estimate Redis' clock to be ahead, and ask for the end too early.
    @Test func `a status with clearAfter ends even if Redis is asked too early`() throws {
        let world = try World(shards: 1)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        bob.send(.status(.init(status: .busy, clearAfter: 60_000)))
        try world.run(for: 59_990)
        world.redisEpoch -= 300
        var asked = 0
        world.redis.ran = { script, _, _ in if script == .lapse { asked += 1 } }
        try world.run(for: 200)
        expect(asked == 1 && watcher.status(of: "bob") == .busy)
        try world.run(for: 1_000)
        expect(watcher.status(of: "bob"), equals: .online)
    }

    @Test func `with different clocks of the masters, each status ends by the clock of its own master`() throws {
        let partitions = Partitions(count: 4)
        let hour: Milliseconds = 3_600_000
        let ahead = Dictionary(uniqueKeysWithValues: (0..<4).map { (partitions.keys($0).name, Int64($0) * 5 * hour) })
        let world = try World(shards: 1, mastersAhead: ahead)
        let names = (0..<4).map { index in
            (0...).lazy.map { "bob\($0)" }.first { partitions.index(of: UserID($0)!) == index }!
        }
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
            .watch(names[0], names[1], names[2], names[3])
        let people = try names.map { try SimulatedClient($0, in: world).connect(to: world.shards[0]) }
        for (number, person) in people.enumerated() {
            person.send(.status(.init(status: .busy, clearAfter: Int64(4 - number) * hour)))
        }
        for number in (0..<4).reversed() {
            try world.run(for: hour - 1_000)
            expect(names.map { watcher.status(of: $0) }, equals: names.indices.map { $0 <= number ? .busy : .online })
            // The last master asked does not change the time used for tokens.
            expect(abs(world.shards[0].logic.clock.redisNow - world.redisNow) <= 1_000)
            try world.run(for: 1_100)
            expect(names.map { watcher.status(of: $0) }, equals: names.indices.map { $0 < number ? .busy : .online })
        }
    }
}
