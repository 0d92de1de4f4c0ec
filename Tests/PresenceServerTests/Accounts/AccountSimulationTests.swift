import Expectations
import Foundation
import PresenceProtocol
import Testing
import WebSockets

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Accounts in simulated time: rules with durations of a minute, a day or three months.
@Suite struct AccountSimulationTests {
    private let accounts: AccountWorld

    init() throws { accounts = try AccountWorld() }

    private func signUp() throws -> [String: Any] {
        let call = try accounts.call("POST", "/v1/accounts", ["email": "ana@example.org", "password": "correct horse"])
        expect(call.status, equals: 201)
        return call.json
    }

    private func refresh(_ token: Any?) throws -> SimulatedCall {
        try accounts.call("POST", "/v1/sessions/refresh", ["refreshToken": token ?? ""])
    }

    @Test func `refresh accepts the previous token at any time, older ones for 10 s after they were the newest`()
        throws
    {
        let first = try signUp()["refreshToken"]
        let second = try refresh(first).json["refreshToken"]
        try accounts.world.run(for: 3_600_000)
        try expect(refresh(first).json["refreshToken"] as? String, equals: second as? String)
        let third = try refresh(second).json["refreshToken"]
        // The first token stopped being the newest an hour ago; the recent refresh does not count.
        let reused = try refresh(first)
        expect(reused.status == 401 && reused.reason == "token_reused")
        try expect(refresh(third).reason, equals: "token_expired")
    }

    @Test func `tokens made in quick succession are valid for 10 s each, the one before the newest for longer`()
        throws
    {
        let first = try signUp()["refreshToken"]
        let second = try refresh(first).json["refreshToken"]
        let third = try refresh(second).json["refreshToken"]
        try accounts.world.run(for: 9_000)
        try expect(refresh(first).json["refreshToken"] as? String, equals: third as? String)
        try accounts.world.run(for: 2_000)
        try expect(refresh(second).json["refreshToken"] as? String, equals: third as? String)
        try expect(refresh(first).reason, equals: "token_reused")
    }

    @Test func `a device that is unused for 90 days is signed out`() throws {
        let day: Milliseconds = 86_400_000
        var token = try signUp()["refreshToken"]
        accounts.world.redisEpoch += 89 * day
        token = try refresh(token).json["refreshToken"]
        expect(token != nil)
        accounts.world.redisEpoch += 91 * day
        try expect(refresh(token).reason, equals: "token_expired")
    }

