import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `POST /v1/passwords/reset` and the first half of `POST /v1/emails/verify`.
extension Accounts {
    func reset(_ call: HTTPCall) throws(DecodingFailure) {
        let body = try RequestObject(json: call.body)
        let (text, password) = (try body.text("token"), try body.text("password"))
        guard let token = MailToken(text), token.purpose == .reset else { return refuseExpired(call) }
        let keys = shard.partitions.keys(of: token.user)
        call.ask(changes: false) {
            shard.store.command(
                ["HMGET", keys.account(token.user), "reset", "email", "held"], lane: .commands, reply: $0)
        } answered: { [self] value in
            let words = value.array ?? []
            let kept = words.first?.string?.split(separator: " ") ?? []
            // The script decides; this keeps strangers from having passwords hashed.
            guard kept.count >= 2, kept[0] == token.digest, let until = Timestamp(kept[1]),
                shard.clock.redisNow < until, words.count == 3,
                let email = words[1].string.flatMap({ EmailAddress($0) })
            else { return refuseExpired(call) }
            if let rule = rules.brokenRule(by: password, names: Self.names(email, words[2].string)) {
                return call.refusePassword(rule, field: "password")
            }
            guard let place = call.keepPlace(in: Self.passwords) else { return }
            call.work(Self.passwords, at: place) {
                PasswordHash(of: password)
            } then: { [self] hash in
                reset(call, token, email, hash)
            }
        }
    }

    /// The failures for the address are forgotten first, since the token is used up by the other: the owner, who reads the mail, need
    /// not wait because others guessed.
    private func reset(_ call: HTTPCall, _ token: MailToken, _ email: EmailAddress, _ hash: PasswordHash) {
        guard let places else { return call.refuseUnavailable() }
        let guesses = places.keys(of: email.text).guesses(places.guesses(of: email.text))
        call.ask(changes: false) {
            shard.store.command(["DEL", guesses], lane: .commands, reply: $0)
        } answered: { [self] _ in
            set(call, token, email, hash)
        }
    }

    private func set(_ call: HTTPCall, _ token: MailToken, _ email: EmailAddress, _ hash: PasswordHash) {
        let keys = shard.partitions.keys(of: token.user)
        call.ask {
            shard.store.run(
                .resetPassword,
                keys: [keys.shards, keys.floor, keys.account(token.user), keys.grants(token.user), keys.mail],
                arguments: [
                    keys.events, shard.link.incarnation, token.user.string, token.digest, hash.bytes.hexadecimal,
                    MailText.passwordChanged(email, self).encoded,
                ], lane: .commands, reply: $0)
        } answered: { [self] value in
            switch value.array?.first?.string {
            case "OK":
                call.respond(.done)
                mail.deliver(keys)
            case "GONE": refuseExpired(call)
            default: call.refuseDamaged(token.user)
            }
        }
    }

    func verify(_ call: HTTPCall) throws(DecodingFailure) {
        guard let token = MailToken(try RequestObject(json: call.body).text("token")) else {
            return refuseExpired(call)
        }
        switch token.purpose {
        case .reset: refuseExpired(call)
        case .change: changeEmail(call, token)
        case .verify:
            let keys = shard.partitions.keys(of: token.user)
            call.ask {
                shard.store.run(
                    .verifyEmail, keys: [keys.shards, keys.floor, keys.account(token.user)],
                    arguments: [keys.events, shard.link.incarnation, token.user.string, token.digest],
                    lane: .commands, reply: $0)
            } answered: { [self] value in
                switch value.array?.first?.string {
                case "OK": call.respond(.done)
                case "GONE": refuseExpired(call)
                default: call.refuseDamaged(token.user)
                }
            }
        }
    }
}
