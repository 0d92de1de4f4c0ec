import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Another address: `POST /v1/me/email`, and what `POST /v1/emails/verify` says once its mail has come through
/// (`EmailChange`).
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
            shard.store.command(
                ["HGET", places.keys(of: email.text).emails(with: email), email.text], lane: .commands, reply: $0)
        } answered: { [self] value in
            guard let claim = value.string.flatMap({ EmailClaim($0) }) else {
                guard shard.configuration.isOn(.hideExisting) else { return ask(for: email, call, account) }
                // A claim would be looked at. For the answer to take as long without one, any is.
                return isMeant(EmailClaim(user: account.user, number: 0), of: email) { [self] isMeant in
                    if isMeant == nil { call.refuseUnavailable() } else { ask(for: email, call, account) }
                }
            }
            isHeld(email, by: claim) { [self] isHeld in
                switch isHeld {
                case nil: call.refuseUnavailable()
                // A wish of their own that has broken off.
                case true? where claim.user == account.user && email != account.email: ask(for: email, call, account)
                // All happens as for an address that is free, but for the mail.
                case true? where shard.configuration.isOn(.hideExisting):
                    ask(for: email, call, account, isMailed: false)
                case true?: call.refuseTaken()
                case false?: ask(for: email, call, account)
                }
            }
        }
    }

    private func ask(
        for email: EmailAddress, _ call: HTTPCall, _ account: Confirmed, isMailed: Bool = true
    ) {
        let keys = shard.partitions.keys(of: account.user)
        let token = MailToken(user: account.user, purpose: .change)
        let mail = MailText.change(to: email, token, self).encoded
        call.ask {
            shard.store.run(
                .askEmail, keys: [keys.shards, keys.account(account.user), keys.mail] + call.writer.keys,
                arguments: [
                    shard.link.incarnation, account.held.bytes.hexadecimal, email.text, token.digest,
                    String(MailToken.lifetime), isMailed ? mail : "",
                ], lane: .commands, reply: $0)
        } answered: { [self] value in
            switch value.array?.first?.string {
            case "OK":
                call.respond(.accepted)
                self.mail.deliver(keys)
            case "CHANGED": call.refuseCredentials()
            case "TOOFAST": call.refuse(retryAfter: 3_600_000, "too many mails were asked for within an hour")
            default: call.refuseDamaged(account.user)
            }
        }
    }

    // MARK: The mail has come through

    func changeEmail(_ call: HTTPCall, _ token: MailToken) {
        call.ask {
            emailChange.begin(token, reply: $0)
        } answered: { [self] value in
            switch value.array?.last?.string {
            case "CHANGED": call.respond(.done)
            case "TAKEN": call.refuseTaken()
            case "GONE": refuseExpired(call)
            default: call.refuseDamaged(token.user)
            }
        }
    }
}
