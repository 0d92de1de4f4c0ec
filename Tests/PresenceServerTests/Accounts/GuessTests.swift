import Expectations
import Passwords
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Exactly the passwords that were verified count as failed attempts.
@Suite struct GuessTests {
    private let accounts: AccountWorld
    private var world: World { accounts.world }
    private let ana = ["email": "ana@example.org", "password": "correct horse"]
    private let wrong = ["email": "ana@example.org", "password": "wrong password"]

    init() throws { accounts = try AccountWorld() }

    private func signUp() throws -> String {
        let access = try accounts.call("POST", "/v1/accounts", ana).json["accessToken"] as? String
        // Its mail is sent by a thread, too.
        _ = try accounts.mailToken("verify")
        return try #require(access)
    }

    private func failures(of email: String = "ana@example.org") throws -> Int {
        let addresses = try #require(world.shards[0].logic.feature(Accounts.self)?.logins)
        let key = addresses.keys(of: email).guesses(addresses.guesses(of: email))
        let held = try world.redis.command(["GET", key]).get().string
        return try held.map { try #require(Int($0.prefix { $0 != " " })) } ?? 0
    }

    private func hasFailures(_ count: Int) -> Bool { (try? failures()) == count }

    /// Keeps all threads of a shard busy for this time, so that later jobs wait.
    private func keepBusy(_ shard: Int, for time: Milliseconds) throws {
        let workers = try #require(world.shards[shard].workers)
        workers.times = time...time
        let ran = workers.ran
        for number in 0..<Accounts.passwords.threads(world.configuration) {
            let guess = ["email": "busy\(number)@example.org", "password": "wrong password"]
            _ = SimulatedCall("POST", "/v1/sessions", guess, to: world.shards[shard])
        }
        try world.run(until: "all threads are busy") {
            workers.ran - ran == Accounts.passwords.threads(world.configuration)
        }
        // Jobs of other kinds, such as verifying tokens.
        workers.times = 1...1
    }

    /// A call whose password waits for a thread.
    private func waiting(
        _ method: String, _ path: String, _ body: [String: String], _ token: String? = nil, at shard: Int
    )
        throws -> SimulatedCall
    {
        let jobs = world.shards[shard].logic.jobs
        let (before, counted) = (jobs.count, try failures())
        let call = SimulatedCall(method, path, body, token: token, to: world.shards[shard])
        try world.run(until: "the password waits") { hasFailures(counted + 1) && jobs.count == before + 1 }
        return call
    }

    static let paths = [
        ("POST", "/v1/sessions"), ("POST", "/v1/me/password"), ("POST", "/v1/me/email"), ("DELETE", "/v1/me"),
    ]

    @Test(arguments: paths) func `a password rejected because too many wait is no failed attempt and costs nothing`(
        method: String, path: String
    ) throws {
        let token = try signUp()
        let body = ana.merging(["newPassword": "another horse"]) { $1 }
        world.shards[0].workers.room = 0
        try world.run(for: 1_000)
        for _ in 0..<6 {
            let before = world.redis.counts
            let call = try accounts.call(method, path, body, token: path == "/v1/sessions" ? nil : token)
            expect(call.status == 503 && call.json["retryAfter"] != nil)
            // The token is checked by one command; the account is not read.
            let checks = path == "/v1/sessions" ? 0 : 1
            expect(before["guess"], equals: world.redis.counts["guess"])
            expect(world.redis.counts["HMGET", default: 0], equals: before["HMGET", default: 0] + checks)
        }
        try expect(failures(), equals: 0)
        world.shards[0].workers.room = nil
        try expect(accounts.call("POST", "/v1/sessions", ana).status, equals: 200)
    }

    @Test(arguments: paths) func `a password whose client leaves while it waits is no failed attempt`(
        method: String, path: String
    )
        throws
    {
        let token = try signUp()
        let body = wrong.merging(["newPassword": "another horse"]) { $1 }
        try keepBusy(0, for: 10_000)
        for _ in 0..<6 {
            let call = try waiting(method, path, body, path == "/v1/sessions" ? nil : token, at: 0)
            try expect(failures(), equals: 1)
            call.leave()
            try world.run(until: "the try is taken back") { hasFailures(0) }
        }
        try expect(accounts.call("POST", "/v1/sessions", ana, at: 1).status, equals: 200)
    }

    @Test func `a verified wrong password is a failed attempt, even if its client leaves meanwhile`() throws {
        _ = try signUp()
        world.shards[0].workers.times = 1_000...1_000
        let ran = world.shards[0].workers.ran
        let call = SimulatedCall("POST", "/v1/sessions", wrong, to: world.shards[0])
        try world.run(until: "it is looked at") { self.world.shards[0].workers.ran > ran }
        call.leave()
        try world.run(for: 3_000)
        try expect(failures() == 1 && call.status == nil)
    }

    @Test func `an attempt is no failure if the store fails before its password is verified`() throws {
        _ = try signUp()
        world.redis.refuse = { _, words in
            words.first == "HMGET" ? .server(code: "BUSY", message: "BUSY for a moment") : nil
        }
        try expect(accounts.call("POST", "/v1/sessions", ana).status, equals: 503)
        world.redis.refuse = { _, _ in nil }
        try world.run(until: "the try is taken back") { hasFailures(0) }
    }

    /// The password of a sign-in, and that of a repeated sign-up.
    @Test(arguments: ["/v1/sessions", "/v1/accounts"])
    func `the right password is no failed attempt if the store fails during the sign-in`(path: String) throws {
        let body = ana.merging(["idempotency": "first"]) { $1 }
        try expect(accounts.call("POST", "/v1/accounts", body).status, equals: 201)
        world.redis.refuse = { script, _ in script == .signIn ? Self.busy : nil }
        for _ in 0..<6 {
            try expect(accounts.call("POST", path, body).status, equals: 503)
            try world.run(until: "the try is taken back") { hasFailures(0) }
        }
        world.redis.refuse = { _, _ in nil }
        try expect([200, 201].contains(accounts.call("POST", path, body).status))
    }

    private static let busy = RedisFailure.server(code: "BUSY", message: "BUSY for a moment")

    @Test func `the right password is no failed attempt if the store does not clear the others`() throws {
        _ = try signUp()
        for _ in 0..<2 { try expect(accounts.call("POST", "/v1/sessions", wrong).status, equals: 401) }
        refuseToForget()
        try expect(accounts.call("POST", "/v1/sessions", ana).status, equals: 200)
        try world.run(until: "the try is taken back") { hasFailures(2) }
    }

    private func refuseToForget() {
        world.redis.refuse = { _, words in
            words.first == "DEL" && words.last?.contains(":guesses:") == true ? Self.busy : nil
        }
    }

    /// The owner reads the mail and need not wait because others guessed.
    @Test func `a reset clears the failed attempts, or fails`() throws {
        _ = try signUp()
        for _ in 0..<5 { try expect(accounts.call("POST", "/v1/sessions", wrong).status, equals: 401) }
        try expect(accounts.call("POST", "/v1/passwords/forgot", ana).status, equals: 202)
        let body = ["token": try accounts.mailToken("reset"), "password": "another horse"]
        refuseToForget()
        try expect(accounts.call("POST", "/v1/passwords/reset", body).status, equals: 503)
        try expect(failures(), equals: 5)
        world.redis.refuse = { script, _ in script == .resetPassword ? Self.busy : nil }
        let refused = try accounts.call("POST", "/v1/passwords/reset", body)
        expect(refused.status == 503 && refused.json["outcomeUnknown"] == nil)
        world.redis.refuse = { _, _ in nil }
        try expect(accounts.call("POST", "/v1/passwords/reset", body).status, equals: 204)
        try expect(failures(), equals: 0)
        let changed = ana.merging(["password": "another horse"]) { $1 }
        try expect(accounts.call("POST", "/v1/sessions", changed).status, equals: 200)
    }

    /// The idempotency key of a repeated sign-up need not be secret.
    @Test func `passwords guessed by repeating a sign-up are counted`() throws {
        let body = ana.merging(["idempotency": "first"]) { $1 }
        try expect(accounts.call("POST", "/v1/accounts", body).status, equals: 201)
        let tried = body.merging(["password": "another horse"]) { $1 }
        for _ in 0..<5 { try expect(accounts.call("POST", "/v1/accounts", tried).reason, equals: "email_taken") }
        try expect(failures(), equals: 5)
        let slowed = try accounts.call("POST", "/v1/accounts", tried)
        expect(slowed.status == 429 && slowed.json["retryAfter"] != nil)
        try world.run(for: 1_000)
        try expect(accounts.call("POST", "/v1/accounts", body).status, equals: 201)
        try expect(failures(), equals: 0)
    }

    @Test func `a withdrawn attempt that was already cleared is not subtracted from later ones`() throws {
        _ = try signUp()
        try keepBusy(0, for: 10_000)
        let early = try waiting("POST", "/v1/sessions", wrong, at: 0)
        try expect(accounts.call("POST", "/v1/sessions", ana, at: 1).status, equals: 200)
        try expect(failures(), equals: 0)
        try world.run(for: 1_000)
        for _ in 0..<2 { try expect(accounts.call("POST", "/v1/sessions", wrong, at: 1).status, equals: 401) }
        early.leave()
        try world.run(for: 1_000)
        try expect(failures(), equals: 2)
    }

    @Test func `the delay of a withdrawn attempt ends, that of a later one stays`() throws {
        _ = try signUp()
        for _ in 0..<5 { try expect(accounts.call("POST", "/v1/sessions", wrong, at: 1).status, equals: 401) }
        try world.run(for: 1_000)
        try keepBusy(0, for: 30_000)
        // The sixth attempt causes a delay of 2 s; the next one is counted, with a delay of 4 s.
        let sixth = try waiting("POST", "/v1/sessions", wrong, at: 0)
        try world.run(for: 2_000)
        let seventh = try waiting("POST", "/v1/sessions", wrong, at: 0)
        seventh.leave()
        try world.run(until: "the seventh is taken back") { hasFailures(6) }
        try expect(accounts.call("POST", "/v1/sessions", wrong, at: 1).status, equals: 401)
        sixth.leave()
        try world.run(until: "the sixth is taken back") { hasFailures(6) }
        // As if there had been only six, the last of them now.
        let slowed = try accounts.call("POST", "/v1/sessions", wrong, at: 1)
        let wait = try #require(slowed.json["retryAfter"] as? Int)
        expect(slowed.status == 429 && wait > 1_000)
    }

    /// Many clients at once, on two servers, leave at random moments while the owner signs in: no more passwords are
    /// verified than are counted, and none during a delay.
    @Test(arguments: 1...30 as ClosedRange<UInt64>) func `clients that leave get no more guesses`(seed: UInt64) throws {
        let accounts = try AccountWorld(seed: seed)
        let world = accounts.world
        var random = SplitMix64(seed)
        try expect(accounts.call("POST", "/v1/accounts", ana).status, equals: 201)
        for shard in world.shards { shard.workers.times = 20...400 }
        var pending: [SimulatedCall] = []
        var lookedAt: [Timestamp] = []
        func hear() {
            lookedAt += pending.filter { $0.status == 401 }.map { _ in world.redisNow }
            pending.removeAll { $0.status != nil }
        }
        for _ in 0..<120 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<6:
                let shard = world.shards[Int.random(in: 0...1, using: &random)]
                pending.append(SimulatedCall("POST", "/v1/sessions", wrong, to: shard))
            case 6..<9 where !pending.isEmpty:
                pending.remove(at: Int.random(in: 0..<pending.count, using: &random)).leave()
            default: break
            }
            try world.run(for: Milliseconds.random(in: 0...100, using: &random))
            hear()
        }
        try world.run(until: "all are answered") {
            hear()
            return pending.isEmpty
        }
        try world.run(for: 1_000)
        let addresses = try #require(world.shards[0].logic.feature(Accounts.self)?.logins)
        let key = addresses.keys(of: ana["email"]!).guesses(addresses.guesses(of: ana["email"]!))
        let record = try world.redis.command(["GET", key]).get().string ?? "0"
        try expect(#require(Int(record.prefix { $0 != " " })) >= lookedAt.count, "\(record): \(lookedAt)")
        // After the fifth attempt the delays are 1, 2, 4, … s: 120 steps of 50 ms leave time for four more.
        expect(lookedAt.count <= 9)
    }
}
