import Expectations
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Typing events for present watchers, and snapshots for new ones.
@Suite struct TypingSimulationTests {
    @Test func `a visible user is shown typing, also in a new watcher's snapshot on any server`() throws {
        let scene = try Scene()
        scene.ana.send(.typing(conversation: scene.conversation, typing: true))
        try scene.world.run(for: 500)
        expect(scene.typists(of: scene.watcher), equals: ["ana"])
        for shard in scene.world.shards {
            let late = try scene.newWatcher(on: shard)
            expect(scene.typists(of: late), equals: ["ana"], "on \(shard.name)")
        }
    }

    @Test func `an invisible user is never shown typing, and a visible one beside them is`() throws {
        let scene = try Scene()
        scene.bob.send(.status(.init(status: .invisible)))
        try scene.world.run(for: 500)
        scene.bob.send(.typing(conversation: scene.conversation, typing: true))
        scene.ana.send(.typing(conversation: scene.conversation, typing: true))
        try scene.world.run(for: 500)
        expect(scene.typists(of: scene.watcher), equals: ["ana"])
        for shard in scene.world.shards {
            let late = try scene.newWatcher(on: shard)
            expect(scene.typists(of: late), equals: ["ana"], "on \(shard.name)")
            expect(scene.everShown(to: late).isDisjoint(with: ["bob"]))
        }
        expect(scene.everShown(to: scene.watcher).isDisjoint(with: ["bob"]))
    }

    @Test func `a user who becomes invisible while typing is shown no longer, also to new watchers`() throws {
        let scene = try Scene()
        scene.bob.send(.typing(conversation: scene.conversation, typing: true))
        try scene.world.run(for: 500)
        expect(scene.typists(of: scene.watcher), equals: ["bob"])
        scene.bob.send(.status(.init(status: .invisible)))
        try scene.world.run(for: 500)
        expect(scene.typists(of: scene.watcher), equals: [])
        for shard in scene.world.shards {
            let late = try scene.newWatcher(on: shard)
            expect(scene.everShown(to: late), equals: [], "on \(shard.name)")
        }
    }

    @Test func `if Redis' clock is set back, typing from before still ends in time`() throws {
        let scene = try Scene()
        scene.bob.send(.typing(conversation: scene.conversation, typing: true))
        try scene.world.run(for: 500)
        scene.world.redisEpoch -= 3_600_000
        try scene.world.run(for: scene.world.configuration[Typing.expiry])
        expect(scene.typists(of: scene.watcher), equals: [])
        for shard in scene.world.shards {
            let late = try scene.newWatcher(on: shard)
            expect(scene.everShown(to: late), equals: [], "on \(shard.name)")
        }
        // Other users' events do not bring it back, and typing again is shown.
        scene.ana.send(.typing(conversation: scene.conversation, typing: true))
        try scene.world.run(for: 500)
        expect(scene.typists(of: scene.watcher), equals: ["ana"])
        scene.bob.send(.typing(conversation: scene.conversation, typing: true))
        try scene.world.run(for: 500)
        expect(scene.typists(of: scene.watcher), equals: ["ana", "bob"])
    }

    @Test func `a user who becomes visible is shown typing at once, also where they had a session while invisible`()
        throws
    {
        let scene = try Scene()
        let other = try SimulatedClient("bob", in: scene.world).connect(to: scene.world.shards[2])
        scene.bob.send(.status(.init(status: .invisible)))
        try scene.world.run(for: 100)
        other.close(code: 1000)
        try scene.world.run(for: 100)
        scene.bob.send(.status(.init(status: .auto)))
        try scene.world.run(for: 100)
        scene.bob.send(.typing(conversation: scene.conversation, typing: true))
        try scene.world.run(for: 100)
        expect(scene.typists(of: scene.watcher), equals: ["bob"])
        for shard in scene.world.shards {
            let late = try scene.newWatcher(on: shard)
            expect(scene.typists(of: late), equals: ["bob"], "on \(shard.name)")
        }
    }

    @Test func `a user who becomes invisible is not shown typing, even if their server dies before the stop`() throws {
        let scene = try Scene()
        scene.bob.send(.typing(conversation: scene.conversation, typing: true))
        try scene.world.run(for: 100)
        scene.bob.send(.status(.init(status: .invisible)))
        try scene.world.run(until: "Redis holds it") {
            scene.world.redis.counts["status"] == 1
        }
        scene.world.shards[1].die()
        try scene.world.run(for: 100)
        expect(scene.typists(of: scene.watcher), equals: [])
    }

