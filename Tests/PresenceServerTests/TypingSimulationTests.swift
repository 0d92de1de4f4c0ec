import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Who is shown typing, to watchers that were there before and to those that come and get a snapshot.
@Suite struct TypingSimulationTests {
    @Test func `a visible typist is shown, also in the snapshot of a new watcher on any server`() throws {
        let scene = try Scene()
        scene.ana.send(.typing(conversation: scene.conversation, typing: true))
        try scene.world.run(for: 500)
        #expect(scene.typists(of: scene.watcher) == ["ana"])
        for shard in scene.world.shards {
            let late = try scene.newWatcher(on: shard)
            #expect(scene.typists(of: late) == ["ana"], "on \(shard.name)")
        }
    }

    @Test func `someone invisible who types is never shown, and a visible one beside them is`() throws {
        let scene = try Scene()
        scene.bob.send(.status(.init(status: .invisible)))
        try scene.world.run(for: 500)
        scene.bob.send(.typing(conversation: scene.conversation, typing: true))
        scene.ana.send(.typing(conversation: scene.conversation, typing: true))
        try scene.world.run(for: 500)
        #expect(scene.typists(of: scene.watcher) == ["ana"])
        for shard in scene.world.shards {
            let late = try scene.newWatcher(on: shard)
            #expect(scene.typists(of: late) == ["ana"], "on \(shard.name)")
            #expect(scene.everShown(to: late).isDisjoint(with: ["bob"]))
        }
        #expect(scene.everShown(to: scene.watcher).isDisjoint(with: ["bob"]))
    }

    @Test func `who becomes invisible while typing stops, also for a new watcher`() throws {
        let scene = try Scene()
        scene.bob.send(.typing(conversation: scene.conversation, typing: true))
        try scene.world.run(for: 500)
        #expect(scene.typists(of: scene.watcher) == ["bob"])
        scene.bob.send(.status(.init(status: .invisible)))
        try scene.world.run(for: 500)
        #expect(scene.typists(of: scene.watcher) == [])
        for shard in scene.world.shards {
            let late = try scene.newWatcher(on: shard)
            #expect(scene.everShown(to: late) == [], "on \(shard.name)")
        }
    }

    @Test func `who is visible again is shown typing at once, also where they had a session when they were invisible`()
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
        #expect(scene.typists(of: scene.watcher) == ["bob"])
        for shard in scene.world.shards {
            let late = try scene.newWatcher(on: shard)
            #expect(scene.typists(of: late) == ["bob"], "on \(shard.name)")
        }
    }

    @Test func `who becomes invisible is not shown typing although their server dies before it has said so`() throws {
        let scene = try Scene()
        scene.bob.send(.typing(conversation: scene.conversation, typing: true))
        try scene.world.run(for: 100)
        scene.bob.send(.status(.init(status: .invisible)))
        try scene.world.run(until: "Redis holds it") {
            scene.world.redis.counts["status"] == 1
        }
        scene.world.shards[1].die()
        try scene.world.run(for: 100)
        #expect(scene.typists(of: scene.watcher) == [])
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

        /// Everyone who was ever shown to type, in snapshots and events.
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
