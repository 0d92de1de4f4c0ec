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

/// A feature whose events must all arrive needs nothing but a log.
@Suite struct CommentsTests {
    private let features = Features.all + [Polls.self]

    private func world() throws -> World {
        try World(shards: 2, features: features) {
            $0.limits.requestsPerSecond = 0
            $0.limits.userRequestsPerSecond = 0
        }
    }

    private func ask(_ client: SimulatedClient, _ text: String, _ answer: String, in world: World) throws {
        let before = client.texts.count
        client.sendText(text)
        try world.run(until: "\(answer) has come") { client.texts[before...].contains { $0.contains(answer) } }
    }

    private func watch(_ client: SimulatedClient, after: Int? = nil, in world: World) throws {
        let cursor = after.map { #","after":\#($0)"# } ?? ""
        try ask(
            client, #"{"type":"watchComments","id":1,"poll":"lunch"\#(cursor)}"#, "commentsWatched", in: world)
    }

    private func comment(_ client: SimulatedClient, _ number: Int, in world: World) throws {
        try ask(
            client, #"{"type":"comment","id":2,"poll":"lunch","text":"\#(number)"}"#, #""number":\#(number)}"#,
            in: world)
    }

    /// The numbers of the comments received, in order.
    private func read(_ client: SimulatedClient) -> [Int] {
        client.texts.compactMap { text in
            guard text.hasPrefix(#"{"type":"comment","#), let number = text.firstRange(of: #""number":"#) else {
                return nil
            }
            return Int(text[number.upperBound...].prefix { $0.isNumber })
        }
    }

    private func log(_ shard: SimulatedShard) throws -> TopicLog {
        let kind = try #require(shard.logic.feature(Polls.self)).comments.kind!
        return try #require(shard.logic.watchers.topic(Identifier("lunch")!, kind)?.log)
    }

    @Test func `fast, slow and background readers get every comment, beside the votes`() throws {
        let world = try world()
        let shard = world.shards[0]
        let readers = try ["quick", "slow", "back"].map { try SimulatedClient($0, in: world).connect(to: shard) }
        for reader in readers {
            try watch(reader, in: world)
            try ask(reader, #"{"type":"watchPoll","id":3,"poll":"lunch"}"#, "pollWatched", in: world)
        }
        readers[1].isSlow = true
        readers[2].send(.activity(.background))
        let eve = try SimulatedClient("eve", in: world).connect(to: world.shards[1])
        for number in 1...40 {
            try comment(eve, number, in: world)
            try ask(eve, #"{"type":"vote","id":4,"poll":"lunch","choice":"soup"}"#, "voted", in: world)
        }
        try world.run(for: 200)
        expect(read(readers[0]), equals: Array(1...40))
        expect(read(readers[1]).count <= 2 && read(readers[2]) == [])
        try expect(log(shard).behind.count, equals: 2)
        readers[1].readsAgain()
        readers[2].send(.activity(.active))
        try world.run(for: 200)
        for reader in readers {
            expect(read(reader), equals: Array(1...40))
            expect(reader.texts.last { $0.contains(#""counts""#) }?.contains(#""soup":40"#), equals: true)
        }
        // Votes are a register, so the slow reader received only few of them.
        let votes = readers.map { $0.texts.count { $0.hasPrefix(#"{"type":"poll","#) } }
        expect(votes[0] == 40 && votes[1] < 4 && votes[2] < 4)
        try expect(!log(shard).hasCursors)
    }

    @Test func `a reader away for longer than memory reaches gets older comments from Redis, in order`() throws {
        let world = try world()
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let eve = try SimulatedClient("eve", in: world).connect(to: world.shards[1])
        try watch(ana, in: world)
        ana.send(.activity(.background))
        for number in 1...400 { try comment(eve, number, in: world) }
        expect(read(ana), equals: [])
        ana.send(.activity(.active))
        try world.run(until: "she has all") { read(ana).count >= 400 }
        expect(read(ana), equals: Array(1...400))
        // A client with a cursor, on a server that has nothing in memory.
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try watch(bob, after: 150, in: world)
        try world.run(until: "he has all") { read(bob).count >= 250 }
        expect(read(bob), equals: Array(151...400))
        expect(world.shards[1].logic.metrics.catchUps == 3 && world.shards[1].logic.catchUps.count == 0)
        // He returns to the first server.
        bob.lost()
        try comment(eve, 401, in: world)
        try bob.connect(to: world.shards[0])
        try watch(bob, after: 400, in: world)
        try comment(eve, 402, in: world)
        try world.run(for: 100)
        expect(read(bob) == Array(151...402) && read(ana) == Array(1...402))
    }

    @Test func `comments missed without Redis are read and appended when it returns`() throws {
        let world = try world()
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        let eve = try SimulatedClient("eve", in: world).connect(to: world.shards[1])
        try watch(ana, in: world)
        try watch(bob, in: world)
        for number in 1...3 { try comment(eve, number, in: world) }
        bob.isSlow = true
        for number in 4...5 { try comment(eve, number, in: world) }
        try world.run(for: 100)
        world.shards[0].cutAll()
        // More than a page.
        for number in 6...130 { try comment(eve, number, in: world) }
        try world.run(until: "the server is live") { world.shards[0].logic.link.isLive }
        for number in 131...133 { try comment(eve, number, in: world) }
        bob.readsAgain()
        try world.run(for: 200)
        expect(read(ana), equals: Array(1...133))
        expect(read(bob), equals: Array(1...133))
    }

    @Test func `a catch-up that fails is repeated`() throws {
        let world = try world()
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        for number in 1...3 { try comment(ana, number, in: world) }
        var refused = 0
        world.redis.refuse = { script, words in
            guard script == nil, words.first == "LRANGE", refused < 2 else { return nil }
            refused += 1
            return .server(code: "OOM", message: "OOM command not allowed")
        }
        try watch(ana, after: 0, in: world)
        try world.run(until: "she has all") { read(ana).count >= 3 }
        expect(read(ana) == [1, 2, 3] && refused == 2)
        expect(world.shards[0].logic.metrics.catchUps, equals: 3)
    }

    @Test func `a server is live only when all missed comments are read, though Redis fails at first`() throws {
        let world = try world()
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let eve = try SimulatedClient("eve", in: world).connect(to: world.shards[1])
        try watch(ana, in: world)
        try comment(eve, 1, in: world)
        // The first read may run while comments are still added.
        var refused = 0
        world.redis.refuse = { script, words in
            guard script == nil, words.first == "LRANGE", refused < 2 else { return nil }
            refused += 1
            return .server(code: "OOM", message: "OOM command not allowed")
        }
        world.shards[0].cutAll()
        for number in 2...130 { try comment(eve, number, in: world) }
        try world.run(until: "the server is live") { world.shards[0].logic.link.isLive }
        // The server may be live before the last comment is added, whose event then follows.
        let last = try log(world.shards[0]).last
        expect(refused == 2 && last >= 129)
        try world.run(for: 100)
        expect(read(ana), equals: Array(1...130))
    }

    @Test func `comments that Redis has lost are reported, and later ones are read`() throws {
        let world = try world()
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        let eve = try SimulatedClient("eve", in: world).connect(to: world.shards[1])
        try watch(ana, in: world)
        try watch(bob, in: world)
        bob.send(.activity(.background))
        for number in 1...3 { try comment(eve, number, in: world) }
        try world.redis.remember()
        for number in 4...5 { try comment(eve, number, in: world) }
        try world.run(for: 100)
        // A failover to a replica that was behind.
        try world.redis.goBack()
        for shard in world.shards { shard.cutAll() }
        try world.run(until: "the servers are live") { world.shards.allSatisfy(\.logic.link.isLive) }
        try world.run(for: 100)
        let lost = #"{"type":"commentsLost","poll":"lunch","through":3}"#
        expect(ana.texts.filter { $0 == lost }.count == 1 && bob.texts.filter { $0 == lost }.count == 1)
        try comment(eve, 4, in: world)
        bob.send(.activity(.active))
        try world.run(for: 100)
        expect(read(ana) == [1, 2, 3, 4, 5, 4] && read(bob) == [4])
        // A client that has received them arrives from another server.
        let cyd = try SimulatedClient("cyd", in: world).connect(to: world.shards[1])
        try watch(cyd, after: 5, in: world)
        try world.run(for: 100)
        expect(cyd.texts.contains(#"{"type":"commentsLost","poll":"lunch","through":4}"#))
        try comment(eve, 5, in: world)
        try world.run(for: 100)
        expect(read(cyd), equals: [5])
    }

    // MARK: Real sockets and a real Redis

    @Test func `over a real socket and a real Redis comments arrive in order, older ones too`() async throws {
        let redis = try RedisServer()
        let secret = TokenSecret()
        var configuration = ServerConfiguration()
        (configuration.port, configuration.shards) = (0, 1)
        configuration.limits.requestsPerSecond = 0
        configuration.limits.userRequestsPerSecond = 0
        let server = Server(
            configuration: configuration,
            authenticator: try await Authenticator(configuration: configuration.auth, secret: secret),
            redis: redis.url, logger: Logger(label: "comments") { _ in SwiftLogNoOpLogHandler() }, features: features)
        let port = try await server.start()
        let now = Timestamp(Date().timeIntervalSince1970 * 1_000)
        let token = try TokenMaker(secret: secret).make(user: UserID("ana")!, lifetime: 60_000, now: now)
        try await PollsClient.onThread { try Self.talk(port, token) }
        await server.stop()
        let found = try Doctor(url: redis.url, configuration: configuration, features: features).examine()
        expect(found.counts.unknownKeys, equals: 0, "\(found.text)")
    }

    private static func talk(_ port: Int, _ token: String) throws {
        let writer = try PollsClient(port: port)
        try writer.send(#"{"type":"connect","id":1,"token":"\#(token)"}"#)
        try writer.receive("connected")
        try writer.send(#"{"type":"watchComments","id":2,"poll":"lunch"}"#)
        try writer.receive("commentsWatched")
        for number in 1...300 {
            try writer.send(#"{"type":"comment","id":\#(number),"poll":"lunch","text":"as \"said\""}"#)
            try writer.receive(#""number":\#(number),"text":"as \"said\""}"#)
        }
        expect(writer.comments, equals: Array(1...300))
        // The first 44 are no longer in memory.
        let reader = try PollsClient(port: port)
        try reader.send(#"{"type":"connect","id":1,"token":"\#(token)"}"#)
        try reader.receive("connected")
        try reader.send(#"{"type":"watchComments","id":2,"poll":"lunch","after":20}"#)
        try reader.receive(#""number":300,"#)
        expect(reader.comments, equals: Array(21...300))
        let metrics = try PollsClient.get("/metrics", port: port, token: token)
        expect(metrics.contains("presence_log_entries 256") && metrics.contains("presence_log_catch_ups_total 1"))
    }
}