    @Test func `a connection outlives its token for as long as its device is signed in`() throws {
        let ana = try signUp()
        let access = try #require(ana["accessToken"] as? String)
        let client = SimulatedClient(try #require(ana["user"] as? String), in: accounts.world)
        client.signedToken = access
        try client.connect(to: accounts.world.shards[0])
        accounts.world.redisEpoch += 2_000_000_000
        try accounts.world.run(for: 7_300_000)
        expect(client.isConnected)
        // A shard that misses the event finds the revocation when it checks.
        accounts.world.shards[0].subscription.missesEvents = true
        try expect(accounts.call("DELETE", "/v1/sessions/all", token: access, at: 1).status, equals: 204)
        try accounts.world.run(for: 100)
        expect(client.isConnected)
        try accounts.world.run(for: 3_700_000)
        expect(client.closeCode, equals: .unauthorized)
    }

    @Test func `pauses between guesses double up to a minute`() throws {
        _ = try signUp()
        func guess(_ password: String) throws -> SimulatedCall {
            try accounts.call("POST", "/v1/sessions", ["email": "ana@example.org", "password": password])
        }
        for _ in 0..<4 { try expect(guess("wrong password").reason, equals: "invalid_credentials") }
        var pauses: [Int] = []
        for _ in 0..<8 {
            try expect(guess("wrong password").reason, equals: "invalid_credentials")
            let slowed = try guess("correct horse")
            let wait = try #require(slowed.json["retryAfter"] as? Int)
            expect(slowed.status, equals: 429)
            pauses.append(Int((Double(wait) / 1_000).rounded(.up)))
            try accounts.world.run(for: Milliseconds(wait))
        }
        try expect(guess("correct horse").status, equals: 200)
        expect(pauses, equals: [1, 2, 4, 8, 16, 32, 60, 60])
    }

    @Test(arguments: [("POST", "/v1/me/password"), ("POST", "/v1/me/email"), ("DELETE", "/v1/me")])
    func `endpoints that ask for the password again are limited by address`(method: String, path: String) throws {
        let accounts = try AccountWorld { $0.limits.limitLoopback = true }
        let ana = try accounts.call("POST", "/v1/accounts", ["email": "ana@example.org", "password": "correct horse"])
        let token = ana.json["accessToken"] as? String
        // Correct passwords are not counted.
        for _ in 0..<12 {
            let right = ["email": "ana@example.org", "password": "correct horse"]
            try expect(accounts.call("POST", "/v1/sessions", right).status, equals: 200)
        }
        for number in 0..<10 {
            let guess = ["email": "nobody\(number)@example.org", "password": "wrong password"]
            try expect(accounts.call("POST", "/v1/sessions", guess).status, equals: 401)
        }
        let body = ["password": "wrong password", "newPassword": "another horse", "email": "new@example.org"]
        let slowed = try accounts.call(method, path, body, token: token)
        expect(slowed.status, equals: 429)
        try accounts.world.run(for: Milliseconds(try #require(slowed.json["retryAfter"] as? Int)))
        try expect(accounts.call(method, path, body, token: token).reason, equals: "invalid_credentials")
    }

    @Test func `addresses that tried passwords are forgotten after a while`() throws {
        var guesses = try #require(accounts.world.shards[0].logic.feature(Accounts.self)?.guesses)
        for minute in 1...100 {
            let address = try #require(PeerAddress(host: "192.0.2.\(minute)")?.block)
            expect(guesses.charge(by: address, at: 60_000 * Milliseconds(minute)), equals: nil)
        }
        expect(guesses.count <= 2)
    }

    @Test func `each failure is remembered for a hundredth of 30 days, with or without an account`() throws {
        _ = try signUp()
        let share = Accounts.guessMemory / 100
        for email in ["ana@example.org", "nobody@example.org"] {
            for failures in 1...3 {
                let body = ["email": email, "password": "wrong password"]
                try expect(accounts.call("POST", "/v1/sessions", body).status, equals: 401)
                let addresses = try #require(accounts.world.shards[0].logic.feature(Accounts.self)?.logins)
                let key = addresses.keys(of: email).guesses(addresses.guesses(of: email))
                let left = try #require(try accounts.world.redis.command(["PTTL", key]).get().int)
                let most = share * Milliseconds(failures)
                expect(left <= most && left > most - 60_000)
            }
        }
    }

    @Test func `tokens in mails expire`() throws {
        _ = try signUp()
        _ = try accounts.call("POST", "/v1/passwords/forgot", ["email": "ana@example.org"])
        let (verify, token) = (try accounts.mailToken("verify"), try accounts.mailToken("reset"))
        accounts.world.redisEpoch += 1_801_000
        let reset = try accounts.call("POST", "/v1/passwords/reset", ["token": token, "password": "another horse"])
        expect(reset.status == 401 && reset.reason == "token_expired")
        let verified = try accounts.call("POST", "/v1/emails/verify", ["token": verify])
        expect(verified.status == 401 && verified.reason == "token_expired")
        // A password reset verifies the address, too.
        _ = try accounts.call("POST", "/v1/passwords/forgot", ["email": "ana@example.org"])
        var next: String?
        try accounts.world.run(until: "there is another mail") {
            next = accounts.tokens("reset").first { $0 != token }
            return next != nil
        }
        let again = ["token": next ?? "", "password": "another horse"]
        try expect(accounts.call("POST", "/v1/passwords/reset", again).status, equals: 204)
        let ana = ["email": "ana@example.org", "password": "another horse"]
        let account = try accounts.call("POST", "/v1/sessions", ana).json["account"] as? [String: Any]
        expect(account?["emailVerified"] as? Bool, equals: true)
    }

    @Test func `the link of a sign-up is valid for almost 30 minutes`() throws {
        _ = try signUp()
        let verify = try accounts.mailToken("verify")
        accounts.world.redisEpoch += 1_790_000
        try expect(accounts.call("POST", "/v1/emails/verify", ["token": verify]).status, equals: 204)
    }

    @Test func `a claimed name is not reported as unchanged if the result cannot be read`() throws {
        let access = try signUp()["accessToken"] as? String
        let world = accounts.world
        var reads = 0
        world.redis.ran = { script, _, _ in
            guard script == .account else { return }
            reads += 1
            // The first read checks that the account exists, the second one returns its result.
            if reads == 2 { world.after(0) { world.shards[0].cut(.commands) } }
        }
        let claimed = try accounts.call("PUT", "/v1/me/username", ["username": "soup"], token: access)
        expect(reads == 2 && claimed.status == 503 && claimed.json["outcomeUnknown"] as? Bool == true)
        world.redis.ran = { _, _, _ in }
        let name = try accounts.call("GET", "/v1/usernames/soup", token: access, at: 1)
        expect(name.json["reason"] as? String, equals: "yours")
    }

    /// The server took an unknown owner for another user.
    @Test func `a repeated sign-up does not fail with its own username taken while Redis is busy`() throws {
        let body = [
            "email": "ana@example.org", "password": "correct horse", "username": "soup", "idempotency": "first",
        ]
        let user = try accounts.call("POST", "/v1/accounts", body).json["user"] as? String
        let redis = accounts.world.redis
        // The claim and the owner's record: each is read to check that the name is free, and again to compare the
        // owner.
        for (command, place) in [("HGET", 1), ("HMGET", 1), ("HGET", 2), ("HGET", 3), ("HMGET", 2)] {
            var count = 0
            redis.refuse = { script, words in
                guard script == nil, words.first == command else { return nil }
                count += 1
                return count == place ? .server(code: "BUSY", message: "BUSY for a moment") : nil
            }
            let repeated = try accounts.call("POST", "/v1/accounts", body)
            expect(count >= place && repeated.status == 503, "\(command) \(place): \(repeated.json)")
        }
        redis.refuse = { _, _ in nil }
        let repeated = try accounts.call("POST", "/v1/accounts", body)
        expect(repeated.status == 201 && repeated.json["user"] as? String == user)
        let other = body.merging(["email": "bob@example.org"]) { $1 }
        try expect(accounts.call("POST", "/v1/accounts", other).reason, equals: "username_taken")
    }

    /// While the revocation of their token cannot be read, a user must not be treated as a caller without one.
    @Test func `a user's own name is not reported as taken while Redis is busy`() throws {
        let access = try signUp()["accessToken"] as? String
        try expect(accounts.call("PUT", "/v1/me/username", ["username": "soup"], token: access).status, equals: 200)
        let redis = accounts.world.redis
        for command in ["HEXISTS", "HGET"] {
            redis.refuse = { _, words in
                words.first == command ? .server(code: "BUSY", message: "BUSY for a moment") : nil
            }
            let asked = try accounts.call("GET", "/v1/usernames/soup", token: access)
            expect(asked.status == 503 && asked.json["retryAfter"] != nil, "\(command): \(asked.json)")
        }
        redis.refuse = { _, _ in nil }
        let name = try accounts.call("GET", "/v1/usernames/soup", token: access)
        expect(name.json["reason"] as? String, equals: "yours")
        let stranger = try accounts.call("GET", "/v1/usernames/soup", token: "no token at all")
        expect(stranger.status == 200 && stranger.json["reason"] as? String == "taken")
    }
}
