import Expectations
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// The layout of accounts and profiles in Redis, and the handling of earlier layouts.
@Suite struct AccountLayoutTests {
    @Test func `an account with a name is one hash small enough for a listpack, and two fields elsewhere`() throws {
        let accounts = try AccountWorld()
        let body = ["email": "ana@example.org", "password": "correct horse", "username": "Ana.B"]
        let call = try accounts.call("POST", "/v1/accounts", body)
        expect(call.status, equals: 201, "\(call.json)")
        let user = try #require(call.json["user"] as? String)
        let world = accounts.world
        // Time for the username's claim to be confirmed.
        try world.run(for: 1_000)
        let keys = (try world.redis.command(["KEYS", "*"]).get().array ?? []).compactMap(\.string)
        expect(keys.filter { $0.hasSuffix(user) && !$0.contains(":grants:") }.count, equals: 1, "\(keys)")
        let key = try #require(keys.first { $0.hasSuffix(":user:\(user)") })
        try expect(world.redis.command(["OBJECT", "ENCODING", key]).get().string, equals: "listpack")
        let claims = keys.filter { $0.contains(":name:") || $0.contains(":email:") }
        expect(claims.count == 2 && !claims.contains { $0.contains("ana") })
        // No field is stored twice.
        let fields = (try world.redis.command(["HKEYS", key]).get().array ?? []).compactMap(\.string)
        expect(Set(fields).isDisjoint(with: ["displayName", "username", "createdAt", "last", "wish"]), "\(fields)")
    }

    @Test func `a profile of layout 1 is readable, and a change writes it in the new layout`() throws {
        let world = try World(shards: 1)
        let partitions = Partitions(world.configuration, database: 0)
        let key = partitions.keys(of: UserID("ana")!).user(UserID("ana")!)
        let body = #""displayName":"A \"quoted\" \\","locale":"es-ES","createdAt":5,"updatedAt":6}"#
        _ = world.redis.command(["SET", partitions.space.format, "1 \(partitions.count)"])
        _ = world.redis.command([
            "HSET", key, "displayName", #""A \"quoted\" \\""#, "locale", #""es-ES""#, "createdAt", "5",
            "profileVersion", "6", "profile", body,
        ])
        try world.addShard()
        try world.run(until: "the new shard is live") { world.shards[1].logic.link.isLive }
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[1])
        ana.send(.updateProfile(.init(timezone: .set("Europe/Madrid"))))
        try world.run(for: 1_000)
        let fields = try world.redis.command(["HMGET", key, "profile", "displayName", "createdAt"]).get().array ?? []
        let profile = try #require(fields[0].string)
        expect(
            profile.hasPrefix(
                #""displayName":"A \"quoted\" \\","timezone":"Europe/Madrid","locale":"es-ES","createdAt":5,"updatedAt":"#
            ),
            "\(profile)")
        expect(fields[1].isNull && fields[2].isNull)
        let format = try world.redis.command(["GET", partitions.space.format]).get().string
        expect(format, equals: "\(Partitions.layout) \(partitions.count)")
    }

    @Test func `accounts of layout 1 are rejected`() throws {
        let world = try World(shards: 1)
        let partitions = Partitions(world.configuration, database: 0)
        _ = world.redis.command(["SET", partitions.space.format, "1 \(partitions.count)"])
        _ = world.redis.command(["SET", partitions.space.addressKey, "00"])
        try world.addShard()
        var refusals: [String] = []
        world.shards[1].logic.link.onRefusal = { refusals.append($0) }
        try world.run(for: 5_000)
        expect(refusals.first?.contains("accounts of format 1"), equals: true)
        expect(!world.shards[1].logic.link.isLive)
        try expect(world.redis.command(["GET", partitions.space.format]).get().string, equals: "1 \(partitions.count)")
    }
}
