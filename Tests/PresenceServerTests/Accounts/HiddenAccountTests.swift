import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// With hidden accounts (`accounts.hideExisting`), the time of an answer must not reveal whether an address has an
/// account. Before the answer, the server sends the store as many reads for a taken address as for a free one, and one
/// write.
@Suite struct HiddenAccountTests {
    private let accounts: AccountWorld
    private let password = "correct horse"

    init() throws { accounts = try AccountWorld { $0[Accounts.hideExisting] = true } }

    /// The commands and scripts sent before a call is answered.
    private func asked(
        _ path: String, _ body: [String: Any], token: String? = nil, status: Int = 202
    ) throws -> [String: Int] {
        let redis = accounts.world.redis
        let before = redis.counts
        let call = try accounts.call("POST", path, body, token: token)
        expect(call.status, equals: status, "\(call.json)")
        // Mails are sent and leases renewed meanwhile.
        let others = ["take-mail", "settle-mail", "renew", "sweep", "PUBLISH", "SRANDMEMBER", "SET"]
        return redis.counts.merging(before) { $0 - $1 }.filter { $0.value > 0 && !others.contains($0.key) }
    }

    private func signUp(_ email: String) throws {
        try expect(accounts.call("POST", "/v1/accounts", ["email": email, "password": password]).status, equals: 202)
        let token = try accounts.mailToken("verify", to: email)
        try expect(accounts.call("POST", "/v1/emails/verify", ["token": token]).status, equals: 204)
    }

    @Test func `signing up sends as many commands for a taken address`() throws {
        try signUp("ana@example.org")
        try accounts.world.run(for: 5_000)
        let taken = try asked("/v1/accounts", ["email": "ana@example.org", "password": password])
        try accounts.world.run(for: 5_000)
        let free = try asked("/v1/accounts", ["email": "bob@example.org", "password": password])
        expect(taken == free && taken["sign-up"] == 1 && taken["tell-existing"] == 1, "\(taken), \(free)")
    }

    /// The steps after the one that may create the account.
    @Test(arguments: [Script.holdsClaim, .tellExisting], ["BUSY", "an answer that is lost"])
    func `a taken and a free address get the same error when Redis fails, and no mail is promised`(
        script: Script, failure: String
    ) throws {
        try signUp("ana@example.org")
        let world = accounts.world
        var answers: [[UInt8]?] = []
        for email in ["ana@example.org", "bob@example.org"] {
            world.redis.refuse = { ran, _ in
                guard ran == script else { return nil }
                return failure == "BUSY" ? .server(code: failure, message: "BUSY for a moment") : .timedOut(sent: true)
            }
            let call = try accounts.call("POST", "/v1/accounts", ["email": email, "password": password])
            expect(call.status == 503 && call.json["outcomeUnknown"] as? Bool == true, "\(call.json)")
            answers.append(call.response?.body)
            world.redis.refuse = { _, _ in nil }
            try world.run(for: 5_000)
        }
        expect(answers[0], equals: answers[1])
        expect(accounts.mails(to: "ana@example.org").count, equals: 1, "that of the sign-up")
        for email in ["ana@example.org", "bob@example.org"] {
            let body = ["email": email, "password": password]
            try expect(accounts.call("POST", "/v1/accounts", body).status, equals: 202)
            // Both have received a mail; a second sign-up sends each of them a notice, as both have an account by now.
            try world.run(until: "a mail tells \(email) of it") { accounts.mails(to: email).count == 2 }
        }
    }

    @Test func `sign-ups with a taken address send it three mails an hour`() throws {
        let email = "ana@example.org"
        try signUp(email)
        // From any address: client addresses are not counted here.
        for shard in [0, 1, 0, 1, 0, 1] {
            let call = try accounts.call("POST", "/v1/accounts", ["email": email, "password": password], at: shard)
            expect(call.status, equals: 202)
        }
        try accounts.world.run(for: 60_000)
        expect(accounts.mails(to: email).count, equals: 3)
        try accounts.world.run(for: 3_600_000)
        _ = try asked("/v1/accounts", ["email": email, "password": password])
        try accounts.world.run(for: 60_000)
        expect(accounts.mails(to: email).count, equals: 4)
    }

    /// Signs up with another user's address and then signs in with the password of that sign-up.
    @Test func `signing in sends as many commands after signing up with a taken address as with a free one`() throws {
        try signUp("ana@example.org")
        let chosen = "another horse"
        for email in ["ana@example.org", "bob@example.org"] {
            try expect(accounts.call("POST", "/v1/accounts", ["email": email, "password": chosen]).status, equals: 202)
        }
        try accounts.world.run(for: 5_000)
        let taken = try asked("/v1/sessions", ["email": "ana@example.org", "password": chosen], status: 401)
        let free = try asked("/v1/sessions", ["email": "bob@example.org", "password": chosen], status: 401)
        expect(taken == free && taken["guess"] == 1, "\(taken), \(free)")
    }

    @Test func `a change of address sends as many commands for a taken address`() throws {
        try signUp("ana@example.org")
        try signUp("bob@example.org")
        let ana = ["email": "ana@example.org", "password": password]
        let token = try #require(try accounts.call("POST", "/v1/sessions", ana).json["accessToken"] as? String)
        try accounts.world.run(for: 5_000)
        let taken = try asked("/v1/me/email", ["email": "bob@example.org", "password": password], token: token)
        try accounts.world.run(for: 5_000)
        let free = try asked("/v1/me/email", ["email": "cy@example.org", "password": password], token: token)
        expect(taken, equals: free)
    }
}
