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

/// A feature whose changes span partitions.
@Suite struct PollNamesTests {
    private func world(shards: Int = 2) throws -> World { try World(shards: shards, features: NameHistory.features) }

    private func ask(_ client: SimulatedClient, _ text: String, _ answer: String, in world: World) throws {
        let before = client.texts.count
        client.sendText(text)
        try world.run(until: "\(answer) has come", within: 20_000) {
            client.texts[before...].contains { $0.contains(answer) }
        }
    }

    private func name(_ poll: String, _ name: String, id: Int = 1) -> String {
        #"{"type":"namePoll","id":\#(id),"poll":"\#(poll)","name":"\#(name)"}"#
    }

    private func unfinished(in world: World) -> Int {
        (0..<world.configuration.partitions).reduce(0) { sum, index in
            let key = Partitions(world.configuration, database: 0).keys(index).unfinished
            return sum + ((try? world.redis.ask(["SCARD", key]).get())?.int.map { Int($0) } ?? 0)
        }
    }

    @Test func `a name is taken, changed and released, and watchers see each change once`() throws {
        let world = try world()
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try ask(bob, #"{"type":"watchPollName","id":1,"poll":"p1"}"#, "pollNameWatched", in: world)
        try ask(ana, name("p1", "Soup"), "pollNamed", in: world)
        // Names are equal regardless of case.
        try ask(bob, name("p2", "SOUP", id: 2), #""code":"conflict""#, in: world)
        try ask(ana, name("p1", "soup", id: 3), #""id":3"#, in: world)
        try ask(ana, name("p1", "Pie", id: 4), "pollNamed", in: world)
        // The former name is free at once.
        try ask(bob, name("p2", "Soup", id: 5), "pollNamed", in: world)
        try ask(ana, #"{"type":"unnamePoll","id":6,"poll":"p1"}"#, #""id":6"#, in: world)
        try world.run(for: 100)
        let seen = bob.texts.filter { $0.hasPrefix(#"{"type":"pollName","#) }.map { text in
            text.firstRange(of: #""name":""#).map { String(text[$0.upperBound...].prefix { $0 != "\"" }) } ?? "-"
        }
        expect(seen, equals: ["Soup", "soup", "Pie", "-"])
        expect(unfinished(in: world), equals: 0)
    }

    @Test func `of a hundred polls that want one name at once, one gets it`() throws {
        let world = try world(shards: 3)
        let clients = try (0..<10).map { try SimulatedClient("u\($0)", in: world).connect(to: world.shards[$0 % 3]) }
        let before = clients.map(\.texts.count)
        for poll in 0..<100 { clients[poll % 10].sendText(name("p\(poll)", "Soup", id: poll + 1)) }
        func answers(_ part: String) -> Int {
            zip(clients, before).reduce(0) { $0 + $1.0.texts[$1.1...].count { $0.contains(part) } }
        }
        try world.run(until: "all are answered") { answers("pollNamed") + answers("conflict") == 100 }
        expect(answers("pollNamed"), equals: 1)
        try world.run(for: 100)
        expect(unfinished(in: world), equals: 0)
    }

    @Test func `if Redis is lost during a change its outcome is unknown, and the next sweep finishes it`() throws {
        let world = try world()
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        world.redis.ran = { script, _, _ in
            guard script == .claimWant else { return }
            world.after(0) { world.shards[0].cut(.commands) }
        }
        try ask(ana, name("p1", "Soup"), #""outcomeUnknown":true"#, in: world)
        world.redis.ran = { _, _, _ in }
        expect(unfinished(in: world) > 0)
        let since = world.now
        try world.run(until: "it is finished", within: 20_000) { unfinished(in: world) == 0 }
        expect(world.now - since <= 10_100)
        let shards = world.shards.map(\.logic!)
        expect(shards.reduce(0) { $0 + $1.intents.resumed } > 0)
        try world.run(until: "the server is live") { shards[0].link.isLive }
        try ask(ana, name("p2", "soup", id: 2), #""code":"conflict""#, in: world)
        // The next sweep has found nothing pending.
        try world.run(for: 25_000)
        expect(shards.allSatisfy { $0.intents.pending == 0 && $0.intents.underWay == 0 })
    }

    @Test func `while Redis fails, sweeps become rarer, but run at least once a minute`() throws {
        let world = try world(shards: 1)
        world.redis.refuse = { _, words in
            words.first == "SRANDMEMBER" ? .server(code: "LOADING", message: "LOADING") : nil
        }
        try world.run(for: 300_000)
        world.redis.counts = [:]
        try world.run(for: 600_000)
        let sweeps = world.redis.counts["SRANDMEMBER", default: 0] / world.configuration.partitions
        expect((9...11).contains(sweeps))
        world.redis.refuse = { _, _ in nil }
        try world.run(for: 70_000)
        world.redis.counts = [:]
        try world.run(for: 600_000)
        expect((58...61).contains(world.redis.counts["SRANDMEMBER", default: 0] / world.configuration.partitions))
    }

    @Test func `an unreadable record keeps no other from being finished`() throws {
        let world = try world(shards: 1)
        let partitions = Partitions(world.configuration, database: 0)
        func leave(_ poll: String, _ write: [String]) throws {
            let keys = partitions.keys(of: Identifier(poll)!)
            let record = PollNames.names.record(of: Identifier(poll)!, in: keys)
            _ = try world.redis.ask([write[0], record] + write.dropFirst()).get()
            _ = try world.redis.ask(["SADD", keys.unfinished, "pollname " + poll]).get()
        }
        for number in 0..<50 { try leave("damaged-\(number)", ["SET", "x"]) }
        try world.run(for: 30_000)
        try leave("p1", ["HSET", "wish", "7", "wanted", "soup", "wantedAs", "Soup"])
        try world.run(until: "it is finished", within: 60_000) { unfinished(in: world) == 50 }
        let intents = world.shards[0].logic.intents!
        // It counts ten in each of the four partitions.
        expect(intents.failures > 0 && intents.pending >= 40)
        expect(world.shards[0].logic.link.isLive)
    }

    @Test func `requests about one subject queue up, up to their limit`() throws {
        let world = try world(shards: 1)
        let most = Intents.mostOfBackends
        // Each on a connection of its own, because the requests of one connection wait for each other anyway.
        let people = try (1...most + 2).map {
            try SimulatedClient("person-\($0)", in: world).connect(to: world.shards[0])
        }
        func told(_ text: String) -> Int { people.count { $0.texts.contains { $0.contains(text) } } }
        for (id, person) in people.enumerated() { person.sendText(name("p1", "name-\(id)", id: id + 1)) }
        try world.run(until: "all are answered") { told("pollNamed") + told("unavailable") == most + 2 }
        expect(told("pollNamed") == most && told("unavailable") == 2)
    }

    @Test func `on real servers a half-done name is finished, and the doctor knows all keys`() async throws {
        let redis = try RedisServer()
        let secret = TokenSecret()
        var configuration = ServerConfiguration()
        (configuration.port, configuration.shards) = (0, 1)
        let server = Server(
            configuration: configuration,
            authenticator: try await Authenticator(configuration: configuration.auth, secret: secret),
            redis: redis.url, logger: Logger(label: "names") { _ in SwiftLogNoOpLogHandler() },
            features: NameHistory.features)
        let port = try await server.start()
        let token = try TokenMaker(secret: secret)
            .make(user: UserID("ana")!, lifetime: 60_000, now: Timestamp(Date().timeIntervalSince1970 * 1_000))
        let (place, settings) = (redis.unix, configuration)
        try await PollsClient.onThread {
            let client = try PollsClient(port: port)
            try client.send(#"{"type":"connect","id":1,"token":"\#(token)"}"#)
            try client.receive("connected")
            try client.send(#"{"type":"watchPollName","id":2,"poll":"p1"}"#)
            try client.receive("pollNameWatched")
            // As left by an executor that died after its first step.
            let admin = try BlockingRedis(place)
            let keys = Partitions(settings, database: 0).keys(of: Identifier("p1")!)
            let record = PollNames.names.record(of: Identifier("p1")!, in: keys)
            try admin.command(
                "HSET", .string(record), "wish", "7", "wanted", "soup", "wantedAs", "Soup")
            try admin.command("SADD", .string(keys.unfinished), "pollname p1")
            try client.receive(#""name":"Soup""#)
            try client.send(#"{"type":"namePoll","id":3,"poll":"p2","name":"soup"}"#)
            try client.receive(#""code":"conflict""#)
            while try admin.command("EXISTS", .string(keys.unfinished)).int == 1 {}
            let metrics = try PollsClient.get("/metrics", port: port, token: token)
            expect(metrics.contains("presence_intents_resumed_total") && metrics.contains("presence_intents_pending"))
        }
        await server.stop()
        let found = try Doctor(url: redis.url, configuration: configuration, features: NameHistory.features).examine()
        expect(found.counts.unknownKeys, equals: 0, "\(found.text)")
        let claims: Set<DoctorFinding.Kind> = [.unnamedClaim, .lostClaim, .contestedClaim, .unlistedIntent]
        expect(claims.isDisjoint(with: found.findings.map(\.kind)), "\(found.text)")
    }
}
