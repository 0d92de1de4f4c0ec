import Expectations
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Delivery of changes only to shards that watch (`redis.interests`), in simulated time.
@Suite struct InterestTests {
    private func world(shards: Int, seed: UInt64 = 1) throws -> World {
        try World(shards: shards, seed: seed) { $0.redis.interests = true }
    }

    private func channel(of user: String, in world: World) -> String {
        Partitions(world.configuration, database: 0).keys(of: UserID(user)!).events + user
    }

    @Test func `only shards with a watcher receive a change`() throws {
        let world = try world(shards: 3)
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try world.run(for: 100)
        let before = world.shards.map(\.logic.metrics.eventsIn)
        bob.send(.updateProfile(.init(displayName: .set("Bob"))))
        bob.send(.status(.init(status: .busy)))
        try world.run(until: "it is told") { watcher.status(of: "bob") == .busy }
        try world.run(for: 100)
        let came = zip(world.shards.map(\.logic.metrics.eventsIn), before).map { $0 - $1 }
        expect(came, equals: [2, 0, 0])
        expect(world.shards.map { $0.logic.interests?.count }, equals: [1, 0, 0])
    }

    @Test func `without the setting every shard receives every change, on the partitions' channels`() throws {
        let world = try World(shards: 2) { $0.redis.interests = false }
        var channels: Set<String> = []
        let publish = world.redis.publish
        world.redis.publish = {
            channels.insert($0)
            publish($0, $1)
        }
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try world.run(for: 100)
        let before = world.shards[0].logic.metrics.eventsIn
        bob.send(.status(.init(status: .busy)))
        try world.run(for: 100)
        expect(world.shards[0].logic.metrics.eventsIn, equals: before + 1)
        expect(channels.filter { $0.contains("events") }.allSatisfy { $0.hasSuffix("}:events") })
        try expect(world.redis.ask(["GET", "presence:format"]).get().string, equals: "2 4")
        let leases = try world.redis.ask(["HVALS", "leases"]).get().array?.compactMap(\.string) ?? []
        expect(leases.allSatisfy { !$0.hasSuffix("i") })
    }

    @Test func `a channel is left a second after its last watcher, and kept for one who returns earlier`()
        throws
    {
        let world = try world(shards: 1)
        let shard = world.shards[0]
        let bob = channel(of: "bob", in: world)
        for _ in 0..<3 {
            let watcher = try SimulatedClient("ana", in: world).connect(to: shard).watch("bob")
            watcher.close(code: 1000)
            try world.run(for: 700)
        }
        expect(shard.logic.interests?.asked == 1 && shard.subscription.known.contains(bob))
        try world.run(for: 1_600)
        expect(shard.logic.interests?.count == 0 && shard.logic.interests?.left == 1)
        expect(shard.subscription.known.isEmpty && shard.subscription.followed.isEmpty)
        let watcher = try SimulatedClient("ana", in: world).connect(to: shard).watch("bob")
        try SimulatedClient("bob", in: world).connect(to: shard)
        try world.run(until: "bob is online") { watcher.status(of: "bob") == .online }
        expect(shard.logic.interests?.asked, equals: 2)
    }

    @Test func `a thousand interests that end together are left in batches`() throws {
        let world = try world(shards: 1)
        let interests = try #require(world.shards[0].logic.interests)
        let users = (0..<1_300).map { UserID("u\($0)")! }
        for user in users { interests.want(user) }
        try world.run(for: 100)
        for user in users { interests.release(user) }
        try world.run(for: 1_300)
        expect(interests.left % Interests.batch == 0 && interests.left < 1_300)
        try world.run(for: 1_000)
        expect(interests.left == 1_300 && interests.count == 0)
    }

    @Test func `a change during the first watcher's subscription is not missed`() throws {
        for seed: UInt64 in 1...60 {
            let world = try world(shards: 2, seed: seed)
            let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
            let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
            try world.run(for: 50)
            watcher.send(.subscribe(.init(users: [UserID("bob")!])))
            try world.run(for: Milliseconds(seed % 12))
            bob.send(.status(.init(status: .busy)))
            try world.run(for: 100)
            expect(watcher.status(of: "bob"), equals: .busy, "seed \(seed)")
        }
    }

    @Test func `a subscription waits until its channel is confirmed, and fails if the connection breaks`()
        throws
    {
        let world = try world(shards: 1)
        let shard = world.shards[0]
        let watcher = try SimulatedClient("ana", in: world).connect(to: shard)
        try world.run(for: 50)
        shard.holdEvents(for: 800)
        watcher.send(.subscribe(.init(users: [UserID("bob")!])))
        try world.run(for: 500)
        expect(watcher.presences[UserID("bob")!], equals: nil)
        shard.cutSubscription()
        try world.run(for: 1)
        let refusal = watcher.received.contains { if case .error(let e) = $0 { e.code == .unavailable } else { false } }
        expect(refusal)
        try world.run(until: "the shard is live") { shard.logic.link.isLive }
        try watcher.watch("bob")
        try SimulatedClient("bob", in: world).connect(to: shard)
        try world.run(until: "bob is online") { watcher.status(of: "bob") == .online }
    }

