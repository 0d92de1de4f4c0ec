import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `POST /v1/passwords/forgot`.
extension Accounts {
    func requestReset(_ call: HTTPCall) throws(Refusal) -> HTTPResponse {
        let login = try call.body { (body) throws(DecodingFailure) in try body.text("email") }
        _ = try liveLogins()
        // A rate limit per client address reveals nothing about accounts.
        try chargeSignUp(call, "too many mails were requested from this address: nothing was done")
        guard let email = EmailAddress(login) else { return .accepted }
        // With the same token in each retry, the script recognises a request whose reply was lost.
        var token: MailToken?
        late.begin { [unowned self] () async throws(RedisFailure) in try await mailReset(to: email, &token) }
        return .accepted
    }

    /// Queues the mail in the partition of the address's owner, if there is one.
    private func mailReset(to email: EmailAddress, _ kept: inout MailToken?) async throws(RedisFailure) {
        guard shard.link.isLive, let logins else { throw .disconnected(sent: false) }
        let claims = logins.keys(of: email.text).emails(with: email)
        guard let claim = try await shard.command(["HGET", claims, email.text]).string.flatMap({ AccountClaim($0) })
        else { return }
        let (user, keys) = (claim.user, shard.partitions.keys(of: claim.user))
        let token = kept.flatMap { $0.user == user ? $0 : nil } ?? MailToken(user: user, purpose: .reset)
        kept = token
        let call = ScriptCall(
            .forgot, in: keys, ["user": keys.user(user), "mail": keys.mail],
            [
                "address": email.text, "digest": token.digest, "lifetime": MailToken.lifetime,
                "text": AccountMails.reset(of: email, token, self).encoded,
            ])
        do throws(RedisFailure) {
            // `FENCED` is not a valid reply here, because this server may have missed changes.
            guard try await shard.reply(to: call).word == "OK" else { throw .disconnected(sent: false) }
        } catch {
            if error.isLasting { shard.recordDamage("account", of: user) }
            throw error
        }
        mail.deliver(keys)
    }
}
