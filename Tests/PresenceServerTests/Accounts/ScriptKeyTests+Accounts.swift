import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

extension ScriptKeyTests {
    /// Runs every script of accounts.
    func everyScript(of accounts: AccountWorld) throws {
        let (email, password) = ("ana@example.org", "correct horse")
        let body = ["email": email, "password": password]
        let ana = try accounts.call("POST", "/v1/accounts", body).json
        let token = ana["accessToken"] as? String
        // A second user wants the address, so the server looks up its owner.
        try expect(accounts.call("POST", "/v1/accounts", body).status, equals: 409)
        try expect(accounts.call("POST", "/v1/sessions", body).status, equals: 200)
        let refreshed = try accounts.call("POST", "/v1/sessions/refresh", ["refreshToken": ana["refreshToken"] ?? ""])
        expect(refreshed.status, equals: 200)
        try expect(accounts.call("GET", "/v1/me", token: token).status, equals: 200)
        try expect(
            accounts.call(
                "PATCH", "/v1/me", ["changes": ["displayName": "Ana", "setupCompleted": true]], token: token
            )
            .status, equals: 200)
        let verify = try accounts.mailToken("verify")
        try expect(accounts.call("POST", "/v1/emails/verify", ["token": verify]).status, equals: 204)
        let changed = ["password": password, "email": "new@example.org"]
        try expect(accounts.call("POST", "/v1/me/email", changed, token: token).status, equals: 202)
        let change = try accounts.mailToken("verify", to: "new@example.org")
        try expect(accounts.call("POST", "/v1/emails/verify", ["token": change]).status, equals: 204)
        let passwords = ["password": password, "newPassword": "another horse"]
        try expect(accounts.call("POST", "/v1/me/password", passwords, token: token).status, equals: 204)
        let user = try #require((ana["user"] as? String).flatMap { UserID($0) })
        let logic = accounts.world.shards[0].logic!
        let keys = logic.partitions.keys(of: user)
        // As left by a server that dies on the way: the sweep checks its progress.
        _ = accounts.world.redis.command(["SADD", keys.unfinished, "email \(user.string)"])
        try accounts.world.run(for: 12_000)
        let addresses = try #require(logic.feature(Accounts.self)?.logins)
        let guesses = addresses.keys(of: email)
        for call in [
            keys.disabling(user, false),
            ScriptCall(
                .tellExisting, in: keys, ["user": keys.user(user), "mail": keys.mail],
                ["text": "1-a\n\(email)\nSubject\nText"]),
            ScriptCall(
                .takeBackGuess, in: guesses, ["guesses": guesses.guesses(addresses.guesses(of: email))],
                ["memory": Accounts.guessMemory, "wasBlocked": 1, "hadBegun": 1]),
        ] { logic.run(call) { _ in } }
        try everyScriptOfGuestsAndCodes(accounts)
        try everyScriptOfIdentities(accounts)
        try everyScriptOfNames(accounts, user, token)
        everyScriptOfPhotos(accounts, user)
        try expect(accounts.call("DELETE", "/v1/sessions/all", token: token).status, equals: 204)
        _ = try accounts.call("POST", "/v1/passwords/forgot", ["email": "new@example.org"])
        let reset = ["token": try accounts.mailToken("reset"), "password": "third horse"]
        try expect(accounts.call("POST", "/v1/passwords/reset", reset).status, equals: 204)
        let again = try accounts.call("POST", "/v1/sessions", ["email": "new@example.org", "password": "third horse"])
        let access = again.json["accessToken"] as? String
        try expect(accounts.call("DELETE", "/v1/me", ["password": "third horse"], token: access).status, equals: 204)
    }

