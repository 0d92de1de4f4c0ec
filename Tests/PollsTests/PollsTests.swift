import Expectations
import Foundation
import Logging
import PresenceProtocol
import Redis
import TestSupport
import Testing
import Tokens

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A feature needs nothing in Sources but `Feature` and `Registry`.
@Suite struct PollsTests {
    private let features = Features.all + [Polls.self]

    // MARK: Simulated time

    private func world(_ adjust: (inout ServerConfiguration) -> Void = { _ in }) throws -> World {
        try World(shards: 2, features: features, adjust)
    }

    private func ask(_ client: SimulatedClient, _ text: String, _ answer: String, in world: World) throws {
        let before = client.texts.count
        client.sendText(text)
        try world.run(until: "\(answer) has come") { client.texts[before...].contains { $0.contains(answer) } }
    }

    @Test func `a vote on one server is answered, and shown to watchers on another`() throws {
        let world = try world()
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try ask(ana, #"{"type":"watchPoll","id":7,"poll":"lunch"}"#, "pollWatched", in: world)
        try ask(bob, #"{"type":"vote","id":9,"poll":"lunch","choice":"soup"}"#, #""type":"voted","id":9"#, in: world)
        try world.run(for: 100)
        expect(ana.texts.last?.contains(#""poll":"lunch","counts":{"soup":1}}"#), equals: true)
        expect(bob.texts.contains(#"{"type":"youVoted"}"#))
    }

    @Test func `a malformed request is rejected by its decoder, one too many by its price`() throws {
        let world = try world {
            $0.limits.requestsPerSecond = 1; $0.limits.requestBurst = 6
        }
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        try ask(ana, #"{"type":"vote","id":1,"poll":"lunch"}"#, "choice is missing", in: world)
        // 4 of the burst of 6 are left, and a vote takes 2.
        for id in 2...4 { ana.sendText(#"{"type":"vote","id":\#(id),"poll":"lunch","choice":"soup"}"#) }
        try world.run(for: 200)
        expect(ana.texts.filter { $0.contains(#""type":"voted""#) }.count, equals: 2)
        expect(ana.texts.filter { $0.contains("rate_limited") }.count, equals: 1)
        // A client cannot vote before `connect`.
        let eve = SimulatedClient("eve", in: world)
        eve.open(on: world.shards[0])
        eve.sendText(#"{"type":"vote","poll":"lunch","choice":"soup"}"#)
        try world.run(for: 100)
        expect(eve.texts.allSatisfy { $0.contains("connect first") } && !eve.texts.isEmpty)
    }

    @Test func `its deadline is due at the configured time`() throws {
        let world = try world { $0[Polls.duration] = 5_000 }
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        try ask(ana, #"{"type":"watchPoll","id":1,"poll":"lunch"}"#, "pollWatched", in: world)
        try ask(ana, #"{"type":"vote","id":2,"poll":"lunch","choice":"soup"}"#, "voted", in: world)
        let before = world.now
        try world.run(until: "the poll has ended") { ana.texts.last?.contains("pollEnded") == true }
        expect((4_500...5_500).contains(world.now - before))
        expect(world.shards[0].logic.registry.metrics.first { $0.name == "polls_open" }?.read(), equals: 0)
        expect(world.shards[0].logic.registry.metrics.first { $0.name == "poll_votes_total" }?.read(), equals: 1)
    }

    @Test func `votes missed without Redis are shown when it returns, and each step is called`() throws {
        let world = try world()
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try ask(ana, #"{"type":"watchPoll","id":1,"poll":"lunch"}"#, "pollWatched", in: world)
        try ask(bob, #"{"type":"vote","id":1,"poll":"lunch","choice":"soup"}"#, "voted", in: world)
        try world.run(for: 100)
        world.shards[0].cutAll()
        try ask(bob, #"{"type":"vote","id":2,"poll":"lunch","choice":"soup"}"#, "voted", in: world)
        try world.run(until: "ana sees both votes") { ana.texts.contains { $0.contains(#""counts":{"soup":2}"#) } }
        try world.run(until: "the server is live") { world.shards[0].logic.link.isLive }
        let steps = try #require(world.shards[0].logic.feature(Polls.self)).steps
        expect(steps.suffix(4), equals: ["stale", "store", "read", "live"])
    }

    @Test func `when switched off, its requests are unknown and it runs no script`() throws {
        let world = try world { $0.disabledFeatures = ["polls", "typing"] }
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        try ask(ana, #"{"type":"vote","id":1,"poll":"lunch","choice":"soup"}"#, "unknown_type", in: world)
        try ask(ana, #"{"type":"typing","id":2,"conversation":"c1","typing":true}"#, "unknown_type", in: world)
        try ask(ana, #"{"type":"subscribe","id":3,"conversations":["c1"]}"#, "unknown_type", in: world)
        expect(world.redis.counts["vote"] == nil && world.redis.counts["typing"] == nil)
        expect(world.shards[0].logic.feature(Polls.self) == nil && world.shards[0].logic.feature(Typing.self) == nil)
    }

    // MARK: Off the loop

    @Test func `a request computed off the loop is answered in order`() throws {
        let world = try world()
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let before = ana.texts.count
        ana.sendText(#"{"type":"tally","id":1,"ballots":["soup","pie","soup"]}"#)
        ana.sendText(#"{"type":"vote","id":2,"poll":"lunch","choice":"soup"}"#)
        ana.sendText(#"{"type":"tally","id":3}"#)
        try world.run(until: "all are answered") {
            ana.texts[before...].contains { $0.contains("ballots is missing") }
        }
        let answers = ana.texts[before...].filter { $0.contains(#""id":"#) }
        expect(answers[0], equals: #"{"type":"tallied","id":1,"winner":"soup"}"#)
        expect(answers[1].contains(#""type":"voted","id":2"#) && answers.count == 3)
        expect(world.shards[0].workers.ran == 1 && world.shards[0].logic.jobs.count == 0)
    }

    @Test func `a closed connection's waiting jobs are not run, and running ones deliver nothing`() throws {
        let world = try world()
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        for id in 1...3 { ana.sendText(#"{"type":"tally","id":\#(id),"ballots":["soup"]}"#) }
        bob.sendText(#"{"type":"tally","id":4,"ballots":["pie"]}"#)
        expect(world.shards[0].logic.jobs.count, equals: 4)
        ana.close(code: 1000)
        try world.run(until: "bob has his answer") { bob.texts.last == #"{"type":"tallied","id":4,"winner":"pie"}"# }
        expect(world.shards[0].workers.ran == 2 && world.shards[0].logic.jobs.count == 0)
        expect(!ana.texts.contains { $0.contains("tallied") })
    }

    @Test func `jobs above the limit are rejected with retryAfter`() throws {
        let world = try world { $0[Polls.waiting] = 1 }
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        for id in 1...3 { ana.sendText(#"{"type":"tally","id":\#(id),"ballots":["soup"]}"#) }
        try world.run(until: "all are answered") { ana.texts.last?.contains("unavailable") == true }
        let answers = ana.texts.suffix(3)
        expect(answers.dropLast().allSatisfy { $0.contains("tallied") })
        expect(answers.last?.contains(#""id":3"#) == true && answers.last?.contains(#""retryAfter":1000"#) == true)
        try ask(ana, #"{"type":"tally","id":4,"ballots":["soup"]}"#, #""type":"tallied","id":4"#, in: world)
    }

    // MARK: Real sockets and a real Redis

    @Test func `over a real socket, a real Redis and HTTP it works like any other feature`() async throws {
        let redis = try RedisServer()
        let secret = TokenSecret()
        var configuration = ServerConfiguration()
        (configuration.port, configuration.shards) = (0, 1)
        let server = Server(
            configuration: configuration,
            authenticator: try await Authenticator(configuration: configuration.auth, secret: secret),
            redis: redis.url, logger: Logger(label: "polls") { _ in SwiftLogNoOpLogHandler() }, features: features)
        let port = try await server.start()
        let now = Timestamp(Date().timeIntervalSince1970 * 1_000)
        let token = try TokenMaker(secret: secret).make(user: UserID("ana")!, lifetime: 60_000, now: now)
        try await PollsClient.onThread { try Self.talk(port, token) }
        await server.stop()
        let found = try Doctor(url: redis.url, configuration: configuration, features: features).examine()
        expect(found.counts.unknownKeys, equals: 0, "\(found.text)")
    }

    private static func talk(_ port: Int, _ token: String) throws {
        let client = try PollsClient(port: port)
        try client.send(#"{"type":"connect","id":1,"token":"\#(token)"}"#)
        try client.receive("connected")
        try client.send(#"{"type":"watchPoll","id":2,"poll":"lunch"}"#)
        try client.receive("pollWatched")
        try client.send(#"{"type":"vote","id":3,"poll":"lunch","choice":"soup"}"#)
        try client.receive(#""type":"voted","id":3,"poll":"lunch","counts":{"soup":1}}"#)
        try client.receive(#""type":"poll","#)
        let response = try PollsClient.get("/v1/polls/lunch", port: port, token: token)
        expect(
            response.contains("200 OK") && response.contains(#"{"poll":"lunch","counts":{"soup":1}}"#), "\(response)")
        try client.send(#"{"type":"tally","id":4,"ballots":["soup","pie","pie"]}"#)
        try client.receive(#"{"type":"tallied","id":4,"winner":"pie"}"#)
        try expect(PollsClient.get("/v1/polls/lunch/winner", port: port, token: token).contains(#"{"winner":"soup"}"#))
        try expect(PollsClient.get("/v1/polls/lunch", port: port, token: "none").contains("401"))
        let metrics = try PollsClient.get("/metrics", port: port, token: token)
        expect(metrics.contains(#"presence_workers_done_total{pool="tallies"} 2"#), "\(metrics)")
        expect(metrics.contains(#"presence_workers_running_seconds_count{pool="tallies"} 2"#))
        try expect(PollsClient.get("/metrics", port: port, token: token).contains("presence_poll_votes_total 1"))
    }
}
