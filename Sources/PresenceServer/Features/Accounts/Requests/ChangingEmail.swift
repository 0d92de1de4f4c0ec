import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Another address: `POST /v1/me/email`, and the second half of `POST /v1/emails/verify`.
///
/// The new address lies in another partition than the account, so it takes four scripts. The wish is written down in the
/// account under a number that only grows; the address is claimed with it; the account takes the address, if the wish still
/// stands; the old address is given back. Whatever breaks off leaves a claim that counts for nothing, or one whose wish is
/// over when the mail's token is: `EmailClaim` says how that is found out.
extension Accounts {
    func askForEmail(_ call: HTTPCall) throws(DecodingFailure) {
        let body = try RequestObject(json: call.body)
        let (password, address) = (try body.text("password"), try body.text("email"))
        guard let email = EmailAddress(address) else { return call.refuseEmail() }
        confirm(call, password) { [self] account in
            look(for: email, call, account)
        }
    }

    private func look(for email: EmailAddress, _ call: HTTPCall, _ account: Confirmed) {
        guard let places else { return call.refuseUnavailable() }
        call.ask(changes: false) {
            shard.store.command(["GET", places.keys(of: email.text).email(email)], lane: .commands, reply: $0)
        } answered: { [self] value in
            guard let claim = value.string.flatMap({ EmailClaim($0) }) else { return ask(for: email, call, account) }
            isHeld(email, by: claim) { [self] isHeld in
                switch isHeld {
                case nil: call.refuseUnavailable()
                // A wish of their own that has broken off.
                case true? where claim.user == account.user && email != account.email: ask(for: email, call, account)
                case true? where shard.configuration.isOn(.hideExisting): call.respond(.accepted)
                case true?: call.refuseTaken()
                case false?: ask(for: email, call, account)
                }
            }
        }
    }

    private func ask(for email: EmailAddress, _ call: HTTPCall, _ account: Confirmed) {
        let keys = shard.partitions.keys(of: account.user)
        let token = MailToken(user: account.user, purpose: .change)
        call.ask {
            shard.store.run(
                .askEmail, keys: [keys.shards, keys.account(account.user), keys.mail],
                arguments: [
                    shard.link.incarnation, account.held.bytes.hexadecimal, email.text, token.digest,
                    String(MailToken.lifetime), MailText.change(to: email, token, self).encoded,
                ], lane: .commands, reply: $0)
        } answered: { [self] value in
            switch value.array?.first?.string {
            case "OK":
                call.respond(.accepted)
                mail.deliver(keys)
            case "CHANGED": call.refuseCredentials()
            case "TOOFAST": call.refuse(retryAfter: 3_600_000, "too many mails were asked for within an hour")
            default: call.refuseDamaged(account.user)
            }
        }
    }

    // MARK: The mail has come through

    func changeEmail(_ call: HTTPCall, _ token: MailToken) {
        let keys = shard.partitions.keys(of: token.user)
        call.ask {
            shard.store.run(
                .wantEmail, keys: [keys.shards, keys.account(token.user)],
                arguments: [shard.link.incarnation, token.digest], lane: .commands, reply: $0)
        } answered: { [self] value in
            let words = value.array ?? []
            switch words.first?.string {
            case "OK":
                guard words.count > 3, let email = words[1].string.flatMap({ EmailAddress($0) }),
                    let number = words[2].string.flatMap({ Int64($0) }),
                    let old = words[3].string.flatMap({ EmailAddress($0) })
                else { return call.refuseDamaged(token.user) }
                take(email, from: old, EmailClaim(user: token.user, number: number), call, tries: 0)
            case "GONE": refuseExpired(call)
            default: call.refuseDamaged(token.user)
            }
        }
    }

    private func take(
        _ email: EmailAddress, from old: EmailAddress, _ claim: EmailClaim, _ call: HTTPCall, tries: Int
    ) {
        guard let places else { return call.refuseUnavailable() }
        let keys = places.keys(of: email.text)
        call.ask {
            shard.store.run(
                .takeClaim, keys: [keys.shards, keys.email(email)],
                arguments: [shard.link.incarnation, claim.user.string, String(claim.number)], lane: .commands,
                reply: $0)
        } answered: { [self] value in
            let words = value.array ?? []
            switch words.first?.string {
            case "OK": switchTo(email, from: old, claim, call)
            case "TAKEN":
                guard let other = words.last?.string.flatMap({ EmailClaim($0) }) else { return call.refuseTaken() }
                isHeld(email, by: other) { [self] isHeld in
                    switch isHeld {
                    case nil: call.refuseUnavailable()
                    case false? where tries < 4: take(email, from: old, claim, call, tries: tries + 1)
                    default: call.refuseTaken()
                    }
                }
            default: call.refuseDamaged(claim.user)
            }
        }
    }

    private func switchTo(
        _ email: EmailAddress, from old: EmailAddress, _ claim: EmailClaim, _ call: HTTPCall
    ) {
        guard let places else { return call.refuseUnavailable() }
        let keys = shard.partitions.keys(of: claim.user)
        call.ask {
            shard.store.run(
                .switchEmail, keys: [keys.shards, keys.floor, keys.account(claim.user), keys.mail],
                arguments: [
                    keys.events, shard.link.incarnation, claim.user.string, email.text, String(claim.number),
                    old.text, MailText.addressChanged(from: old, self).encoded,
                ], lane: .commands, reply: $0)
        } answered: { [self] value in
            let words = value.array ?? []
            switch words.first?.string {
            case "OK":
                guard words.count > 2, let old = words[1].string.flatMap({ EmailAddress($0) }),
                    let number = words[2].string.flatMap({ Int64($0) })
                else { return call.refuseDamaged(claim.user) }
                mail.deliver(keys)
                // Free before the answer, if the store is there; else it is found out by who asks for it.
                release(old, EmailClaim(user: claim.user, number: number), in: places.keys(of: old.text)) { _ in
                    call.respond(.done)
                }
            case "GONE":
                release(email, claim, in: places.keys(of: email.text))
                refuseExpired(call)
            default: call.refuseDamaged(claim.user)
            }
        }
    }
}
