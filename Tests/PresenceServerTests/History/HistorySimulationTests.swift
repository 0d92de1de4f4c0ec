import Expectations
import PresenceProtocol
import Redis
import TestSupport
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// The stored history of presence, in simulated time: also with times that become known late, and after faults.
@Suite struct HistorySimulationTests {
    @Test func `if two devices are lost one after the other, the history ends at the second one's last message`()
        throws
    {
        let world = try World.keeping()
        let web = try SimulatedClient("bob", in: world).connect(to: world.shards[0], device: "web")
        let phone = try SimulatedClient("bob", in: world).connect(to: world.shards[1], device: "phone", activity: .idle)
        try world.run(for: 5_000)
        let since = try world.register(of: "bob").since
        web.lost()
        try world.run(for: 1_000)
        phone.send(.activity(.idle))
        try world.run(for: 10)
        phone.lost()
        // Away begins when the first device's linger ends, after the second one's last message.
        try world.run(until: "bob is away") { try! world.register(of: "bob").status == "away" }
        try expect(world.kept(of: "bob").map(\.status), equals: ["online"])
        try world.run(until: "bob is gone") { try! world.register(of: "bob").status == "offline" }
        let lastSeen = try world.register(of: "bob").lastSeen
        try expect(world.kept(of: "bob"), equals: [PastInterval(status: "online", from: since, to: lastSeen)])
    }

    @Test func `history left by a dead server ends at its last renewal`() throws {
        let world = try World.keeping()
        for name in ["bob", "cy"] { try SimulatedClient(name, in: world).connect(to: world.shards[0]) }
        try world.run(for: 10_000)
        world.shards[0].die()
        try world.run(until: "they are gone") {
            try! ["bob", "cy"].allSatisfy { try world.register(of: $0).status == "offline" }
        }
        for name in ["bob", "cy"] {
            let kept = try world.kept(of: name)
            try expect(kept.map(\.to), equals: [world.register(of: name).lastSeen], "of \(name)")
        }
    }

    @Test func `a session that is written again keeps its start, and history since then is removed`() throws {
        let world = try World.keeping()
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        try world.run(for: 5_000)
        let since = try world.register(of: "bob").since
        // For example after a repair: the session is missing in Redis, and its shard does not know.
        let keys = world.shards[0].logic.partitions.keys(of: UserID("bob")!)
        let session = try #require(bob.session)
        let other = world.shards[1].logic!
        // The session's shard lists the user, and the other shard ends the session.
        let call = ScriptCall(
            .end, in: keys,
            [
                "user": keys.user(UserID("bob")!), "sessions": keys.sessions(UserID("bob")!),
                "shardUsers": keys.users(ofShard: world.shards[0].logic.link.incarnation),
                "past": other.past.key(of: UserID("bob")!, in: keys, or: keys.user(UserID("bob")!)),
            ], ["id": "bob", "sessionID": session, "silence": 0, "bounds": other.past.bounds])
        other.run(call) { _ in }
        try world.run(for: 1_000)
        try expect(world.kept(of: "bob").map(\.from), equals: [since])
        world.shards[0].cut(.commands)
        try world.run(for: 5_000)
        try expect(world.register(of: "bob").status, equals: "online")
        let again = try world.register(of: "bob").since
        expect(again <= since + 5)
        try expect(world.kept(of: "bob").allSatisfy { $0.to! <= again })
    }

    @Test(arguments: 1...12) func `whatever happens, history is in order and agrees with the presence shown`(
        seed: UInt64
    )
        throws
    {
        let world = try World.keeping(seed: seed)
        var clients: [SimulatedClient] = []
        for _ in 0..<60 {
            let shard = world.shards[Int.random(in: 0..<2, using: &world.random)]
            clients.removeAll { !$0.isConnected }
            switch Int.random(in: 0..<9, using: &world.random) {
            case 0, 1:
                let client = SimulatedClient("bob", in: world)
                client.dial(shard, device: ["a", "b"].randomElement(using: &world.random))
                clients.append(client)
            case 2: clients.randomElement(using: &world.random)?.close(code: 1000)
            case 3: clients.randomElement(using: &world.random)?.lost()
            case 4: clients.randomElement(using: &world.random)?.vanish()
            case 5, 6:
                clients.randomElement(using: &world.random)?.send(
                    .activity([.active, .idle].randomElement(using: &world.random)!))
            case 7:
                let status: ChosenStatus = [.auto, .busy, .invisible].randomElement(using: &world.random)!
                clients.randomElement(using: &world.random)?.send(.status(.init(status: status)))
            default: if Bool.random(using: &world.random) { shard.cutAll() } else { shard.cut(.commands) }
            }
            try world.run(for: Milliseconds.random(in: 1...4_000, using: &world.random))
            let (kept, register) = (try world.kept(of: "bob"), try world.register(of: "bob"))
            var end: Timestamp = 0
            for interval in kept {
                expect(interval.from >= end && interval.to! > interval.from, "\(kept)")
                end = interval.to!
            }
            let bound = register.status == "offline" ? register.lastSeen : register.since
            expect(end <= bound, "\(kept) and \(register)")
        }
        try expect(!world.kept(of: "bob").isEmpty)
    }
}

extension World {
    fileprivate static func keeping(seed: UInt64 = 1) throws -> World {
        try World(shards: 2, seed: seed) { $0[History.enabled] = true }
    }

    fileprivate func kept(of user: String) throws -> [PastInterval] {
        let id = UserID(user)!
        let key = shards[0].logic.partitions.keys(of: id).history(id)
        let values = try redis.command(["LRANGE", key, "0", "-1"]).get().array ?? []
        let intervals = values.compactMap { $0.bytes.flatMap { PastInterval(packed: $0) } }
        expect(intervals.count, equals: values.count)
        return intervals
    }

    fileprivate func register(of user: String) throws -> (status: String?, since: Timestamp, lastSeen: Timestamp) {
        let id = UserID(user)!
        let key = shards[0].logic.partitions.keys(of: id).user(id)
        let words = try redis.command(["HMGET", key, "status", "since", "lastSeen"]).get().array ?? []
        return (words[0].string, words[1].int ?? 0, words[2].int ?? 0)
    }
}
