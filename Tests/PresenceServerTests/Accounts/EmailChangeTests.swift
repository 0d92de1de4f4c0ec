import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A change of address goes over three partitions: whatever dies on the way, it is made or not, and nothing is left of it.
@Suite struct EmailChangeTests {
    private let accounts: AccountWorld
    private let old = "ana@example.org"
    private let new = "anna@example.org"
    private let password = "correct horse"

    init() throws { accounts = try AccountWorld() }

    private var world: World { accounts.world }

    private func signUp(_ email: String) throws -> SimulatedCall {
        try accounts.call("POST", "/v1/accounts", ["email": email, "password": password], at: 1)
    }

    private func signIn(_ email: String) throws -> SimulatedCall {
        try accounts.call("POST", "/v1/sessions", ["email": email, "password": password], at: 1)
    }

    /// Up to the mail's token.
    private func ask() throws -> String {
        let ana = try signUp(old)
        #expect(ana.status == 201)
        let asked = try accounts.call(
            "POST", "/v1/me/email", ["password": password, "email": new],
            token: ana.json["accessToken"] as? String,
            at: 1)
        #expect(asked.status == 202)
        return try accounts.mailToken("verify", to: new)
    }

    private func isUnfinished() throws -> Bool {
        let partitions = world.shards[1].logic.partitions
        return try (0..<partitions.count).contains {
            try world.redis.command(["EXISTS", partitions.keys($0).unfinished]).get().int == 1
        }
    }

    /// Has the first server die when it has run so many of the change's scripts.
    private func dieAfter(_ count: Int) {
        let scripts: [Script] = [.wantEmail, .takeClaim, .switchEmail, .releaseClaim, .endEmail]
        var left = count
        world.redis.ran = { [world] script, _, _ in
            guard scripts.contains(script) else { return }
            left -= 1
            if left == 0 {
                world.after(0) {
                    world.shards[0].die()
                    world.replaceShard(at: 0)
                }
            }
        }
    }

    @Test(arguments: 1...5)
    func `a change that its server dies of is made by another within a sweep`(_ step: Int) throws {
        let token = try ask()
        dieAfter(step)
        _ = SimulatedCall("POST", "/v1/emails/verify", ["token": token], to: world.shards[0])
        try world.run(for: 12_000)
        #expect(try !isUnfinished())
        #expect(try signIn(new).status == 200 && signIn(old).status == 401)
        #expect(try signUp(old).status == 201, "the old address is free")
        #expect(try signUp(new).reason == "email_taken")
        let record = try world.redis.command(["KEYS", "*:user:*"]).get().array ?? []
        for key in record.compactMap(\.string) {
            let fields = try world.redis.command(["HMGET", key, "emailWanted", "emailReleasing"]).get().array ?? []
            #expect(fields.compactMap(\.string).isEmpty)
        }
        #expect(accounts.tokens("verify", to: new).count == 1)
    }

    @Test func `a change whose address is taken meanwhile is refused, and nothing is left of it`()
        throws
    {
        let token = try ask()
        #expect(try signUp(new).status == 201)
        let verified = try accounts.call("POST", "/v1/emails/verify", ["token": token])
        #expect(verified.status == 409 && verified.reason == "email_taken")
        try world.run(for: 100)
        #expect(try !isUnfinished() && signIn(old).status == 200)
    }

    @Test
    func `a change whose time is over before it is carried on is not made, and its address is free`()
        throws
    {
        let token = try ask()
        dieAfter(2)
        _ = SimulatedCall("POST", "/v1/emails/verify", ["token": token], to: world.shards[0])
        try world.run(for: 300)
        #expect(try isUnfinished())
        world.redisEpoch += MailToken.lifetime
        try world.run(for: 20_000)
        try world.run(until: "both servers are live") {
            world.shards.allSatisfy { $0.logic.link.isLive }
        }
        #expect(try !isUnfinished() && signIn(old).status == 200)
        #expect(try signUp(new).status == 201)
    }

