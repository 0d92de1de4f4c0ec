import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `POST /v1/passwords/reset` and `POST /v1/emails/verify`.
extension Accounts {
    func reset(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let (text, password) = try call.body { (body) throws(DecodingFailure) in
            (try body.text("token"), try body.text("password"))
        }
        guard let token = MailToken(text), token.purpose == .reset else { throw .expired }
        let keys = shard.partitions.keys(of: token.user)
        let words = try await shard.run("HMGET", keys.user(token.user), "reset", "email", "held").array ?? []
        let kept = words.first?.string?.split(separator: " ") ?? []
        // The script decides; this check keeps strangers from making the server hash passwords.
        guard kept.count >= 2, kept[0] == token.digest, let until = Timestamp(kept[1]), shard.clock.redisNow < until,
            words.count == 3, let email = words[1].string.flatMap({ EmailAddress($0) })
        else { throw .expired }
        if let rule = rules.brokenRule(by: password, names: Self.names(email, words[2].string)) {
            throw .weakPassword(rule, field: "password")
        }
        let place = try call.place(in: Self.passwords)
        let hash = try await call.work(Self.passwords, at: place) { PasswordHash(of: password) }
        // The failures for the address are cleared first, because the second step uses up the token. The owner, who can read
        // the mail, must not be blocked by others' guesses.
        guard let logins else { throw .noStore }
        _ = try await shard.run("DEL", logins.keys(of: email.text).guesses(logins.guesses(of: email.text)))
        let set = ScriptCall(
            .resetPassword, in: keys,
            [
                "unfinished": keys.unfinished, "user": keys.user(token.user), "grants": keys.grants(token.user),
                "mail": keys.mail,
            ],
            [
                "user": token.user, "digest": token.digest, "password": hash.bytes.hexadecimal,
                "text": AccountMails.passwordChanged(of: token.user, self),
                "identityIntent": IdentityChange.member(of: token.user),
            ])
        _ = try await shard.run(set).accepted(or: AccountRefusal.self)
        mail.deliver(keys)
        return .done
    }

    func verify(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let text = try call.body { (body) throws(DecodingFailure) in try body.text("token") }
        guard let token = MailToken(text) else { throw .expired }
        switch token.purpose {
        case .reset: throw .expired
        case .change:
            _ = try await emailChange.make(token).accepted(or: AccountRefusal.self)
        case .verify:
            let keys = shard.partitions.keys(of: token.user)
            let verify = ScriptCall(
                .verifyEmail, in: keys, ["user": keys.user(token.user)], ["user": token.user, "digest": token.digest])
            _ = try await shard.run(verify).accepted(or: AccountRefusal.self)
        }
        return .done
    }
}
