import Foundation
import Passwords
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// The rules that must hold when all is quiet.
extension SignInHistory {
    func checkEnd() throws {
        try checkClaims()
        for user in past.deleted.sorted() { try checkNothingIsLeft(of: user) }
        for user in past.banned.sorted() { _ = try answer("DELETE", "/v1/users/\(user)/ban", token: "!backend") }
        for user in past.disabled.subtracting(past.deleted).sorted() {
            _ = try answer("POST", "/v1/users/\(user)/account/enable", token: "!backend")
        }
        // The limits of mails and guesses are over, and all guests are unused.
        world.redisEpoch += 7_200_000
        try world.run(for: 15_000)
        try world.run(until: "all are live again", within: 120_000) { [self] in
            world.shards.allSatisfy { $0.logic.link.isLive }
        }
        try world.run(until: "no guest is left", within: 200_000) { [self] in
            past.users.allSatisfy { stored($0)?.isGuest != true }
        }
        var taken: Set<String> = []
        for user in past.users {
            guard let account = stored(user) else {
                if !past.deleted.contains(user) { fail("\(past.name(user)) is lost") }
                continue
            }
            taken.formUnion(account.identities.map(\.digest) + [account.email].compactMap(\.self))
            try checkWays(into: user, account)
        }
        try checkFreeNames(taken)
    }

    private func texts(_ command: [String]) throws -> [String] {
        (try redis.ask(command).get().array ?? []).compactMap(\.string)
    }

    /// All claims, by name.
    private func claims() throws -> [String: String] {
        var claims: [String: String] = [:]
        for key in try texts(["KEYS", "*:identity:*"]) + texts(["KEYS", "*:email:*"]) {
            let words = try texts(["HGETALL", key])
            for place in stride(from: 0, to: words.count - 1, by: 2) { claims[words[place]] = words[place + 1] }
        }
        return claims
    }

    /// Each name of an account is claimed for it, so no two accounts have one. A server that died may have left a void claim.
    private func checkClaims() throws {
        let claims = try claims()
        var held: [String: String] = [:]
        for user in past.users {
            guard let account = stored(user), let id = UserID(user) else { continue }
            for identity in account.identities { held[identity.digest] = "\(user) \(identity.number)" }
            guard let email = account.email else { continue }
            let number = try redis.ask(["HGET", partitions.keys(of: id).user(id), "emailClaim"]).get().string
            held[email] = "\(user) \(number ?? "0")"
        }
        for (name, claim) in held where claims[name] != claim {
            fail("\(name) is claimed by \(claims[name] ?? "nobody"), and not by \(claim)")
        }
        if isCalm, let left = claims.keys.sorted().first(where: { held[$0] == nil }) {
            fail("the claim \(claims[left]!) on \(left) is left")
        }
    }

    private func checkNothingIsLeft(of user: String) throws {
        let id = UserID(user)!
        let keys = partitions.keys(of: id)
        let left = try texts(["KEYS", "*:\(user)"]).filter { $0 != keys.user(id) }
        let fields = Set(try texts(["HKEYS", keys.user(id)])).subtracting(["revokedAt", "deletedAt", "ban", "barredAt"])
        if !left.isEmpty || !fields.isEmpty {
            fail("of \(user), who was deleted, \(left) and \(fields.sorted()) are left")
        }
        if try !redis.ask(["ZSCORE", keys.guests, user]).get().isNull { fail("\(user), who was deleted, is a guest") }
    }

    /// Each entry of an account leads into it.
    private func checkWays(into user: String, _ account: StoredAccount) throws {
        guard let person = Self.people.first(where: { $0.name == past.holder(of: user) }) else { return }
        if let hash = account.password, let email = account.email,
            let password = person.passwords.first(where: { PasswordHash(hash)?.matches($0) == true })
        {
            try mustLead(["email": email, "password": password], into: user)
        }
        for identity in account.identities {
            guard let body = try token(ofIdentity: identity.digest) else { continue }
            try mustLead(body, into: user)
        }
        // The first proof of an address ends all other entries, so it is last.
        guard let email = account.email else { return }
        let mails = accounts.mails(to: email).count
        _ = try answer("POST", "/v1/signin/mail", ["email": email])
        try world.run(until: "there is a code for \(email)") { [self] in accounts.mails(to: email).count > mails }
        let mail = accounts.mails(to: email).last { $0.contains("/signin#") } ?? ""
        try mustLead(["email": email, "mailCode": Self.link(in: mail)], into: user)
    }

    private func mustLead(_ body: [String: Any], into user: String) throws {
        let call = try answer("POST", "/v1/sessions", body)
        if call.json["user"] as? String != user {
            fail(
                "\(body["mailCode"] ?? body["password"] ?? "an identity") leads into \(call.json), and not into \(user)"
            )
        }
    }

    private func token(ofIdentity digest: String) throws -> [String: Any]? {
        guard let addresses = world.shards[0].logic.feature(Accounts.self)?.logins else { return nil }
        for (name, subject) in Self.people.flatMap(\.identities) {
            guard addresses.identity(SimulatedProvider.issuer(of: name), subject) == digest else { continue }
            return try providers.first { $0.name == name }!.body(subject)
        }
        return nil
    }

    /// Names of no account make new ones.
    private func checkFreeNames(_ taken: Set<String>) throws {
        guard let addresses = world.shards[0].logic.feature(Accounts.self)?.logins else { return }
        for person in Self.people {
            for (name, subject) in person.identities {
                let digest = addresses.identity(SimulatedProvider.issuer(of: name), subject)
                guard !taken.contains(digest) else { continue }
                var body = try providers.first { $0.name == name }!.body(subject)
                body["displayName"] = person.name
                try expectNew(body, at: "/v1/sessions")
            }
            for email in person.addresses where !taken.contains(email) {
                let body = ["email": email, "password": person.passwords[0], "displayName": person.name]
                try expectNew(body, at: "/v1/accounts")
            }
        }
    }

    private func expectNew(_ body: [String: Any], at path: String) throws {
        let call = try answer("POST", path, body)
        if call.status != 201 { fail("a name that no account has is answered \(call.json)") }
    }
}