    @Test func `servers that die when a change has run out leave no claim for it`() throws {
        let token = try ask()
        dieAfter(2)
        _ = SimulatedCall("POST", "/v1/emails/verify", ["token": token], to: world.shards[0])
        try world.run(for: 300)
        world.redisEpoch += MailToken.lifetime
        var isOver = false
        world.redis.ran = { [world] script, _, _ in
            guard script == .switchEmail, !isOver else { return }
            isOver = true
            world.after(0) {
                for place in 0..<2 {
                    world.shards[place].die()
                    world.replaceShard(at: place)
                }
            }
        }
        try world.run(until: "the change is over") { isOver }
        #expect(try claims().count == 2)
        try world.run(until: "both servers are live") { world.shards.allSatisfy { $0.logic.link.isLive } }
        try world.run(for: 12_000)
        #expect(try claims() == [old] && !isUnfinished())
        #expect(try releasing() == 0)
    }

    @Test func `a change that had run out when somebody asked stays over, though Redis' clock goes back`() throws {
        let token = try ask()
        let user = try #require(MailToken(token)).user
        dieAfter(2)
        _ = SimulatedCall("POST", "/v1/emails/verify", ["token": token], to: world.shards[0])
        try world.run(for: 20)
        world.redisEpoch += MailToken.lifetime
        #expect(try signUp(new).status == 201)
        world.redisEpoch -= MailToken.lifetime
        // An executor that had claimed the address before goes on only now.
        let logic = world.shards[1].logic!
        let keys = logic.partitions.keys(of: user)
        let number = try #require(try world.redis.command(["HGET", keys.account(user), "emailWish"]).get().string)
        let answer = world.redis.run(
            .switchEmail, keys: [keys.shards, keys.unfinished, keys.floor, keys.account(user), keys.mail],
            arguments: [
                String(world.redisNow), keys.events, logic.link.incarnation, "email \(user)", user.string, new, number,
                old, "",
            ])
        #expect(try answer.get().array?.first?.string == "GONE")
        try world.run(for: 12_000)
        #expect(try Set(claims()) == [old, new] && !isUnfinished() && releasing() == 0)
    }

    @Test(arguments: [1, 2])
    func `a new password ends a change that is under way, and gives up what it has claimed`(_ step: Int) throws {
        let token = try ask()
        dieAfter(step)
        _ = SimulatedCall("POST", "/v1/emails/verify", ["token": token], to: world.shards[0])
        try world.run(for: 20)
        let access = try signIn(old).json["accessToken"] as? String
        let another = "battery staple"
        let changed = try accounts.call(
            "POST", "/v1/me/password", ["password": password, "newPassword": another], token: access, at: 1)
        #expect(changed.status == 204)
        try world.run(for: 12_000)
        #expect(try !isUnfinished())
        let signedIn = try accounts.call("POST", "/v1/sessions", ["email": old, "password": another], at: 1)
        #expect(signedIn.status == 200)
        #expect(try signUp(new).status == 201, "the address that was claimed is free")
    }

    private func claims() throws -> [String] {
        let keys = try world.redis.command(["KEYS", "*:email:*"]).get().array?.compactMap(\.string) ?? []
        return try keys.flatMap { try world.redis.command(["HKEYS", $0]).get().array?.compactMap(\.string) ?? [] }
    }

    /// Users whose addresses are to be given up.
    private func releasing() throws -> Int {
        let keys = try world.redis.command(["KEYS", "*:user:*"]).get().array?.compactMap(\.string) ?? []
        return try keys.count { try world.redis.command(["HEXISTS", $0, "emailReleasing"]).get().int == 1 }
    }

