import PresenceProtocol
import Testing

@testable import PresenceServer

/// Histories drawn from a seed: people do what people do, everything breaks now and then, and after a quiet moment
/// whatever anyone shows must be the truth.
@Suite struct RandomHistoryTests {
    @Test(arguments: UInt64(1)...24)
    func `after a quiet moment everyone shows the truth`(seed: UInt64) throws {
        let history = try RandomHistory(seed: seed)
        try history.play(steps: 120)
        try history.settle()
        try history.check()
    }
}

/// One history: three shards, a handful of people, each of whom watches all the others.
final class RandomHistory {
    private let world: World
    private let names = ["ana", "bob", "cy", "dee", "eve"]
    private var clients: [SimulatedClient] = []
    private let seed: UInt64

    init(seed: UInt64) throws {
        self.seed = seed
        world = try World(shards: 3, seed: seed)
    }

    func play(steps: Int) throws {
        for _ in 0..<steps {
            try step(pick(0..<20))
            try world.run(for: Milliseconds(pick(0..<2_000)))
        }
    }

    private func pick(_ range: Range<Int>) -> Int { Int.random(in: range, using: &world.random) }
    private func anyone() -> SimulatedClient? { clients.filter(\.isConnected).randomElement(using: &world.random) }
    private func anyShard() -> SimulatedShard { world.shards[pick(0..<world.shards.count)] }

    private func step(_ kind: Int) throws {
        switch kind {
        case 0...5: try connect()
        case 6: anyone()?.close(code: 1000)
        case 7: anyone()?.lost()
        case 8: anyone()?.vanish()
        case 9, 10: anyone()?.send(.activity(Activity.allCases.randomElement(using: &world.random)!))
        case 11, 12:
            anyone()?.send(
                .status(
                    .init(
                        status: ChosenStatus.allCases.randomElement(using: &world.random)!,
                        text: .set("text \(pick(0..<100))"), clearAfter: pick(0..<3) == 0 ? 5_000 : nil)))
        case 13: anyone()?.send(.updateProfile(.init(displayName: .set("Name \(pick(0..<100))"))))
        case 14: anyShard().cut(pick(0..<2) == 0 ? .commands : .lease)
        case 15: anyShard().cutSubscription()
        case 16: anyShard().cutAll()
        case 17:
            let shard = anyShard()
            shard.stop()
            try world.run(for: Milliseconds(pick(0..<25_000)))
            shard.wakeUp()
        case 18:
            world.redis.isSilent = true
            try world.run(for: Milliseconds(pick(0..<4_500)))
            world.redis.isSilent = false
        default:
            // A Redis that comes back with nothing, after a break of everything.
            world.shards.forEach { $0.cutAll() }
            if pick(0..<3) == 0 { _ = world.redis.command(["FLUSHALL"]) }
        }
    }

    private func connect() throws {
        let client = SimulatedClient(names[pick(0..<names.count)], in: world)
        let device = pick(0..<2) == 0 ? "device" : nil
        try client.connect(to: anyShard(), device: device)
        guard client.isConnected else { return }
        clients.append(client)
        client.send(.subscribe(.init(users: names.compactMap { UserID($0) })))
    }

    /// Everything heals, everyone asks once for whom they could not see, and it is quiet for a while.
    func settle() throws {
        try world.run(for: 90_000)
        for client in clients where client.isConnected {
            client.send(.activity(.active))
            if client.presences.count < names.count {
                client.send(.subscribe(.init(users: names.compactMap { UserID($0) })))
            }
        }
        try world.run(for: 10_000)
    }

    func check() throws {
        for shard in world.shards { #expect(shard.logic.link.isLive, "seed \(seed): \(shard.name) is not live") }
        for name in names {
            let user = UserID(name)!
            let truth = try truth(of: user)
            let isHere = clients.contains { $0.user == name && $0.isConnected && $0.answersPings }
            let chosen = try chosenStatus(of: user)
            if isHere, chosen != .invisible {
                #expect(truth.status != .offline, "seed \(seed): \(name) is here but shown offline")
            } else {
                #expect(truth.status == .offline, "seed \(seed): \(name) is a ghost")
            }
            for client in clients where client.isConnected && client.answersPings {
                #expect(client.presences[user] == truth, "seed \(seed): \(client.user) sees \(name) wrongly")
                #expect(!client.isStale, "seed \(seed): \(client.user) is stale")
            }
        }
        checkVersions()
        checkLeftovers()
    }

    private func truth(of user: UserID) throws -> Presence {
        let keys = Partitions(count: world.configuration.partitions).keys(of: user)
        let answer = try world.redis.command(
            ["HMGET", keys.user(user), "presenceVersion", "presence", "profileVersion", "profile"]
        ).get()
        let (kind, version, body) = PersonRead(answer).registers[0]
        guard version > 0 else { return .unknown }
        let event = body.withUnsafeBytes {
            RegisterFrame.event(kind, user: user, version: version, body: $0, at: 1)
        }
        // The frame's payload, without its header.
        let start = event.bytes.firstIndex(of: UInt8(ascii: "{"))!
        guard case .presence(_, let presence, _) = try ServerMessage.decode(Array(event.bytes[start...])) else {
            throw World.Impatience(what: "a presence")
        }
        return presence
    }

    private func chosenStatus(of user: UserID) throws -> ChosenStatus {
        let keys = Partitions(count: world.configuration.partitions).keys(of: user)
        let answer = try world.redis.command(["HGET", keys.user(user), "chosen"]).get()
        return answer.string.flatMap(ChosenStatus.init) ?? .auto
    }

    /// On one connection a person's events only grow, unless nothing is known of them any more.
    private func checkVersions() {
        for client in clients {
            var last: [UserID: Int64] = [:]
            for case .presence(let user, let presence, _) in client.received where presence.version > 0 {
                #expect(presence.version > last[user] ?? 0, "seed \(seed): \(client.user) got an old event")
                last[user] = presence.version
            }
        }
    }

    private func checkLeftovers() {
        for shard in world.shards {
            let open = shard.clients.count
            #expect(shard.logic.sessions.count == open, "seed \(seed): sessions without a client on \(shard.name)")
            let topics = shard.logic.watchers.topics.count { $0 != nil }
            #expect(topics == (open == 0 ? 0 : names.count), "seed \(seed): topics left on \(shard.name)")
        }
    }
}
