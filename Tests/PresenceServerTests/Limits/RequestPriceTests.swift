import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// The price of requests by their length, and how many pending bytes one user may have.
@Suite struct RequestPriceTests {
    @Test func `a request costs its ids or its bytes, whichever is more`() {
        expect(RequestPrice.of(bytes: 4_095, or: 1), equals: 1)
        expect(RequestPrice.of(bytes: 4_096, or: 1), equals: 2)
        expect(RequestPrice.of(bytes: 61_500, or: 1), equals: 16)
        expect(RequestPrice.of(bytes: 61_500, or: 101), equals: 101)
        expect(RequestPrice.of(bytes: 61_500, or: 0), equals: 0)
    }

    @Test func `one user has a quarter of the bytes pending for Redis`() {
        let (ana, bob) = (UserID("ana")!, UserID("bob")!)
        var shares = PendingShares(of: 8 << 20)
        for _ in 0..<2 { shares.add(1 << 20, of: ana) }
        expect(!shares.hasRoom(for: 4_096, of: ana))
        expect(shares.hasRoom(for: 4_095, of: ana))
        expect(shares.hasRoom(for: 4_096, of: bob))
        shares.add(-(1 << 20), of: ana)
        expect(shares.hasRoom(for: 1 << 20, of: ana) && !shares.hasRoom(for: 1 << 20 + 1, of: ana))
        // The first request is accepted at any length.
        var small = PendingShares(of: 1)
        expect(small.hasRoom(for: 1 << 20, of: ana))
        small.add(1 << 20, of: ana)
        expect(!small.hasRoom(for: 4_096, of: ana))
    }

    @Test func `long lists of users who left are kept for a while, up to a number of ids`() {
        var kept = KeptPolicies()
        func user(_ number: Int) -> UserID { UserID("u\(number)")! }
        func keep(_ number: Int, _ listed: Int, at now: Milliseconds) -> Bool {
            kept.keep(user(number), listed: listed, at: now)
        }
        func excess() -> [UserID] { kept.excess() }
        expect(!keep(0, 99, at: 0) && !keep(0, 100_001, at: 0))
        for number in 1...5 { expect(keep(number, 20_000, at: Milliseconds(number))) }
        expect(excess(), equals: [])
        expect(keep(6, 100, at: 6) && excess() == [user(1)])
        // An entry kept again counts as the newest.
        expect(keep(2, 20_000, at: 7) && keep(7, 20_000, at: 8) && excess() == [user(3)])
        expect(kept.isOver(user(4), at: KeptPolicies.duration + 4) && !kept.isOver(user(4), at: KeptPolicies.duration))
        expect(!kept.isOver(user(3), at: .max))
    }

    private func block(_ count: Int, by ana: SimulatedClient, in world: World) throws {
        for first in stride(from: 0, to: count, by: 1_000) {
            ana.send(.block((first..<min(first + 1_000, count)).map { UserID("person-\($0)")! }))
            try world.run(for: 1_500)
        }
    }

    private func readings(_ world: World) -> Int {
        (world.redis.counts["SMEMBERS"] ?? 0) + (world.redis.counts["SSCAN"] ?? 0)
    }

    @Test func `reconnecting many times reads long lists once`() throws {
        let world = try World(shards: 1)
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        try block(900, by: ana, in: world)
        ana.close(code: 1000)
        try world.run(for: 70_000)
        expect(world.shards[0].logic.policies.count, equals: 0)
        world.redis.counts = [:]
        for _ in 0..<20 {
            try ana.connect(to: world.shards[0])
            ana.close(code: 1000)
            try world.run(for: 1_000)
        }
        expect(readings(world), equals: 1)
        // Another server has changed the lists meanwhile.
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        try ana.connect(to: world.shards[0])
        ana.send(.block([UserID("bob")!]))
        try world.run(for: 1_000)
        bob.send(.get(users: [UserID("ana")!]))
        try world.run(for: 1_000)
        guard case .users(_, let users, _)? = bob.received.last else { Issue.record("no answer"); return }
        expect(users.first?.presence, equals: .unknown)
    }

    /// Whether the user's bucket has this many tokens left.
    private func hasLeft(_ tokens: Int, _ user: String, in world: World) -> Bool {
        let logic = world.shards[0].logic!
        return logic.userRates.wait(for: tokens, by: UserID(user)!, at: logic.clock.now) == nil
    }

    private func shown(to bob: SimulatedClient, in world: World) throws -> Presence? {
        let id = bob.send(.get(users: [UserID("ana")!]))
        var found: UserSnapshot?
        try world.run(until: "it is answered") {
            for case .users(id, let users, _) in bob.received { found = users.first }
            return found != nil
        }
        return found?.presence
    }

    private func worldOfLists() throws -> (World, SimulatedClient) {
        let world = try World(shards: 1) {
            $0.limits.userRequestsPerSecond = 1
            $0.limits.userRequestBurst = 1_000
        }
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        try block(3_000, by: ana, in: world)
        ana.close(code: 1000)
        try world.run(for: 1_100_000)
        return (world, ana)
    }

    @Test func `watching a user with long lists costs their reading`() throws {
        let (world, _) = try worldOfLists()
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        expect(hasLeft(999, "bob", in: world))
        try bob.watch("ana")
        // 3,000 ids cost 23 requests.
        expect(hasLeft(970, "bob", in: world) && !hasLeft(978, "bob", in: world))
    }

    @Test(arguments: ["bob", "person-7"])
    func `reading a user with long lists asks only for the viewer's entries`(viewer: String) throws {
        let (world, ana) = try worldOfLists()
        let bob = try SimulatedClient(viewer, in: world).connect(to: world.shards[0])
        world.redis.counts = [:]
        let before = try shown(to: bob, in: world)
        expect(readings(world) == 0 && world.redis.counts["SISMEMBER"] == 2)
        expect(hasLeft(990, viewer, in: world))
        expect(before == .unknown, equals: viewer != "bob")
        // While she is watched, the lists are in memory and decide for all viewers.
        let cy = try SimulatedClient("cy", in: world).connect(to: world.shards[0]).watch("ana")
        try expect(shown(to: bob, in: world), equals: before)
        cy.close(code: 1000)
        // The results of single queries are not kept.
        try ana.connect(to: world.shards[0])
        ana.send(viewer == "bob" ? .block([UserID("bob")!]) : .unblock([UserID("person-7")!]))
        try world.run(for: 2_000)
        expect(try shown(to: bob, in: world) == .unknown, equals: viewer == "bob")
    }
}
