import Expectations
import OutgoingHTTP
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Mails to a mail server that accepts them, rejects some, or is unreachable, while servers die.
@Suite struct MailQueueTests {
    /// A fake mail server: its answer to each mail, and the mails that it received.
    private final class Post: @unchecked Sendable {
        // @unchecked: all simulated threads are one thread.
        var answer: (String) -> MailSender.Outcome
        private var asked: [Mail] = []

        init(_ answer: @escaping (String) -> MailSender.Outcome) { self.answer = answer }

        func receive(_ mail: Mail) -> MailSender.Outcome {
            asked.append(mail)
            return answer(mail.to)
        }

        func count(to address: String) -> Int { asked.count { $0.to == address } }

        /// Forgets the mails received so far.
        func forget() { asked = [] }
        var subjects: [String] { asked.map(\.subject) }
    }

    private let accounts: AccountWorld
    private let email = "ana@example.org"
    private var world: World { accounts.world }

    init() throws { accounts = try AccountWorld(partitions: 1) }

    private func use(_ post: Post) {
        for shard in world.shards {
            shard.logic.feature(Accounts.self)?.mail.send = { mail in post.receive(mail) }
        }
    }

    private func signUp(_ email: String, at shard: Int = 0) throws {
        let body = ["email": email, "password": "correct horse"]
        try expect(accounts.call("POST", "/v1/accounts", body, at: shard).status, equals: 201)
    }

    /// Requests a mail of each kind with a token, and one without.
    private func askForAll() throws {
        let password = "correct horse"
        let ana = try accounts.call("POST", "/v1/accounts", ["email": email, "password": password])
        let token = ana.json["accessToken"] as? String
        // Only a verified address is notified of a change.
        let user = try #require((ana.json["user"] as? String).flatMap { UserID($0) })
        _ = world.redis.command(["HSET", world.shards[1].logic.partitions.keys(of: user).user(user), "verified", "1"])
        try expect(accounts.call("POST", "/v1/passwords/forgot", ["email": email]).status, equals: 202)
        let address = ["password": password, "email": "anna@example.org"]
        try expect(accounts.call("POST", "/v1/me/email", address, token: token).status, equals: 202)
        let change = ["password": password, "newPassword": "battery staple"]
        try expect(accounts.call("POST", "/v1/me/password", change, token: token).status, equals: 204)
    }
    private let withoutToken = "Your password was changed"

    /// The count of the present servers.
    private func failures() -> Int {
        let metrics = world.shards.compactMap { shard in
            shard.logic.registry.metrics.first { $0.name == "mails_failed_total" }
        }
        return metrics.reduce(0) { $0 + $1.read() }
    }

    private func left() throws -> Int64 {
        let keys = world.shards[1].logic.partitions.keys(0)
        let list = try world.redis.command(["LLEN", keys.mail]).get().int ?? 0
        return try list + (world.redis.command(["ZCARD", keys.mailing]).get().int ?? 0)
    }

    @Test(arguments: [Script.takeMail, .settleMail], [false, true])
    func `a mail whose server dies is sent by another`(script: Script, isTaken: Bool) throws {
        let first = Post { _ in isTaken ? .sent : .later("not now") }
        let post = Post { _ in .sent }
        use(post)
        world.shards[0].logic.feature(Accounts.self)?.mail.send = { mail in first.receive(mail) }
        try signUp(email)
        var isDead = false
        world.redis.ran = { [unowned world] ran, _, answer in
            // Usually there is no mail to take.
            let isOfMail = ran == .settleMail || (try? answer.get())?.array?.count == 2
            guard ran == script, isOfMail, !isDead else { return }
            isDead = true
            world.after(0) {
                world.shards[0].die()
                world.replaceShard(at: 0)
                world.shards[0].logic.feature(Accounts.self)?.mail.send = { mail in post.receive(mail) }
            }
        }
        try world.run(until: "a server has died", within: 10_000) { isDead }
        try world.run(for: MailQueue.lease + 30_000)
        try expect(left(), equals: 0)
        expect(first.count(to: email), equals: script == .settleMail ? 1 : 0)
        expect(post.count(to: email), equals: script == .settleMail && isTaken ? 0 : 1)
    }

    @Test func `a mail that takes long is sent by one server`() throws {
        let post = Post { _ in .sent }
        for shard in world.shards {
            let logic = shard.logic!
            logic.feature(Accounts.self)?.mail.send = { [unowned logic, unowned shard] mail in
                await logic.tasks.wait { done in shard.world.after(60_000) { shard.input { _ in done(()) } } }
                return post.receive(mail)
            }
        }
        try signUp(email)
        try world.run(for: 200_000)
        expect(post.count(to: email), equals: 1)
        try expect(left(), equals: 0)
    }

