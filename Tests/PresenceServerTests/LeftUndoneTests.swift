import Expectations
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Work that failed, was missed or was overtaken is done in the end, even without a later event that would cause it.
@Suite struct LeftUndoneTests {
    private let ana = UserID("ana")!

    private func many(_ letter: String) -> [UserID] { (0..<11).map { UserID("\(letter)\($0)")! } }

    @Test func `a request that waits for a block list is answered when an event has all of it`() throws {
        let world = try World(shards: 2)
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        try SimulatedClient("bob", in: world).connect(to: world.shards[1]).watch("ana")
        for letter in ["x", "y", "z"] { ana.send(.block(many(letter))) }
        try world.run(for: 2_000)
        // The first event makes the other shard read the list; the second arrives before the answer, so it has to wait.
        world.shards[1].holdReplies(.commands, for: 60)
        ana.send(.unblock(many("x")))
        try world.run(for: 30)
        ana.send(.unblock(many("y")))
        try world.run(for: 60)
        let cy = try SimulatedClient("cy", in: world).connect(to: world.shards[1])
        cy.send(.subscribe(.init(users: [self.ana])))
        try world.run(for: 50)
        expect(cy.presences[self.ana], equals: nil)
        // An empty block list needs no read.
        ana.send(.unblock(many("z")))
        try world.run(for: 2_000)
        expect(cy.status(of: "ana"), equals: .online)
    }

    @Test(arguments: (0..<40).map { Milliseconds(50 * $0) })
    func `a user who connects while moved partitions take too long to read is served`(offset: Milliseconds) throws {
        let world = try World(shards: 1)
        let shard = world.shards[0]
        let ana = try SimulatedClient("ana", in: world).connect(to: shard).watch("bob")
        try world.run(for: 10_000 + offset)
        let partition = shard.logic.partitions.index(of: self.ana)
        shard.holdReplies(.commands, for: shard.logic.configuration.staleAfter + 150)
        shard.input { $0.handle(.rerouted(partitions: [partition])) }
        try world.run(for: shard.logic.configuration.staleAfter + 50)
        let bob = SimulatedClient("bob", in: world)
        bob.dial(shard)
        try world.run(for: 10_000)
        expect(shard.logic.link.isLive && ana.isConnected && bob.isConnected)
        expect(ana.status(of: "bob"), equals: .online)
        let asked = bob.send(.get(users: [self.ana]))
        try world.run(for: 1_000)
        let isAnswered = bob.received.contains {
            if case .users(asked, _, _) = $0 { true } else { false }
        }
        expect(isAnswered, "\(offset): \(bob.received)")
    }

    /// A user with an account, not connected yet.
    private func signUp(_ name: String, in accounts: AccountWorld) throws -> SimulatedClient {
        let body = ["email": "\(name)@example.org", "password": "correct horse"]
        let made = try accounts.call("POST", "/v1/accounts", body)
        let client = SimulatedClient(try #require(made.json["user"] as? String), in: accounts.world)
        client.signedToken = made.json["accessToken"] as? String
        return client
    }

    private func told(_ client: SimulatedClient, of name: String) -> Int {
        client.texts.count { $0.contains("ownAccount") && $0.contains("\(name)@example.org") }
    }

    @Test func `a user receives their account's state even if it could not be read at connect`() throws {
        let accounts = try AccountWorld()
        let (world, shard) = (accounts.world, accounts.world.shards[0])
        let ana = try signUp("ana", in: accounts)
        world.redis.refuse = { script, _ in
            script == .account ? .server(code: "BUSY", message: "BUSY for a moment") : nil
        }
        try ana.connect(to: shard)
        try world.run(for: 100)
        expect(told(ana, of: "ana"), equals: 0)
        world.redis.refuse = { _, _ in nil }
        try world.run(for: 5_000)
        expect(told(ana, of: "ana"), equals: 1)
    }

    @Test func `a user who connects while accounts are read after a break receives their account's state`() throws {
        let accounts = try AccountWorld()
        let (world, shard) = (accounts.world, accounts.world.shards[0])
        let (ana, bob) = (try signUp("ana", in: accounts), try signUp("bob", in: accounts))
        try bob.connect(to: shard)
        try world.run(for: 100)
        var hasCome = false
        world.redis.ran = { script, _, _ in
            guard script == .account, !hasCome else { return }
            hasCome = true
            world.after(0) { ana.dial(shard) }
        }
        shard.cut(.commands)
        try world.run(for: 10_000)
        expect(hasCome && shard.logic.link.isLive && ana.isConnected)
        expect(told(ana, of: "ana"), equals: 1)
    }

    @Test func `short breaks do not make regular work more frequent`() throws {
        let accounts = try AccountWorld()
        let (world, shard) = (accounts.world, accounts.world.shards[0])
        func looks() throws -> Int {
            world.redis.counts = [:]
            try world.run(for: 10_000)
            return world.redis.counts["take-mail"] ?? 0
        }
        let before = try looks()
        for _ in 0..<20 {
            shard.cutSubscription()
            try world.run(until: "the break is over") { shard.logic.link.isLive }
        }
        let after = try looks()
        expect(before > 0 && after <= before + before / 10, "\(before), \(after)")
    }

    @Test(arguments: ["pairKey", "addressKey"])
    func `a key of the installation that cannot be created is created later`(key: String) throws {
        let accounts = try AccountWorld()
        let (world, shard) = (accounts.world, accounts.world.shards[0])
        let space = shard.logic.partitions.space
        let name = key == "pairKey" ? space.pairKey : space.addressKey
        _ = try world.redis.command(["DEL", name]).get()
        world.redis.refuse = { _, words in
            words.first == "SET" && words.dropFirst().first == name
                ? .server(code: "OOM", message: "OOM command not allowed") : nil
        }
        shard.cut(.commands)
        try world.run(for: 5_000)
        expect(!shard.logic.link.isLive)
        world.redis.refuse = { _, _ in nil }
        try world.run(until: "the shard is live", within: 30_000) { shard.logic.link.isLive }
        try expect(world.redis.command(["GET", name]).get().string != nil)
    }
}