    /// Another address of hers, which does not lie in the partition of her account.
    private func move() throws -> (email: String, user: UserID, token: String?) {
        let ana = try signUp(old)
        let user = try #require((ana.json["user"] as? String).flatMap { UserID($0) })
        let logic = world.shards[1].logic!
        let places = try #require(logic.feature(Accounts.self)?.places)
        let email = (0...).lazy.map { "anna\($0)@example.org" }.first {
            places.partition(of: $0) != logic.partitions.index(of: user)
        }!
        let token = ana.json["accessToken"] as? String
        let body = ["password": password, "email": email]
        #expect(try accounts.call("POST", "/v1/me/email", body, token: token, at: 1).status == 202)
        let mail = try accounts.mailToken("verify", to: email)
        #expect(try accounts.call("POST", "/v1/emails/verify", ["token": mail], at: 1).status == 204)
        try world.run(for: 1_000)
        return (email, user, token)
    }

    @Test func `an account that is deleted leaves no claim elsewhere, though its server dies`() throws {
        let (email, user, token) = try move()
        #expect(try claims().count == 1)
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
        // What is left of it until a sweep is no account.
        #expect(try releasing() == 1)
        let disabled = try accounts.call("POST", "/v1/users/\(user)/account/disable", token: "!backend", at: 1)
        #expect(disabled.status == 404)
        try world.run(for: 12_000)
        #expect(try claims().isEmpty && !isUnfinished())
        #expect(try releasing() == 0)
        #expect(try signUp(email).status == 201)
    }

    @Test func `an address that was changed is free at once when its account is deleted`() throws {
        let (email, _, token) = try move()
        let call = try accounts.call("DELETE", "/v1/me", ["password": password], token: token, at: 1)
        #expect(call.status == 204)
        try world.run(for: 200)
        #expect(try claims().isEmpty && !isUnfinished())
        #expect(try signUp(email).status == 201)
    }

    @Test func `the number of a change does not come back when Redis has lost it`() throws {
        let token = try ask()
        try world.redis.remember()
        let numbers = try (0..<2).map { _ in
            #expect(try accounts.call("POST", "/v1/emails/verify", ["token": token], at: 1).status == 204)
            let user = try #require(MailToken(token)).user
            let key = world.shards[1].logic.partitions.keys(of: user).account(user)
            let number = try world.redis.command(["HGET", key, "emailClaim"]).get().int
            try world.redis.goBack()
            return number ?? 0
        }
        #expect(numbers[0] > 0 && numbers[1] > numbers[0])
    }

    @Test(arguments: [1, 2])
    func `an account that is deleted while its address is changed leaves no claim`(_ step: Int) throws {
        let token = try ask()
        dieAfter(step)
        _ = SimulatedCall("POST", "/v1/emails/verify", ["token": token], to: world.shards[0])
        try world.run(for: 20)
        let access = try signIn(old).json["accessToken"] as? String
        let call = try accounts.call("DELETE", "/v1/me", ["password": password], token: access, at: 1)
        #expect(call.status == 204)
        try world.run(for: 12_000)
        #expect(try claims().isEmpty && !isUnfinished())
        #expect(try releasing() == 0)
    }

    @Test func `a second wish gives up what the first had claimed`() throws {
        let token = try ask()
        dieAfter(2)
        _ = SimulatedCall("POST", "/v1/emails/verify", ["token": token], to: world.shards[0])
        // Before a sweep comes to it.
        try world.run(for: 20)
        let access = try signIn(old).json["accessToken"] as? String
        let third = "third@example.org"
        _ = try accounts.call(
            "POST", "/v1/me/email", ["password": password, "email": third], token: access, at: 1)
        let next = try accounts.mailToken("verify", to: third)
        #expect(try accounts.call("POST", "/v1/emails/verify", ["token": next], at: 1).status == 204)
        try world.run(for: 12_000)
        #expect(try !isUnfinished() && signIn(third).status == 200)
        for email in [old, new] { #expect(try signUp(email).status == 201, "\(email) is free") }
    }
}