    @Test(arguments: [MailSender.Outcome.refused("550"), .later("451")])
    func `mails that a server does not take hold up no other`(outcome: MailSender.Outcome) throws {
        let post = Post { $0.hasPrefix("nobody") ? outcome : .sent }
        use(post)
        for number in 0..<12 { try signUp("nobody\(number)@example.org") }
        try world.run(for: 2_000)
        try signUp(email)
        try world.run(for: 1_000)
        expect(post.count(to: email), equals: 1)
        try world.run(for: 20_000)
        // Each mail has its own delays, each twice as long as the last.
        let tries = post.count(to: "nobody0@example.org")
        expect(outcome == .refused("550") ? tries == 1 : (2...5).contains(tries), "\(tries)")
        try expect(left(), equals: outcome == .refused("550") ? 0 : 12)
        world.redisEpoch += 24 * 3_600_000
        try world.run(for: 60_000)
        try expect(left(), equals: 0, "a day is enough")
    }

    @Test func `a mail server that was not there gets what has waited within two minutes`() throws {
        let post = Post { _ in .unreachable("nobody listens") }
        use(post)
        try signUp(email)
        try signUp("bob@example.org", at: 1)
        try world.run(for: 1_200_000)
        // A server connects once a minute, not once for each mail.
        expect(post.count(to: email) + post.count(to: "bob@example.org") < 60)
        post.answer = { _ in .sent }
        try world.run(for: 120_000)
        try expect(left(), equals: 0)
    }

    @Test func `mails whose tokens were over before any server came back are given up, and the other is sent`() throws {
        use(Post { _ in .unreachable("nobody listens") })
        try askForAll()
        try world.run(for: 2_000)
        try expect(left(), equals: 4)
        for shard in world.shards { shard.die() }
        world.redisEpoch += MailToken.lifetime
        for place in world.shards.indices { world.replaceShard(at: place) }
        let post = Post { _ in .sent }
        use(post)
        try world.run(for: 60_000)
        try expect(left(), equals: 0)
        expect(post.subjects, equals: [withoutToken])
        expect(failures(), equals: 3, "each that was given up is counted")
    }

    @Test(arguments: [MailSender.Outcome.unreachable("nobody listens"), .later("451")])
    func `a mail that nobody takes leaves Redis when its token is over, one without a token stays`(
        outcome: MailSender.Outcome
    ) throws {
        let post = Post { _ in outcome }
        use(post)
        try askForAll()
        try world.run(for: 30_000)
        world.redisEpoch += MailToken.lifetime - 120_000
        try world.run(for: 60_000)
        try expect(left(), equals: 4, "there is half a minute left")
        // A server pauses for a minute, and may try the mail without a token first.
        try world.run(for: 180_000)
        try expect(left(), equals: 1)
        post.forget()
        post.answer = { _ in .sent }
        world.redisEpoch += 3_600_000
        try world.run(for: 120_000)
        try expect(left(), equals: 0)
        expect(post.subjects, equals: [withoutToken])
    }

    @Test func `what a mail server says is of this mail, or of all of them`() {
        func word(_ code: Int, isOfMail: Bool = true) -> String {
            let refusal = MailRefusal(code: code, isOfMail: isOfMail)
            return String("\(MailSender.outcome(of: refusal))".prefix { $0 != "(" })
        }
        for code in [550, 551, 552, 553, 555, 556] { expect(word(code), equals: "refused", "\(code)") }
        for code in [421, 450, 451, 452, 454, 500, 521, 554] { expect(word(code), equals: "later", "\(code)") }
        for code in [530, 535] { expect(word(code), equals: "unreachable", "\(code)") }
        for code in [421, 450, 535, 550, 553] { expect(word(code, isOfMail: false), equals: "unreachable", "\(code)") }
    }

    @Test(arguments: [
        ("localhost", false), ("presence", false), ("app.localhost", false), ("192.0.2.7", false), ("[::1]", false),
        ("a..example", false), ("a_b.example", false), ("münchen.example", false), ("chat.example.org", true),
        ("Chat.Example.org", true), ("xn--mnchen-3ya.example", true),
    ])
    func `a mail server is told names with a domain only`(name: String, isFull: Bool) {
        expect(HostName.isFull(name), equals: isFull)
    }
}