    @Test func `a server with the other setting refuses to start while one is running, and reports why`() throws {
        for interests in [false, true] {
            let world = try World(shards: 2) { $0.redis.interests = interests }
            let shard = world.shards[0]
            var refusal = ""
            shard.logic.link.onRefusal = { refusal = $0 }
            let until = world.redisNow + 5_000
            let lease = "\(world.redisNow) \(until) 0" + (interests ? "" : " i")
            _ = world.redis.command(["HSET", "leases", "other", lease])
            shard.cut(.lease)
            try world.run(for: 500)
            let (own, other) = interests ? ("on", "off") : ("off", "on")
            expect(refusal.hasPrefix("redis.interests is \(own) here, and \(other) at other servers"))
            expect(!shard.logic.link.isLive && world.shards[1].logic.link.isLive)
            // When that lease has run out, the server can start.
            try world.run(for: until + 1 - world.redisNow)
            shard.cutAll()
            try world.run(until: "it is live") { shard.logic.link.isLive }
        }
    }

    @Test func `the installation's format is rewritten when no server with the other setting is running`() throws {
        for (interests, other, own) in [(false, "2 4 interests", "2 4"), (true, "2 4", "2 4 interests")] {
            let world = try World(shards: 1) { $0.redis.interests = interests }
            _ = world.redis.command(["SET", "presence:format", other])
            world.shards[0].cut(.commands)
            try world.run(for: 500)
            expect(world.shards[0].logic.link.isLive)
            try expect(world.redis.ask(["GET", "presence:format"]).get().string, equals: own)
        }
    }

    @Test func `a server that saw no version still prevents versions from being given twice`() throws {
        let world = try world(shards: 3)
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch("bob")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try world.redis.remember()
        for text in 0..<20 {
            bob.send(.status(.init(status: .busy, text: .set("\(text)"))))
            try world.run(for: 50)
        }
        let shown = try #require(ana.presences[UserID("bob")!]).version
        // Only the third server is left, which had neither a watcher nor a session.
        world.shards[0].die()
        world.shards[1].die()
        try world.run(for: 10)
        world.redis.isGone = true
        world.shards[2].cutAll()
        world.redisEpoch -= 3_600_000
        try world.redis.goBack()
        world.redis.isGone = false
        try world.run(until: "it is live") { world.shards[2].logic.link.isLive }
        let again = try SimulatedClient("bob", in: world).connect(to: world.shards[2])
        again.send(.status(.init(status: .busy)))
        let watcher = try SimulatedClient("cy", in: world).connect(to: world.shards[2]).watch("bob")
        try world.run(for: 100)
        try expect(#require(watcher.presences[UserID("bob")!]).version > shown)
    }

    @Test func `version ceilings run with the clock from the highest known version`() {
        var ceiling = VersionCeiling(partitions: 2)
        expect(ceiling.version(0, at: 1_000), equals: 0)
        ceiling.learn(50_000, at: 1_000)
        ceiling.learn(40_000, at: 1_100)
        expect(ceiling.version(0, at: 1_200), equals: 50_200)
        ceiling.learn(floor: 90_000, of: 1, at: 1_200)
        ceiling.learn(floor: 10, of: 0, at: 1_200)
        expect(ceiling.version(0, at: 1_300) == 50_300 && ceiling.version(1, at: 1_300) == 90_100)
    }

    @Test func `the courier receives every offer, also without watchers`() throws {
        let webhooks = try WebhookWorld(shards: 3, interests: true)
        let world = webhooks.world
        try world.run(for: 8_000)
        for number in 0..<5 {
            try SimulatedClient("u\(number)", in: world).connect(to: world.shards[number % 3])
        }
        // Far sooner than the courier's next scan.
        try world.run(for: 1_000)
        expect(webhooks.calls("user.online").count, equals: 5)
        let couriers = world.shards.filter { $0.subscription.known.contains { $0.hasSuffix(":offers") } }
        expect(couriers.count == 1 && couriers[0].subscription.known.count == world.configuration.partitions)
        couriers[0].die()
        try world.run(for: 40_000)
        expect(
            world.shards.count { !$0.isDead && $0.subscription.known.count == world.configuration.partitions },
            equals: 1)
    }

    @Test func `an operator's trace receives all events once each, also unwatched ones, and none after its end`()
        throws
    {
        let world = try world(shards: 2)
        let shard = world.shards[0]
        var heard: [UInt8] = []
        shard.logic.beginObserving { heard.append($0.kind) }
        try SimulatedClient("ana", in: world).connect(to: shard).watch("bob")
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        let cy = try SimulatedClient("cy", in: world).connect(to: world.shards[1])
        try world.run(for: 100)
        heard = []
        bob.send(.status(.init(status: .busy)))
        cy.send(.updateProfile(.init(displayName: .set("Cy"))))
        try world.run(for: 100)
        expect(heard.sorted(), equals: Array("FP".utf8))
        heard = []
        shard.logic.endObserving()
        bob.send(.status(.init(status: .auto)))
        try world.run(for: 100)
        expect(heard.isEmpty && !shard.subscription.isOverhearing)
    }

    @Test func `ids with a colon reach their own watchers only`() throws {
        let world = try world(shards: 2)
        let (odd, plain) = (":bob:", "bob")
        let watcher = try SimulatedClient("ana", in: world).connect(to: world.shards[0]).watch(odd)
        try SimulatedClient(odd, in: world).connect(to: world.shards[1])
        try SimulatedClient(plain, in: world).connect(to: world.shards[1])
        try world.run(until: "it is told") { watcher.status(of: odd) == .online }
        expect(watcher.status(of: plain), equals: nil)
    }
}