    private func everyScriptOfGuestsAndCodes(_ accounts: AccountWorld) throws {
        let email = "guest@example.org"
        let guest = try accounts.call("POST", "/v1/accounts", ["guest": true]).json["accessToken"] as? String
        let upgrade = ["email": email, "password": "correct horse"]
        try expect(accounts.call("POST", "/v1/me/upgrade", upgrade, token: guest).status, equals: 200)
        try expect(accounts.call("POST", "/v1/signin/mail", ["email": email]).status, equals: 202)
        try accounts.world.run(until: "there is a code") {
            accounts.mails(to: email).contains { $0.contains("&token=") }
        }
        let link = try #require(accounts.mails(to: email).last { $0.contains("&token=") })
        let code = link.components(separatedBy: "&token=")[1].prefix { !$0.isWhitespace }
        let entered = ["email": email, "mailCode": String(code)]
        try expect(accounts.call("POST", "/v1/sessions", entered).status, equals: 200)
    }

    private func everyScriptOfIdentities(_ accounts: AccountWorld) throws {
        let provider = try SimulatedProvider(knownTo: accounts)
        let body = try provider.body("1")
        let ana = try accounts.call("POST", "/v1/sessions", body).json["accessToken"] as? String
        try expect(accounts.call("POST", "/v1/sessions", body).status, equals: 200)
        let guest = try accounts.call("POST", "/v1/accounts", ["guest": true]).json["accessToken"] as? String
        try expect(accounts.call("POST", "/v1/me/identities", body, token: guest).status, equals: 409)
        let other = try provider.body("2", "identified@example.org")
        try expect(accounts.call("POST", "/v1/me/identities", other, token: guest).status, equals: 200)
        try expect(accounts.call("DELETE", "/v1/me/identities/test", token: guest).status, equals: 204)
        try expect(accounts.call("DELETE", "/v1/me/identities/test", token: ana).status, equals: 409)
        let logic = accounts.world.shards[0].logic!
        let user = UserID("nobody")!
        let keys = logic.partitions.keys(of: user)
        logic.run(
            ScriptCall(
                .endConsent, in: keys,
                ["unfinished": keys.unfinished, "user": keys.user(user), "mail": keys.mail],
                ["intent": "identity nobody", "user": user, "identity": "0a", "before": 1, "notice": ""])
        ) { _ in }
        try accounts.world.run(for: 1_000)
    }

    private func everyScriptOfPhotos(_ accounts: AccountWorld, _ user: UserID) {
        let logic = accounts.world.shards[0].logic!
        let keys = logic.partitions.keys(of: user)
        let photos = ["0", "1"].map { StoredName(String(repeating: $0, count: 32))! }
        for (name, former) in [(photos[0], nil), (photos[1], photos[0]), (nil, photos[1])]
            as [(StoredName?, StoredName?)]
        {
            accounts.world.shards[0].run(
                .setPhoto,
                keys: [keys.shards, keys.floor, keys.user(user), keys.account(user)]
                    + [name ?? photos[0], former ?? photos[0]].map { keys.key(.photo, $0.id) },
                arguments: [
                    keys.events, logic.link.incarnation, user.string, name?.text ?? "", former?.text ?? "",
                    name == nil ? "" : #""https://e.org/a""#, name == nil ? "" : #""https://e.org/b""#,
                ], lane: .commands
            ) { _ in }
        }
    }

    private func everyScriptOfNames(_ accounts: AccountWorld, _ user: UserID, _ token: String?) throws {
        for name in ["soup", "pie"] {
            let call = try accounts.call("PUT", "/v1/me/username", ["username": name], token: token)
            expect(call.status == 200 && call.json["account"] != nil)
        }
        try expect(accounts.call("GET", "/v1/people?starts=PIE", token: token).status, equals: 200)
        var body = ["email": "bob@example.org", "password": "correct horse", "username": "rice"]
        let bob = try accounts.call("POST", "/v1/accounts", body).json["accessToken"] as? String
        try expect(accounts.call("PUT", "/v1/me/username", ["username": "PIE"], token: bob).status, equals: 409)
        body["username"] = "fig"
        try expect(accounts.call("POST", "/v1/accounts", body).reason, equals: "email_taken")
        // An unconfirmed claim.
        let keys = accounts.world.shards[0].logic.partitions.keys(of: Identifier("nobodys")!)
        _ = accounts.world.redis.command(["SADD", keys.unfinished, "username-claim nobodys"])
        try accounts.world.run(for: 25_000)
        try expect(accounts.world.redis.command(["SCARD", keys.unfinished]).get().int, equals: 0)
    }
}
