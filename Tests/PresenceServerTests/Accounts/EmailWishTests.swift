import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Requests for another address: their expiry, their numbers, and the links that stay valid beside them.
@Suite struct EmailWishTests {
    private let accounts: AccountWorld
    private let old = AccountWorld.oldAddress
    private let new = AccountWorld.newAddress
    private let password = AccountWorld.password

    init() throws { accounts = try AccountWorld() }

    private var world: World { accounts.world }

    @Test func `servers that die when a change has expired leave no claim for it`() throws {
        let token = try accounts.ask()
        accounts.dieAfter(2)
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
        try expect(accounts.claims().count, equals: 2)
        try world.run(until: "both servers are live") { world.shards.allSatisfy { $0.logic.link.isLive } }
        try world.run(for: 12_000)
        try expect(accounts.claims() == [old] && !accounts.isUnfinished())
        try expect(accounts.releasing(), equals: 0)
    }

    @Test func `an expired change stays expired, even if Redis' clock is set back`() throws {
        let token = try accounts.ask()
        let user = try #require(MailToken(token)).user
        accounts.dieAfter(2)
        _ = SimulatedCall("POST", "/v1/emails/verify", ["token": token], to: world.shards[0])
        try world.run(for: 20)
        world.redisEpoch += MailToken.lifetime
        try expect(accounts.signUp(new).status, equals: 201)
        world.redisEpoch -= MailToken.lifetime
        // An executor that had claimed the address before continues only now.
        let logic = world.shards[1].logic!
        let keys = logic.partitions.keys(of: user)
        let number = try #require(try world.redis.command(["HGET", keys.account(user), "emailWish"]).get().string)
        let call = ScriptCall(
            .switchEmail, in: keys, ["user": keys.user(user), "mail": keys.mail, "guests": keys.guests],
            [
                "user": user, "address": new, "number": number, "text": "", "digest": "",
                "lifetime": MailToken.lifetime, "request": "",
            ])
        let answer = world.redis.run(
            call.script, keys: call.keys,
            arguments: [String(world.redisNow)] + call.arguments(of: logic.link.incarnation))
        try expect(answer.get().array?.first?.string, equals: "GONE")
        try world.run(for: 12_000)
        try expect(Set(accounts.claims()) == [old, new] && !accounts.isUnfinished() && accounts.releasing() == 0)
    }

    @Test func `the number of a change is not reused after Redis has lost it`() throws {
        let token = try accounts.ask()
        try world.redis.remember()
        let numbers = try (0..<2).map { _ in
            try expect(accounts.call("POST", "/v1/emails/verify", ["token": token], at: 1).status, equals: 204)
            let user = try #require(MailToken(token)).user
            let key = world.shards[1].logic.partitions.keys(of: user).account(user)
            let number = try world.redis.command(["HGET", key, "emailClaim"]).get().int
            try world.redis.goBack()
            return number ?? 0
        }
        expect(numbers[0] > 0 && numbers[1] > numbers[0])
    }

    @Test func `a link to a third address is valid, even if requested during the first change`() throws {
        let token = try accounts.ask()
        accounts.dieAfter(1)
        _ = SimulatedCall("POST", "/v1/emails/verify", ["token": token], to: world.shards[0])
        // Before the next sweep.
        try world.run(for: 20)
        let access = try accounts.signIn(old).json["accessToken"] as? String
        let third = "third@example.org"
        _ = try accounts.call("POST", "/v1/me/email", ["password": password, "email": third], token: access, at: 1)
        let next = try accounts.mailToken("verify", to: third)
        try world.run(for: 12_000)
        try expect(!accounts.isUnfinished() && accounts.signIn(new).status == 200)
        try expect(accounts.call("POST", "/v1/emails/verify", ["token": next], at: 1).status, equals: 204)
        try world.run(for: 1_000)
        try expect(!accounts.isUnfinished() && accounts.claims() == [third] && accounts.signIn(third).status == 200)
    }

    @Test func `a link opened twice at once gets the same answer twice`() throws {
        let token = try accounts.ask()
        let calls = world.shards.map { SimulatedCall("POST", "/v1/emails/verify", ["token": token], to: $0) }
        try world.run(until: "both are answered") { calls.allSatisfy { $0.status != nil } }
        expect(calls.map(\.status), equals: [204, 204])
        try world.run(for: 1_000)
        try expect(!accounts.isUnfinished() && accounts.claims() == [new])
        // Afterwards the token counts as used.
        try expect(accounts.call("POST", "/v1/emails/verify", ["token": token]).reason, equals: "token_expired")
    }
}
