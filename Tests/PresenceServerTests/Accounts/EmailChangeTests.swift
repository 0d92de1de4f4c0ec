import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A change of address spans three partitions. Whatever fails on the way, it is complete or undone, and leaves no
/// trace.
@Suite struct EmailChangeTests {
    private let accounts: AccountWorld
    private let old = AccountWorld.oldAddress
    private let new = AccountWorld.newAddress
    private let password = AccountWorld.password

    init() throws { accounts = try AccountWorld() }

    private var world: World { accounts.world }

    @Test(arguments: 1...5)
    func `a change whose server dies is completed by another one within a sweep`(_ step: Int) throws {
        let token = try accounts.ask()
        accounts.dieAfter(step)
        _ = SimulatedCall("POST", "/v1/emails/verify", ["token": token], to: world.shards[0])
        try world.run(for: 12_000)
        try expect(!accounts.isUnfinished())
        try expect(accounts.signIn(new).status == 200 && accounts.signIn(old).status == 401)
        try expect(accounts.signUp(old).status, equals: 201, "the old address is free")
        try expect(accounts.signUp(new).reason, equals: "email_taken")
        let record = try world.redis.command(["KEYS", "*:user:*"]).get().array ?? []
        for key in record.compactMap(\.string) {
            let fields = try world.redis.command(["HMGET", key, "emailWanted", "emailReleasing"]).get().array ?? []
            expect(fields.compactMap(\.string).isEmpty)
        }
        expect(accounts.tokens("verify", to: new).count, equals: 1)
    }

    @Test func `a change to an address that was taken meanwhile is rejected and leaves no trace`()
        throws
    {
        let token = try accounts.ask()
        try expect(accounts.signUp(new).status, equals: 201)
        let verified = try accounts.call("POST", "/v1/emails/verify", ["token": token])
        expect(verified.status == 409 && verified.reason == "email_taken")
        try world.run(for: 100)
        try expect(!accounts.isUnfinished() && accounts.signIn(old).status == 200)
    }

    @Test
    func `a change that expires before it continues is dropped, and its address is free`()
        throws
    {
        let token = try accounts.ask()
        accounts.dieAfter(2)
        _ = SimulatedCall("POST", "/v1/emails/verify", ["token": token], to: world.shards[0])
        try world.run(for: 300)
        try expect(accounts.isUnfinished())
        world.redisEpoch += MailToken.lifetime
        try world.run(for: 20_000)
        try world.run(until: "both servers are live") {
            world.shards.allSatisfy { $0.logic.link.isLive }
        }
        try expect(!accounts.isUnfinished() && accounts.signIn(old).status == 200)
        try expect(accounts.signUp(new).status, equals: 201)
    }

    @Test(arguments: [1, 2])
    func `a new password cancels a pending change and releases its claim`(_ step: Int) throws {
        let token = try accounts.ask()
        accounts.dieAfter(step)
        _ = SimulatedCall("POST", "/v1/emails/verify", ["token": token], to: world.shards[0])
        try world.run(for: 20)
        let access = try accounts.signIn(old).json["accessToken"] as? String
        let another = "battery staple"
        let changed = try accounts.call(
            "POST", "/v1/me/password", ["password": password, "newPassword": another], token: access, at: 1)
        expect(changed.status, equals: 204)
        try world.run(for: 12_000)
        try expect(!accounts.isUnfinished())
        let signedIn = try accounts.call("POST", "/v1/sessions", ["email": old, "password": another], at: 1)
        expect(signedIn.status, equals: 200)
        try expect(accounts.signUp(new).status, equals: 201, "the address that was claimed is free")
    }

    /// Changes the user's address to one in another partition than the account's.
    private func move() throws -> (email: String, user: UserID, token: String?) {
        let ana = try accounts.signUp(old)
        let user = try #require((ana.json["user"] as? String).flatMap { UserID($0) })
        let logic = world.shards[1].logic!
        let addresses = try #require(logic.feature(Accounts.self)?.logins)
        let email = (0...).lazy.map { "anna\($0)@example.org" }.first {
            addresses.partition(of: $0) != logic.partitions.index(of: user)
        }!
        let token = ana.json["accessToken"] as? String
        let body = ["password": password, "email": email]
        try expect(accounts.call("POST", "/v1/me/email", body, token: token, at: 1).status, equals: 202)
        let mail = try accounts.mailToken("verify", to: email)
        try expect(accounts.call("POST", "/v1/emails/verify", ["token": mail], at: 1).status, equals: 204)
        try world.run(for: 1_000)
        return (email, user, token)
    }

    @Test func `a deleted account leaves no claim in other partitions, even if its server dies`() throws {
        let (email, user, token) = try move()
        try expect(accounts.claims().count, equals: 1)
        var isDeleted = false
        world.redis.ran = { [world] script, _, _ in
            guard script == .deleteAccount else { return }
            isDeleted = true
            world.after(0) {
                world.shards[0].die()
                world.replaceShard(at: 0)
            }
        }
        _ = SimulatedCall("DELETE", "/v1/me", ["password": password], token: token, to: world.shards[0])
        try world.run(until: "it is deleted") { isDeleted }
        // The remaining record, which exists until the next sweep, is not an account.
        try expect(accounts.releasing(), equals: 1)
        let disabled = try accounts.call("POST", "/v1/users/\(user)/account/disable", token: "!backend", at: 1)
        expect(disabled.status, equals: 404)
        try world.run(for: 12_000)
        try expect(accounts.claims().isEmpty && !accounts.isUnfinished())
        try expect(accounts.releasing(), equals: 0)
        try expect(accounts.signUp(email).status, equals: 201)
    }

    @Test func `a changed address is free as soon as its account is deleted`() throws {
        let (email, _, token) = try move()
        let call = try accounts.call("DELETE", "/v1/me", ["password": password], token: token, at: 1)
        expect(call.status, equals: 204)
        try world.run(for: 200)
        try expect(accounts.claims().isEmpty && !accounts.isUnfinished())
        try expect(accounts.signUp(email).status, equals: 201)
    }

    @Test(arguments: [1, 2])
    func `an account deleted during a change of its address leaves no claim`(_ step: Int) throws {
        let token = try accounts.ask()
        accounts.dieAfter(step)
        _ = SimulatedCall("POST", "/v1/emails/verify", ["token": token], to: world.shards[0])
        try world.run(for: 20)
        let access = try accounts.signIn(old).json["accessToken"] as? String
        let call = try accounts.call("DELETE", "/v1/me", ["password": password], token: access, at: 1)
        expect(call.status, equals: 204)
        try world.run(for: 12_000)
        try expect(accounts.claims().isEmpty && !accounts.isUnfinished())
        try expect(accounts.releasing(), equals: 0)
    }

    @Test func `a second request releases the claim of the first`() throws {
        let token = try accounts.ask()
        accounts.dieAfter(2)
        _ = SimulatedCall("POST", "/v1/emails/verify", ["token": token], to: world.shards[0])
        // Before the next sweep.
        try world.run(for: 20)
        let access = try accounts.signIn(old).json["accessToken"] as? String
        let third = "third@example.org"
        _ = try accounts.call(
            "POST", "/v1/me/email", ["password": password, "email": third], token: access, at: 1)
        let next = try accounts.mailToken("verify", to: third)
        try expect(accounts.call("POST", "/v1/emails/verify", ["token": next], at: 1).status, equals: 204)
        try world.run(for: 12_000)
        try expect(!accounts.isUnfinished() && accounts.signIn(third).status == 200)
        for email in [old, new] { try expect(accounts.signUp(email).status, equals: 201, "\(email) is free") }
    }
}
