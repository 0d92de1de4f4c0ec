import Expectations
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Session state that Redis rejected or has lost is written again.
@Suite struct ToldAgainTests {
    private let world: World
    private let watcher: SimulatedClient
    private let bob: SimulatedClient
    private var shard: SimulatedShard { world.shards[0] }
    private var logic: ShardLogic { shard.logic }

    init() throws {
        world = try World(shards: 1)
        watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        try world.run(for: 100)
    }

    private func sessionsInRedis() throws -> [String] {
        let keys = logic.partitions.keys(of: UserID("bob")!)
        return try world.redis.ask(["HKEYS", keys.sessions(UserID("bob")!)]).get().array?.compactMap(\.string) ?? []
    }

    /// Rejects the next call of a script, as a connection with too many pending commands does.
    private func overload(_ script: Script) {
        var isOver = false
        world.redis.refuse = { asked, _ in
            guard asked == script, !isOver else { return nil }
            isOver = true
            return .overloaded
        }
    }

    @Test func `while the queue to Redis is full, activity is rejected, and written when there is room`() throws {
        shard.isFull = true
        let before = world.redis.counts["activity"] ?? 0
        for _ in 0..<50 {
            let asked = bob.send(.activity(.idle))
            let answered = bob.received.contains {
                if case .error(let error) = $0 { error.id == asked && error.code == .unavailable } else { false }
            }
            expect(answered)
            bob.send(.activity(.active))
            bob.send(.activity(.idle))
        }
        expect(logic.metrics.limitsMet[.redisBytes] ?? 0 >= 100)
        expect(world.redis.counts["activity"] ?? 0 == before)
        // However often it is sent, there is one deadline.
        expect(logic.deadlines.subjects.count { if case .report = $0 { true } else { false } }, equals: 1)
        try world.run(for: 5_000)
        expect(watcher.status(of: "bob"), equals: .online)
        shard.isFull = false
        try world.run(for: 1_200)
        expect(watcher.status(of: "bob"), equals: .away)
        expect(world.redis.counts["activity"], equals: before + 1)
        try world.run(for: 5_000)
        expect(logic.deadlines.subjects.allSatisfy { if case .report = $0 { false } else { true } })
    }

    @Test func `a session that Redis has lost is written as soon as its client sends activity`() throws {
        let keys = logic.partitions.keys(of: UserID("bob")!)
        _ = try world.redis.ask(["DEL", keys.sessions(UserID("bob")!)]).get()
        let session = try #require(bob.session)
        bob.send(.activity(.idle))
        try world.run(for: 1_000)
        try expect(sessionsInRedis(), equals: [session])
        expect(watcher.status(of: "bob") == .away && bob.isConnected)
    }

    @Test func `a rejected end of a session is repeated`() throws {
        overload(.end)
        bob.close(code: 1000)
        try world.run(for: 1_000)
        expect(watcher.status(of: "bob"), equals: .offline)
        try expect(sessionsInRedis() == [] && !logic.sessions.hasUnasserted)
    }

    @Test func `a rejected opening closes the connection and leaves no session`() throws {
        overload(.open)
        let cy = try SimulatedClient("cy", in: world).connect(to: shard)
        expect(cy.closeCode, equals: .tryAgainLater)
        try world.run(for: 1_000)
        expect(logic.sessions.users[UserID("cy")!] == nil && !logic.sessions.hasUnasserted)
        try cy.connect(to: shard)
        expect(cy.isConnected)
    }

    @Test func `however many sessions Redis rejects, the log has one line a second, with their number`() throws {
        world.redis.refuse = { script, _ in
            script == .open ? .server(code: "OOM", message: "OOM command not allowed") : nil
        }
        for number in 0..<300 {
            let late = SimulatedClient("late\(number)", in: world)
            late.dial(shard)
            try world.run(for: 10)
        }
        try world.run(for: 2_000)
        _ = try SimulatedClient("last", in: world).connect(to: shard)
        let lines = shard.log.of("session refused")
        expect((4...5).contains(lines.count))
        expect(lines.allSatisfy { $0.level == .warning && $0.fields["reason"]?.contains("OOM") == true })
        let counts: [Int] = lines.compactMap { Int($0.fields["count"] ?? "") }
        expect(counts.reduce(0, +), equals: 301)
    }
}
