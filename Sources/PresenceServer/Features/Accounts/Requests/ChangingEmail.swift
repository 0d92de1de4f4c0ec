import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `POST /v1/me/email`, the request for another address. `POST /v1/emails/verify` makes the change with the token of the mail
/// (`EmailChange`).
extension Accounts {
    func requestEmailChange(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let (password, text) = try call.body { (body) throws(DecodingFailure) in
            (try body.text("password"), try body.text("email"))
        }
        guard let email = EmailAddress(text) else { throw .invalidEmail }
        let account = try await confirm(call, password)
        try chargeSignUp(call, "too many mails were requested from this address: nothing was done")
        let isMailed = try await isFree(email, for: account.user, with: account.email)

        let (user, keys) = (account.user, shard.partitions.keys(of: account.user))
        let token = MailToken(user: user, purpose: .change)
        let ask = ScriptCall(
            .askEmail, in: keys, ["user": keys.user(user), "mail": keys.mail],
            [
                "compared": account.held.bytes.hexadecimal, "password": "", "address": email.text,
                "digest": token.digest,
                "lifetime": MailToken.lifetime,
                "text": isMailed ? AccountMails.change(to: email, token, self).encoded : "",
            ], by: call.writer)
        _ = try await shard.run(ask).accepted(or: AccountRefusal.self)
        mail.deliver(keys)
        return .accepted
    }

    /// Whether an address is available to the account. If accounts are hidden, a taken address is handled like a free one,
    /// except that no mail is sent.
    ///
    /// - Throws: `emailTaken` where accounts are not hidden.
    func isFree(
        _ email: EmailAddress, for user: UserID, with own: EmailAddress?
    ) async throws(Refusal) -> Bool {
        let hides = shard.configuration[Accounts.hideExisting]
        guard let claim = try await claim(on: .email(email)) else {
            // Without a claim, checks a claim that cannot exist, so that the response takes the same time.
            if hides { _ = try await isMeant(AccountClaim(user: user, number: 0), on: .email(email)) }
            return true
        }
        guard try await isHeld(.email(email), by: claim) else { return true }
        // The claim belongs to an interrupted change of the same user.
        if claim.user == user, email != own { return true }
        if !hides { throw .emailTaken }
        return false
    }
}
