import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `POST /v1/passwords/forgot`.
///
/// The response is sent before the account is looked up, so the client does not learn if Redis refuses the change. The change
/// is retried for half a minute. If the server stops meanwhile, the request is lost, and the user asks again.
final class ForgottenPasswords {
    private unowned let accounts: Accounts
    private var retry: DeadlineKind!
    /// Requests that Redis did not accept, by the number of their deadline.
    private var waiting: [UInt64: Wish] = [:]
    private var lastNumber: UInt64 = 0

    /// The delays before the retries.
    private static let pauses: [Milliseconds] = [1_000, 2_000, 4_000, 8_000, 16_000]
    private static let mostWaiting = 1_000

    private struct Wish {
        let email: EmailAddress
        /// With the same token in each retry, the script recognises a request whose reply was lost.
        var token: MailToken?
        var failures = 0
    }

    private var shard: ShardLogic { accounts.shard }

    init(_ accounts: Accounts, in registry: inout Registry) {
        self.accounts = accounts
        retry = registry.deadline { [unowned self] key in
            if case .number(let number) = key, let wish = waiting.removeValue(forKey: number) { begin(wish) }
        }
    }

    func requestReset(_ call: HTTPCall) throws(Refusal) -> HTTPResponse {
        let address = try call.body { (body) throws(DecodingFailure) in try body.text("email") }
        _ = try accounts.liveAddresses()
        // A rate limit per client address reveals nothing about accounts.
        try accounts.chargeSignUp(call, "too many mails were requested from this address: nothing was done")
        if let email = EmailAddress(address) { begin(Wish(email: email)) }
        return .accepted
    }

    private func begin(_ wish: Wish) {
        shard.tasks.run { [self] in
            var wish = wish
            do throws(RedisFailure) {
                try await write(&wish)
            } catch {
                if !error.isLasting { postpone(wish) }
            }
        }
    }

    /// Queues the mail in the partition of the address's owner, if there is one.
    private func write(_ wish: inout Wish) async throws(RedisFailure) {
        guard shard.link.isLive, let addresses = accounts.addresses else { throw .disconnected(sent: false) }
        let email = wish.email
        let claims = addresses.keys(of: email.text).emails(with: email)
        guard let claim = try await shard.command(["HGET", claims, email.text]).string.flatMap({ EmailClaim($0) })
        else { return }
        let (user, keys) = (claim.user, shard.partitions.keys(of: claim.user))
        let token = wish.token.flatMap { $0.user == user ? $0 : nil } ?? MailToken(user: user, purpose: .reset)
        wish.token = token
        let call = ScriptCall(
            .forgot, in: keys, ["user": keys.user(user), "mail": keys.mail],
            [
                "address": email.text, "digest": token.digest, "lifetime": MailToken.lifetime,
                "text": MailText.reset(of: email, token, accounts).encoded,
            ])
        do throws(RedisFailure) {
            // `FENCED` is not a valid reply here, because this server may have missed changes.
            guard try await shard.reply(to: call).word == "OK" else { throw .disconnected(sent: false) }
        } catch {
            if error.isLasting { shard.recordDamage("account", of: user) }
            throw error
        }
        accounts.mail.deliver(keys)
    }

    private func postpone(_ wish: Wish) {
        guard wish.failures < Self.pauses.count, waiting.count < Self.mostWaiting else { return }
        var wish = wish
        let pause = Self.pauses[wish.failures]
        wish.failures += 1
        lastNumber += 1
        waiting[lastNumber] = wish
        shard.deadlines.set(retry, .number(lastNumber), at: shard.clock.now + pause)
    }
}
