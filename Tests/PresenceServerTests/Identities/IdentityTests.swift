import Expectations
import Foundation
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// The remains of an identity after a server's death. Tests/Conformance/test_26_accounts_providers.py has the rules.
@Suite struct IdentityTests {
    private let accounts: AccountWorld
    private let provider: SimulatedProvider
    private var world: World { accounts.world }

    init() throws {
        accounts = try AccountWorld { $0[Accounts.providers] = SimulatedProvider.setting }
        provider = try SimulatedProvider(knownTo: accounts)
    }

    private func redis(_ words: [String]) -> RedisValue? { try? world.redis.command(words).get() }

    /// All claims on identities: digest → `USER NUMBER`.
    private var claims: [String: String] {
        var claims: [String: String] = [:]
        for key in redis(["KEYS", "*:identity:*"])?.array?.compactMap(\.string) ?? [] {
            let words = redis(["HGETALL", key])?.array?.compactMap(\.string) ?? []
            for index in stride(from: 0, to: words.count - 1, by: 2) { claims[words[index]] = words[index + 1] }
        }
        return claims
    }

    private func field(_ name: String, of user: UserID) -> String? {
        let keys = world.shards[0].logic.partitions.keys(of: user)
        return redis(["HGET", keys.user(user), name])?.string
    }

    private func signUp(_ body: [String: Any]) throws -> (user: UserID, token: String) {
        let call = try accounts.call("POST", body["provider"] == nil ? "/v1/accounts" : "/v1/sessions", body)
        expect(call.status, equals: 201)
        return (
            try #require((call.json["user"] as? String).flatMap { UserID($0) }),
            try #require(call.json["accessToken"] as? String)
        )
    }

    @Test func `a server that dies while it links leaves nothing`() throws {
        let ana = try signUp(["email": "ana@example.org", "password": "correct horse"])
        let body = try provider.body("1")
        let call = SimulatedCall("POST", "/v1/me/identities", body, token: ana.token, to: world.shards[0])
        try world.run(until: "the identity is claimed") { !claims.isEmpty }
        world.shards[0].die()
        expect(call.status, equals: nil)
        // The wish is open: another account does not get the identity, and then it does.
        try expect(accounts.call("POST", "/v1/sessions", body, at: 1).status, equals: 503)
        try world.run(for: 60_000)
        expect(claims.isEmpty && field("identities", of: ana.user) == nil)
        expect(field("identityWanted", of: ana.user) == nil && field("identityReleasing", of: ana.user) == nil)
        try expect(accounts.call("POST", "/v1/sessions", body, at: 1).status, equals: 201)
    }

    @Test func `a void claim does not block its identity`() throws {
        let body = try provider.body("1")
        let ana = try signUp(body)
        let claim = try #require(claims.first)
        let addresses = try #require(world.shards[0].logic.feature(Accounts.self)?.logins)
        let keys = try #require(addresses.keys(ofIdentity: claim.key))
        // As a late executor writes it: the account has the identity under another number.
        _ = world.redis.command(["HSET", keys.identities(with: claim.key), claim.key, "\(ana.user.string) 1"])
        let again = try signUp(body)
        expect(again.user != ana.user)
        try expect(accounts.call("POST", "/v1/sessions", body).json["user"] as? String, equals: again.user.string)
    }

    @Test func `a late server does not link an identity that another has got`() throws {
        let ana = try signUp(["email": "ana@example.org", "password": "correct horse"])
        let body = try provider.body("1")
        let call = SimulatedCall("POST", "/v1/me/identities", body, token: ana.token, to: world.shards[0])
        try world.run(until: "the identity is claimed") { !claims.isEmpty }
        // Its wish ends before it links: as after a reset of the password.
        let keys = world.shards[0].logic.partitions.keys(of: ana.user)
        _ = world.redis.command(["HDEL", keys.user(ana.user), "identityWanted"])
        try world.run(until: "the call is answered") { call.status != nil }
        expect(call.status == 503 && field("identities", of: ana.user) == nil)
        try expect(signUp(body).user != ana.user)
    }

    @Test func `a deleted account leaves no claim, although its server dies`() throws {
        let ana = try signUp(try provider.body("1", "ana@example.org"))
        expect(claims.count == 1 && field("email", of: ana.user) == "ana@example.org")
        var body = try provider.body("1")
        body["password"] = nil
        let call = SimulatedCall("DELETE", "/v1/me", body, token: ana.token, to: world.shards[0])
        try world.run(until: "the account is gone") { field("version", of: ana.user) == nil }
        world.shards[0].die()
        expect(call.status, equals: nil)
        try world.run(for: 60_000)
        expect(claims.isEmpty && field("identityReleasing", of: ana.user) == nil)
    }
}
