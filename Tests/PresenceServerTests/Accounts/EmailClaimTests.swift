import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Claims on addresses: the answers of a server that has lost its right to write in the claim's partition.
@Suite struct EmailClaimTests {
    private let accounts: AccountWorld
    private let ana = ["email": "ana@example.org", "password": "correct horse"]
    private var world: World { accounts.world }

    init() throws { accounts = try AccountWorld() }

    /// Fences the first server in a partition when it runs a script.
    private func fence(in keys: PartitionKeys, at script: Script) {
        let (redis, incarnation) = (world.redis, world.shards[0].logic.link.incarnation)
        redis.runs = { [unowned redis] running, _ in
            if running == script { _ = redis.ask(["SREM", keys.shards, incarnation]) }
        }
    }

    private func signUp() throws -> (user: UserID, token: String?) {
        let call = try accounts.call("POST", "/v1/accounts", ana, at: 1)
        expect(call.status, equals: 201)
        let user = try #require((call.json["user"] as? String).flatMap { UserID($0) })
        return (user, call.json["accessToken"] as? String)
    }

    @Test func `a fenced server does not report an address as taken`() throws {
        let user = try signUp().user
        fence(in: world.shards[0].logic.partitions.keys(of: user), at: .holdsClaim)
        let call = try accounts.call("POST", "/v1/accounts", ana)
        expect(call.status == 503 && call.json["code"] as? String == "unavailable", "\(call.json)")
        // The server has noticed and now has a new incarnation.
        world.redis.runs = { _, _ in }
        try world.run(for: 5_000)
        try expect(accounts.call("POST", "/v1/accounts", ana).reason, equals: "email_taken")
    }

    @Test func `an address is not free until its claim has been released`() throws {
        let (user, token) = try signUp()
        let logic = world.shards[0].logic!
        let addresses = try #require(logic.feature(Accounts.self)?.logins)
        let home = logic.partitions.index(of: user)
        let email = (0...).lazy.map { EmailAddress("anna\($0)@example.org")! }.first {
            addresses.partition(of: $0.text) != home
        }!
        let keys = addresses.keys(of: email.text)
        _ = world.redis.command(["HSET", keys.emails(with: email), email.text, "u-nobody 3"])
        fence(in: keys, at: .releaseClaim)
        let body = ["email": email.text, "password": "correct horse"]
        try expect(accounts.call("POST", "/v1/me/email", body, token: token).status, equals: 503)
        world.redis.runs = { _, _ in }
        try world.run(for: 5_000)
        try expect(accounts.call("POST", "/v1/me/email", body, token: token).status, equals: 202)
    }
}
