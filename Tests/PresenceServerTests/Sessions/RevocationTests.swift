import Expectations
import PresenceProtocol
import Redis
import Testing
import Tokens

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Revoked tokens: invalid from that moment, on every server and for good.
@Suite struct RevocationTests {
    private func client(_ user: String, in world: World) -> SimulatedClient {
        let client = SimulatedClient(user, in: world)
        client.issuedAt = world.redisNow
        return client
    }

    /// Revokes tokens through a shard, and returns the answer's words.
    @discardableResult
    private func revoke(_ user: String, at shard: Int = 0, in world: World) throws -> [RedisValue] {
        var words: [RedisValue]?
        world.shards[shard].input { logic in
            logic.run(logic.revokingTokens(of: UserID(user)!)) { words = try? $0.get().array ?? [] }
        }
        try world.run(until: "it is revoked") { words != nil }
        return words!
    }

    private func errors(_ client: SimulatedClient) -> [ErrorCode] {
        client.received.compactMap { if case .error(let error) = $0 { error.code } else { nil } }
    }

    @Test func `a user's connections are closed on every server at once, and no others`() throws {
        let world = try World(shards: 3)
        let bobs = try world.shards.map { try client("bob", in: world).connect(to: $0) }
        let ana = try client("ana", in: world).connect(to: world.shards[0]).watch("bob")
        try world.run(for: 10)
        let words = try revoke("bob", at: 1, in: world)
        expect(words[1].int, equals: 3)
        try world.run(for: 10)
        expect(bobs.map { $0.closeCode }, equals: [.unauthorized, .unauthorized, .unauthorized])
        expect(ana.isConnected)
        // The sessions linger: a user who returns with a valid token in time is never shown offline.
        bobs[0].issuedAt = world.redisNow
        try bobs[0].connect(to: world.shards[0])
        expect(bobs[0].isConnected)
        try world.run(for: 60_000)
        expect(bobs[0].isConnected && ana.shown("bob").isEmpty)
    }

    /// A server that paused dates its tokens by an estimate of Redis' clock that is ahead.
    @Test func `a token dated too late is revoked with the others`() throws {
        let world = try World(shards: 2)
        let bob = SimulatedClient("bob", in: world)
        bob.issuedAt = world.redisNow + 500
        try bob.connect(to: world.shards[0])
        try world.run(for: 100)
        try revoke("bob", at: 1, in: world)
        try world.run(for: 100)
        expect(bob.closeCode, equals: .unauthorized)
        // A token signed since is valid.
        bob.issuedAt = world.redisNow
        try bob.connect(to: world.shards[0])
        try world.run(for: 1_000)
        expect(bob.isConnected)
    }

    @Test func `a connect under way when its token is revoked is rejected with an error`() throws {
        let world = try World(shards: 2)
        let bob = client("bob", in: world)
        try world.run(for: 10)
        // The event of the revocation arrives before the reply to the opening.
        world.shards[0].hold(.commands, for: 500)
        bob.dial(world.shards[0])
        try revoke("bob", at: 1, in: world)
        try world.run(for: 1_000)
        expect(bob.closeCode == .unauthorized && errors(bob) == [.unauthorized])
        expect(world.shards[0].logic.sessions.count, equals: 0)
    }

    @Test func `a token from before is invalid, one of that ms or later valid, one without a time invalid`()
        throws
    {
        let world = try World(shards: 1)
        let notBefore = try #require(try revoke("bob", in: world).last?.int)
        // The event closes the connections of that time without an answer.
        try world.run(for: 10)
        for (issuedAt, isGood) in [(notBefore - 1, false), (notBefore, true), (nil, false), (notBefore - 999, false)] {
            let bob = SimulatedClient("bob", in: world)
            bob.issuedAt = issuedAt
            try bob.connect(to: world.shards[0])
            expect(bob.closeCode, equals: isGood ? nil : .unauthorized, "\(issuedAt ?? -1)")
            expect(errors(bob), equals: isGood ? [] : [.unauthorized])
        }
        // Only the valid token has a session, here and in Redis.
        expect(world.shards[0].logic.sessions.count, equals: 1)
        let user = UserID("bob")!
        let key = world.shards[0].logic.partitions.keys(of: user).sessions(user)
        let held1 = try world.redis.command(["HLEN", key]).get().int
        expect(held1, equals: 1)
        let held2 = try SimulatedClient("cy", in: world).connect(to: world.shards[0]).isConnected
        expect(held2)
    }

