import Expectations
import PresenceProtocol
import Testing
import WebSockets

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Tokens whose signatures are verified off the loop: messages that wait for the result, and the outcome.
@Suite struct TokenWorkTests {
    private func world(
        _ times: ClosedRange<Milliseconds> = 1...30, _ adjust: (inout ServerConfiguration) -> Void = { _ in }
    ) throws -> World {
        let world = try World(shards: 1, adjust)
        world.signaturesTakeTime = true
        world.shards[0].workers.times = times
        return world
    }

    private func heldBytes(_ world: World) -> Int {
        world.shards[0].logic.watchers.connections.reduce(0) { $0 + ($1?.heldBytes ?? 0) }
    }

    @Test func `messages after connect wait for the verification, and are answered in order`() throws {
        let world = try world()
        let ana = SimulatedClient("ana", in: world)
        ana.dial(world.shards[0])
        ana.send(.updateProfile(.init(displayName: .set("Ana"))))
        ana.send(.subscribe(.init(users: [UserID("ana")!])))
        let shard = world.shards[0]
        expect(shard.logic.sessions.count == 0 && shard.logic.jobs.count == 1 && heldBytes(world) > 0)
        expect(shard.inboxBytes, equals: heldBytes(world))
        try world.run(until: "all are answered") { ana.received.count >= 3 }
        guard case .connected = ana.received[0], case .subscribed = ana.received[2] else {
            Issue.record("\(ana.received)")
            return
        }
        expect(heldBytes(world) == 0 && shard.inboxBytes == 0 && shard.logic.jobs.count == 0 && shard.workers.ran == 1)
    }

    @Test func `an invalid token closes the connection, and messages after it are dropped`() throws {
        let world = try world()
        let eve = SimulatedClient("no user", in: world)
        eve.dial(world.shards[0])
        eve.send(.getVisibility)
        try world.run(until: "it is closed") { eve.closeCode != nil }
        expect(eve.closeCode == .unauthorized && eve.received.count == 1)
        expect(world.shards[0].inboxBytes == 0 && world.shards[0].logic.metrics.tokensRefused == 1)
    }

    @Test func `a connection that closes meanwhile cancels its verification`() throws {
        let world = try world(500...500)
        let first = SimulatedClient("ana", in: world)
        first.dial(world.shards[0])
        let rest = (0..<20).map { SimulatedClient("bob\($0)", in: world) }
        for client in rest {
            client.dial(world.shards[0])
            client.send(.getVisibility)
        }
        let shard = world.shards[0]
        expect(shard.logic.jobs.count, equals: 21)
        first.lost()
        for client in rest { client.close(code: 1000) }
        expect(shard.logic.jobs.count == 0 && shard.inboxBytes == 0)
        try world.run(for: 5_000)
        // Jobs that were already running had no receiver.
        expect(shard.workers.ran <= WorkerPlan.signatures.threads(world.configuration))
        expect(shard.logic.sessions.count == 0 && first.received.isEmpty)
    }

    @Test func `a verification longer than the connect timeout does not count against the client`() throws {
        let world = try world(15_000...15_000) { $0.connectTimeout = 2_000 }
        let ana = SimulatedClient("ana", in: world)
        ana.dial(world.shards[0])
        try world.run(until: "it is connected") {
            ana.received.contains { if case .connected = $0 { true } else { false } }
        }
        let mute = SimulatedClient("bob", in: world)
        mute.open(on: world.shards[0])
        try world.run(until: "who said nothing is closed") { mute.closeCode == .noConnect }
    }

    @Test func `a refresh waits for its verification, later messages for the refresh`() throws {
        let world = try world()
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let before = ana.received.count
        ana.send(.refresh(token: ana.token))
        ana.send(.getVisibility)
        ana.send(.refresh(token: "bob"))
        ana.send(.getVisibility)
        try world.run(until: "all are answered") { ana.received.count >= before + 4 }
        let answers = ana.received[before...].map { "\($0)".prefix { $0 != "(" } }
        expect(answers, equals: ["refreshed", "visibility", "error", "visibility"], "\(answers)")
        expect(world.shards[0].inboxBytes == 0 && ana.isConnected)
    }

    @Test func `more verifications than may wait close clients with a reconnect delay`() throws {
        let world = try world(500...500)
        world.shards[0].workers.room = 2
        let clients = (0..<3).map { SimulatedClient("ana\($0)", in: world) }
        for client in clients { client.dial(world.shards[0]) }
        try world.run(until: "the first two are connected") {
            clients.prefix(2).allSatisfy { $0.received.contains { if case .connected = $0 { true } else { false } } }
        }
        expect(clients[2].closeCode == .tryAgainLater && clients[2].closeReason.contains("reconnectAfter"))
        guard case .error(let error)? = clients[2].received.first else {
            Issue.record("\(clients[2].received)")
            return
        }
        expect(error.code == .unavailable && error.retryAfter == 1_000)
    }

    @Test(arguments: [false, true])
    func `of pending invalid tokens, no more are verified than the limit allows`(leaves: Bool) throws {
        let world = try world(5...5) {
            $0.limits.failedTokensPerSecond = 1
            $0.limits.failedTokenBurst = 5
        }
        let shard = world.shards[0]
        let address = PeerAddress(host: "10.0.0.1")!.block
        var verdicts: [String] = []
        for index in 0..<20 {
            shard.logic.check("no user \(index)", from: address, of: SocketID(index: UInt32(index), generation: 1)) {
                verdicts.append("\($0)".prefix { $0 != "(" }.description)
            }
        }
        expect(shard.logic.jobs.count, equals: 20)
        // A job running when its connection ends is charged, too.
        for index in stride(from: UInt32(0), to: leaves ? 20 : 0, by: 2) {
            shard.logic.jobs.cancel(of: SocketID(index: index, generation: 1))
        }
        try world.run(for: 400)
        // The first one has already run.
        expect(verdicts.count { $0 == "refused" }, equals: leaves ? 4 : 5)
        expect(verdicts.count { $0 == "tooMany" }, equals: leaves ? 6 : 15)
        expect(shard.logic.failedTokens.wait(address, at: shard.logic.clock.now) != nil)
    }

    @Test func `pending valid tokens are all verified, and cost nothing`() throws {
        let world = try world(5...5) {
            $0.limits.failedTokensPerSecond = 1
            $0.limits.failedTokenBurst = 5
        }
        let shard = world.shards[0]
        let address = PeerAddress(host: "10.0.0.1")!.block
        var valid = 0
        for index in 0..<50 {
            shard.logic.check("user\(index)", from: address, of: SocketID(index: UInt32(index), generation: 1)) {
                if case .valid = $0 { valid += 1 }
            }
        }
        try world.run(for: 1_000)
        expect(valid == 50 && shard.logic.failedTokens.wait(address, at: shard.logic.clock.now) == nil)
    }

    @Test func `tokens being verified count towards the limit on waiting bytes`() throws {
        let world = try world()
        world.shards[0].maxInboxBytes = 10
        let ana = SimulatedClient("anastasia-the-first", in: world)
        ana.dial(world.shards[0])
        try world.run(until: "it is sent away") { ana.closeCode == .tryAgainLater }
        expect(world.shards[0].inboxBytes == 0 && world.shards[0].logic.jobs.count == 0)
    }
}
