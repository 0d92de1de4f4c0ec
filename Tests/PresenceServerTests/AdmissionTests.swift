import Expectations
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Rejected connections and their side effects.
@Suite struct AdmissionTests {
    private func run(_ world: World, _ command: @escaping (ShardLogic, @escaping StoreReply) -> Void) throws {
        var isDone = false
        world.shards[0].input { logic in command(logic) { _ in isDone = true } }
        try world.run(until: "it is done") { isDone }
    }

    @Test func `a rejected connect whose client has left ends no other session of its user`() throws {
        let world = try World(shards: 1)
        let bob = UserID("bob")!
        try run(world) { $0.run($0.revokingTokens(of: bob), reply: $1) }
        let early = SimulatedClient("bob", in: world)
        early.issuedAt = world.redisNow - 60_000
        early.dial(world.shards[0])
        early.close(code: 1000)
        // It arrives while the first one's `connect` is on its way to Redis.
        let late = SimulatedClient("bob", in: world)
        late.issuedAt = world.redisNow
        try late.connect(to: world.shards[0])
        try world.run(for: 100)
        expect(late.isConnected && world.shards[0].logic.sessions.users[bob]?.sessions.count == 1)
        try run(world) { $0.run($0.disconnecting(bob), reply: $1) }
        try world.run(for: 100)
        expect(late.closeCode, equals: .disconnected)
    }

    /// Two servers, and the difference between the clock of bob's master and the one of the leases. Bob has been on the
    /// second server for a while, so that it knows the difference.
    private func sceneWithClocks(ahead: Milliseconds) throws -> (World, SimulatedClient) {
        let partition = Partitions(count: 4).keys(of: UserID("bob")!).name
        let world = try World(shards: 2, mastersAhead: [partition: ahead])
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try world.run(for: 5_000)
        return (world, bob)
    }

    @Test func `a disconnect also ends a session that is just being opened, whatever the masters' clocks are`()
        throws
    {
        let (world, first) = try sceneWithClocks(ahead: -2_000)
        world.shards[1].hold(.commands, for: 3_000)
        let second = SimulatedClient("bob", in: world)
        second.dial(world.shards[1])
        try world.run(for: 500)
        try run(world) { $0.run($0.disconnecting(UserID("bob")!), reply: $1) }
        try world.run(for: 5_000)
        expect(first.closeCode == .disconnected && second.closeCode == .disconnected)
        expect(world.shards[1].logic.sessions.users[UserID("bob")!] == nil)
    }

    @Test func `a disconnect that arrives late ends no later session, whatever the masters' clocks are`() throws {
        let (world, first) = try sceneWithClocks(ahead: 2_000)
        world.shards[1].holdEvents(for: 1_000)
        try run(world) { $0.run($0.disconnecting(UserID("bob")!), reply: $1) }
        try world.run(for: 200)
        let second = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try world.run(for: 5_000)
        expect(first.closeCode == .disconnected && second.isConnected)
    }

    @Test func `a subscription in the packet of connect is answered with it, in one write`() throws {
        let world = try World(shards: 1)
        try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let cy = SimulatedClient("cy", in: world)
        cy.dial(world.shards[0])
        cy.send(.subscribe(.init(users: [UserID("bob")!])))
        try world.run(until: "it is answered") { cy.received.count == 2 }
        guard case .connected = cy.received[0], case .subscribed = cy.received[1] else {
            Issue.record("\(cy.received)")
            return
        }
        expect(cy.writes, equals: 1)
    }

    @Test func `messages sent after connect wait for its answer, and are dropped if it is rejected`() throws {
        let world = try World(shards: 1)
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let bob = SimulatedClient("bob", in: world)
        bob.dial(world.shards[0])
        for number in 0..<100 { bob.send(.updateProfile(.init(displayName: .set("Bob \(number)")))) }
        expect(world.shards[0].logic.watchers.connections.compactMap { $0?.held.count }.max(), equals: 100)
        try world.run(for: 1_000)
        expect(bob.received.count == 101 && ana.profiles[UserID("bob")!]?.version ?? 0 > 0)
        expect(world.shards[0].logic.watchers.connections.allSatisfy { ($0?.heldBytes ?? 0) == 0 })

        try run(world) { $0.run($0.revokingTokens(of: UserID("cy")!), reply: $1) }
        let cy = SimulatedClient("cy", in: world)
        cy.issuedAt = world.redisNow - 60_000
        cy.dial(world.shards[0])
        cy.send(.updateProfile(.init(displayName: .set("Cy"))))
        cy.send(.getVisibility)
        try world.run(for: 1_000)
        expect(cy.closeCode, equals: .unauthorized)
        expect(cy.received.allSatisfy { if case .error = $0 { true } else { false } }, "\(cy.received)")
        let keys = Partitions(count: world.configuration.partitions).keys(of: UserID("cy")!)
        let name = world.redis.command(["HGET", keys.user(UserID("cy")!), "profile"])
        expect(name, equals: .success(.null))
    }

    @Test func `waiting messages have a limit for the process, and free their bytes`() throws {
        let world = try World(shards: 1)
        let shard = world.shards[0]
        shard.maxInboxBytes = 3_000
        let clients = ["ana", "bob", "cy"].map { SimulatedClient($0, in: world) }
        for client in clients { client.dial(shard) }
        for client in clients {
            for number in 0..<20 { client.send(.updateProfile(.init(displayName: .set("Name \(number)")))) }
        }
        expect(shard.inboxBytes > 2_600)
        clients[0].close(code: 1000)
        try world.run(for: 1_000)
        expect(clients[1].isConnected && clients[1].received.count == 21)
        expect(clients[2].closeCode, equals: .tryAgainLater)
        expect(shard.inboxBytes, equals: 0)
    }

    @Test func `a user who connects without Redis is checked before their writes when it returns`() throws {
        let world = try World(shards: 1)
        try run(world) { $0.run($0.revokingTokens(of: UserID("bob")!), reply: $1) }
        world.redis.isGone = true
        world.shards[0].cutAll()
        let bob = SimulatedClient("bob", in: world)
        bob.issuedAt = world.redisNow - 60_000
        try bob.connect(to: world.shards[0])
        // From the moment when the shard is live, every message is a write that could succeed.
        world.redis.isGone = false
        for _ in 0..<2_000 where bob.isConnected {
            bob.send(.updateProfile(.init(displayName: .set("Bob"))))
            try world.run(for: 1)
        }
        expect(bob.closeCode, equals: .unauthorized)
        expect(!bob.received.contains { if case .profileUpdated = $0 { true } else { false } })
    }
}