    @Test func `a connect costs no further commands to Redis`() throws {
        let world = try World(shards: 1)
        try revoke("bob", in: world)
        world.redis.counts = [:]
        try client("bob", in: world).connect(to: world.shards[0])
        expect(world.redis.counts.filter { !["renew", "sweep", "PUBLISH"].contains($0.key) }, equals: ["open": 1])
    }

    @Test func `a connection cannot refresh with a token from before`() throws {
        let world = try World(shards: 2)
        let old = SimulatedClient("bob", in: world)
        old.issuedAt = world.redisNow
        try world.run(for: 10)
        try revoke("bob", at: 1, in: world)
        let bob = try client("bob", in: world).connect(to: world.shards[0])
        bob.send(.refresh(token: old.token))
        bob.send(.refresh(token: "bob"))
        try world.run(for: 10)
        expect(errors(bob) == [.unauthorized, .unauthorized] && bob.isConnected)
        bob.send(.refresh(token: client("bob", in: world).token))
        try world.run(for: 10)
        expect(bob.received.contains { if case .refreshed = $0 { true } else { false } })
    }

    @Test func `a connection's requests after a revocation are not carried out, with or without the event`() throws {
        let world = try World(shards: 2)
        let bob = try client("bob", in: world).connect(to: world.shards[0])
        let ana = try client("ana", in: world).connect(to: world.shards[1]).watch("bob")
        bob.sendText(#"{"type":"createConversation","id":90,"participants":["ana","cy"]}"#)
        try world.run(for: 500)
        let group = try #require(
            bob.received.compactMap { if case .conversationCreated(90, let c) = $0 { c.id } else { nil } }.first)
        let keys = world.shards[0].logic.partitions.keys(of: UserID("bob")!)
        let before = try world.redis.command(["HGETALL", keys.user(UserID("bob")!)]).get().array ?? []
        for (number, request) in [
            #""type":"updateProfile","changes":{"displayName":"Bob"}"#, #""type":"status","status":"busy","text":"t""#,
            #""type":"setVisibility","visibility":{"lastSeen":"nobody","receipts":"nobody"}"#,
            #""type":"addContacts","users":["ana"]"#, #""type":"block","users":["ana"]"#,
            #""type":"createConversation","participants":["ana"]"#,
            #""type":"createConversation","participants":["ana"],"name":"Trip""#,
            #""type":"send","conversation":"\#(group)","message":{"id":"m","text":"a"}"#,
            #""type":"renameConversation","conversation":"\#(group)","name":"Alps""#,
            #""type":"changeMembers","conversation":"\#(group)","add":["dee"]"#,
            #""type":"typing","conversation":"\#(group)","typing":true"#,
            #""type":"markNotifications","seen":1"#,
        ].enumerated() {
            world.shards[0].holdEvents(for: 700)
            try revoke("bob", at: 1, in: world)
            bob.sendText("{\(request),\"id\":\(100 + number)}")
            try world.run(for: 500)
            expect(bob.closeCode == .unauthorized && errors(bob).isEmpty, "\(request)")
            try world.run(for: 3_000)
            bob.issuedAt = world.redisNow
            try bob.connect(to: world.shards[0])
            expect(bob.isConnected)
        }
        let after = try world.redis.command(["HGETALL", keys.user(UserID("bob")!)]).get().array ?? []
        for (fields, has) in [(before, false), (after, true)] {
            let names = stride(from: 0, to: fields.count, by: 2).compactMap { fields[$0].string }
            expect(!names.contains("profile") && !names.contains("chosen") && !names.contains("visibility"))
            expect(names.contains("revokedAt"), equals: has)
        }
        if case .profile(let shown)? = ana.profiles[UserID("bob")!] { Issue.record("\(shown) is shown") }
        expect(ana.status(of: "bob"), equals: .online)
        let conversations = world.shards[0].logic.partitions.keys(of: group)
        let record = try world.redis.command(["HGETALL", conversations.conversation(group)]).get().array ?? []
        expect(!record.contains { ["name", "message", "m:dee"].contains($0.string) })
    }

