import Expectations
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A request for a reset mail is answered before the lookup. If Redis fails then, the server retries.
@Suite struct ForgottenPasswordTests {
    private let accounts: AccountWorld
    private let email = "ana@example.org"
    private var world: World { accounts.world }
    private static let busy = RedisFailure.server(code: "BUSY", message: "BUSY for a moment")

    init() throws {
        accounts = try AccountWorld()
        try expect(accounts.signUp(email).status, equals: 201)
        _ = try accounts.mailToken("verify")
    }

    private func forget() throws {
        try expect(accounts.call("POST", "/v1/passwords/forgot", ["email": email]).status, equals: 202)
    }

    private func isReset(_ script: Script?, _ words: [String]) -> Bool {
        script == .forgot || script == nil && words.first == "HGET" && words.last == email
    }

    private func reset(_ token: String) throws -> Int? {
        try accounts.call("POST", "/v1/passwords/reset", ["token": token, "password": "another horse"]).status
    }

    @Test(arguments: [true, false], [busy, .overloaded, .timedOut(sent: false)])
    func `a mail is written once Redis accepts it`(isScript: Bool, failure: RedisFailure) throws {
        var refused = 0
        world.redis.refuse = { [self] script, words in
            guard isReset(script, words), (script != nil) == isScript, refused < 4 else { return nil }
            refused += 1
            return failure
        }
        try forget()
        try world.run(until: "there is a mail", within: 30_000) { !accounts.tokens("reset").isEmpty }
        try world.run(for: 60_000)
        expect(refused == 4 && accounts.tokens("reset").count == 1)
        try expect(reset(accounts.mailToken("reset")), equals: 204)
    }

    @Test func `a mail whose reply was lost is written once`() throws {
        world.redis.ran = { [world] script, _, _ in
            guard script == .forgot else { return }
            world.redis.ran = { _, _, _ in }
            world.after(0) { world.shards[0].cut(.commands) }
        }
        try forget()
        try world.run(for: 60_000)
        expect(world.redis.counts["forgot"], equals: 2)
        expect(accounts.tokens("reset").count, equals: 1)
        try expect(reset(accounts.mailToken("reset")), equals: 204)
        // It counts as one of the three mails allowed in an hour.
        for _ in 0..<3 { try forget() }
        try world.run(for: 60_000)
        expect(accounts.tokens("reset").count, equals: 3)
    }

    @Test func `a server that loses Redis for some seconds writes the mail afterwards`() throws {
        world.redis.refuse = { [self] script, words in
            guard isReset(script, words) else { return nil }
            world.redis.refuse = { _, _ in nil }
            world.redis.isGone = true
            for shard in world.shards { shard.cut(.commands) }
            return .disconnected(sent: true)
        }
        try forget()
        try world.run(for: 5_000)
        expect(world.shards.allSatisfy { !$0.logic.link.isLive })
        world.redis.isGone = false
        try world.run(until: "there is a mail", within: 30_000) { !accounts.tokens("reset").isEmpty }
    }

    @Test func `retries end after half a minute, and at once if the error is permanent`() throws {
        world.redis.refuse = { [self] script, words in isReset(script, words) ? Self.busy : nil }
        try forget()
        try world.run(for: 60_000)
        let asked = world.redis.counts["HGET", default: 0]
        world.redis.refuse = { script, _ in
            script == .forgot ? .server(code: "WRONGTYPE", message: "WRONGTYPE no hash") : nil
        }
        try forget()
        try world.run(for: 120_000)
        expect(world.redis.counts["HGET"], equals: asked + 1)
        expect(world.redis.counts["forgot"] == 1 && world.shards[0].logic.metrics.damagedRecords > 0)
        world.redis.refuse = { _, _ in nil }
        try world.run(for: 120_000)
        expect(accounts.tokens("reset").isEmpty)
    }

    @Test func `a flood of requests keeps at most a thousand retries`() throws {
        world.redis.refuse = { [self] script, words in isReset(script, words) ? Self.busy : nil }
        let calls = (0..<1_100).map { _ in
            SimulatedCall("POST", "/v1/passwords/forgot", ["email": email], to: world.shards[0])
        }
        try world.run(until: "all are answered") { calls.allSatisfy { $0.status == 202 } }
        try world.run(for: 100)
        world.redis.counts = [:]
        try world.run(for: 1_000)
        expect(world.redis.counts["HGET"], equals: 1_000)
    }
}