    /// Bob types on the second server and becomes invisible. The third misses the events, and `breaking` makes the stop
    /// get lost. Then the third reads the state in Redis.
    private func afterLosing(
        _ scene: Scene, stop: (SimulatedClient) -> Void = { $0.send(.status(.init(status: .invisible))) },
        breaking: (World) throws -> Void
    ) throws {
        let world = scene.world
        scene.bob.send(.typing(conversation: scene.conversation, typing: true))
        try world.run(for: 500)
        world.shards[2].subscription.missesEvents = true
        stop(scene.bob)
        try breaking(world)
        try world.run(until: "all are live", within: 3_000) { world.shards.allSatisfy(\.logic.link.isLive) }
        try world.run(for: 600)
        world.shards[2].subscription.missesEvents = false
        let late = try scene.newWatcher(on: world.shards[2])
        expect(scene.everShown(to: late), equals: [])
    }

    /// Loses everything on its way from the second server to Redis.
    private func lose(_ world: World) throws {
        world.redis.isGone = true
        world.shards.forEach { $0.cutAll() }
        try world.run(for: 20)
        world.redis.isGone = false
    }

    @Test func `a stop that is lost with the connection to Redis is sent again`() throws {
        let scene = try Scene()
        try afterLosing(scene) { world in
            try world.run(until: "Redis holds it") { world.redis.counts["status"] == 1 }
            world.shards[1].hold(.commands, for: 5_000)
            try world.run(for: 10)
            expect(world.redis.counts["typing"], equals: 1)
            try lose(world)
        }
    }

    @Test func `a lost stop by the client is sent again`() throws {
        let scene = try Scene()
        try afterLosing(
            scene,
            stop: { bob in
                scene.world.shards[1].hold(.commands, for: 5_000)
                bob.send(.typing(conversation: scene.conversation, typing: false))
            }
        ) { world in
            try world.run(for: 10)
            expect(world.redis.counts["typing"], equals: 1)
            try lose(world)
            try world.run(until: "all are live") { world.shards.allSatisfy(\.logic.link.isLive) }
            scene.bob.send(.status(.init(status: .invisible)))
        }
    }

    @Test func `a fenced server's stop is sent again by its next incarnation`() throws {
        let scene = try Scene()
        try afterLosing(scene) { world in
            let keys = world.shards[1].logic.partitions.keys(of: scene.conversation)
            try world.run(until: "Redis holds it") { world.redis.counts["status"] == 1 }
            _ = world.redis.command(["SREM", keys.shards, world.shards[1].logic.link.incarnation])
            try world.run(for: 10)
        }
    }

    @Test func `a rejected stop does not end later typing`() throws {
        let scene = try Scene()
        scene.bob.send(.typing(conversation: scene.conversation, typing: true))
        try scene.world.run(for: 500)
        var refused = 0
        scene.world.redis.refuse = { script, _ in
            guard script == .typing, refused == 0 else { return nil }
            refused += 1
            return .server(code: "MISCONF", message: "MISCONF no disk")
        }
        scene.bob.send(.status(.init(status: .invisible)))
        try scene.world.run(for: 50)
        expect(refused, equals: 1)
        scene.bob.send(.status(.init(status: .auto)))
        try scene.world.run(for: 50)
        scene.bob.send(.typing(conversation: scene.conversation, typing: true))
        try scene.world.run(for: 1_000)
        expect(scene.typists(of: scene.watcher), equals: ["bob"])
    }

    /// Three servers; ana and the watcher are on the first, bob is on the second.
    private final class Scene {
        let world: World
        let ana: SimulatedClient
        let bob: SimulatedClient
        let watcher: SimulatedClient
        let conversation: ConversationID
        private var others = 0

        init() throws {
            world = try World(shards: 3)
            ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
            bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
            watcher = try SimulatedClient("cy", in: world).connect(to: world.shards[0])
            let people = ["bob", "cy", "late1", "late2", "late3"].map { UserID($0)! }
            ana.send(.createConversation(participants: people))
            try world.run(for: 100)
            conversation = try #require(
                ana.received.compactMap { if case .conversationCreated(_, let made) = $0 { made.id } else { nil } }
                    .first
            )
            watcher.send(.subscribe(.init(conversations: [conversation])))
            try world.run(for: 100)
        }

        func newWatcher(on shard: SimulatedShard) throws -> SimulatedClient {
            others += 1
            let client = try SimulatedClient("late\(others)", in: world).connect(to: shard)
            client.send(.subscribe(.init(conversations: [conversation])))
            try world.run(for: 100)
            return client
        }

        func typists(of client: SimulatedClient) -> [String]? {
            client.typing[conversation]?.users.map(\.string)
        }

        /// All users ever shown typing, in snapshots and events.
        func everShown(to client: SimulatedClient) -> Set<String> {
            Set(
                client.received.flatMap { message -> [UserID] in
                    switch message {
                    case .typing(let event): event.users
                    case .subscribed(_, _, let conversations, _): conversations.flatMap(\.typing)
                    default: []
                    }
                }.map(\.string))
        }
    }
}