    @Test func `a refresh with a signed-out device's token is rejected, and the connection keeps its old one`() throws {
        let world = try World(shards: 1)
        let bob = try client("bob", in: world).connect(to: world.shards[0])
        let before = bob.received.count
        // (No device has such a grant.)
        world.shards[0].input { logic in
            guard let connection = logic.sessions.users[UserID("bob")!]?.sessions.first?.connection else { return }
            let claims = Claims(
                subject: UserID("bob")!, isBackend: false, expiresAt: .max, issuedAt: world.redisNow,
                grant: Identifier("g")!)
            logic.renew(.valid(claims), connection, 7)
        }
        try world.run(for: 1_000)
        expect(bob.isConnected && errors(bob) == [.unauthorized])
        expect(!bob.received[before...].contains { if case .refreshed = $0 { true } else { false } })
    }

    @Test func `a connection with a newer token stays open until the next revocation`() throws {
        let world = try World(shards: 1)
        let bob = try client("bob", in: world).connect(to: world.shards[0])
        try world.run(for: 1_000)
        let newer = world.redisNow + 4_000
        bob.send(.refresh(token: "bob#\(newer)"))
        try world.run(for: 10)
        // Issued by a clock that is ahead: the token still counts as newer.
        try revoke("bob", in: world)
        try world.run(for: 10)
        expect(bob.isConnected)
        try world.run(for: 5_000)
        try revoke("bob", in: world)
        try world.run(for: 10)
        expect(bob.closeCode, equals: .unauthorized)
    }

    @Test func `a client that connected without Redis with a revoked token is closed when it returns`() throws {
        let world = try World(shards: 2)
        let bob = client("bob", in: world)
        let lost = try client("bob", in: world).connect(to: world.shards[0])
        try world.run(for: 10)
        world.shards[0].cutAll()
        lost.lost()
        try bob.connect(to: world.shards[0])
        expect(bob.isConnected)
        // The event reaches no connection: the first server does not receive it.
        let id = UserID("bob")!
        let keys = world.shards[1].logic.partitions.keys(of: id)
        let revoked = world.redis.run(
            .revoke, keys: [keys.shards, keys.floor, keys.user(id), keys.sessions(id), keys.grants(id)],
            arguments: [String(world.redisNow), keys.events, world.shards[1].logic.link.incarnation, "bob"])
        let held3 = try revoked.get().array?.first?.string
        expect(held3, equals: "OK")
        try world.run(until: "live again") { world.shards[0].logic.link.isLive }
        try world.run(for: 100)
        expect(bob.closeCode, equals: .unauthorized)
        try world.run(for: 30_000)
        expect(world.shards[0].logic.sessions.count, equals: 0)
        let user = UserID("bob")!
        let key = world.shards[0].logic.partitions.keys(of: user).sessions(user)
        let held4 = try world.redis.command(["HLEN", key]).get().int
        expect(held4, equals: 0)
    }

    @Test func `a revocation stays if Redis' clock is set back`() throws {
        let world = try World(shards: 1)
        let first = try #require(try revoke("bob", in: world).last?.int)
        world.redisEpoch -= 3_600_000
        let second = try #require(try revoke("bob", in: world).last?.int)
        expect(second, equals: first)
    }

    @Test func `the same holds over HTTP, and an unknown state is no permission`() throws {
        let world = try World(shards: 1)
        func isRevoked(_ issuedAt: Timestamp?) throws -> Bool? {
            var answer: TokenStanding??
            let claims = Claims(subject: UserID("bob")!, isBackend: false, expiresAt: .max, issuedAt: issuedAt)
            world.shards[0].input { $0.standing(of: claims) { answer = .some($0) } }
            try world.run(until: "it is known") { answer != nil }
            return answer!.map { $0 == .revoked }
        }
        let held5 = try isRevoked(nil)
        expect(held5, equals: false)
        let at = try #require(try revoke("bob", in: world).last?.int)
        let held6 = try isRevoked(at - 1)
        expect(held6, equals: true)
        let held7 = try isRevoked(at)
        expect(held7, equals: false)
        // While the user is connected, no query is needed.
        try client("bob", in: world).connect(to: world.shards[0])
        world.redis.counts = [:]
        let held8 = try isRevoked(nil)
        expect(held8, equals: true)
        expect(world.redis.counts["HMGET"], equals: nil)
        world.redis.isGone = true
        world.shards[0].cutAll()
        let held9 = try isRevoked(at)
        expect(held9, equals: nil)
    }
}
