import PresenceCore
import PresenceProtocol
import Redis

/// `POST /v1/passwords/forgot`.
///
/// The answer comes before anybody looks whether there is such an account, so nobody is told if Redis refuses what follows: it
/// is tried again for half a minute. A server that ends meanwhile forgets it, and the user asks again.
final class ForgottenPasswords {
    private unowned let accounts: Accounts
    private var retry: DeadlineKind!
    /// Those that Redis did not take, by the number of their deadlines.
    private var waiting: [UInt64: Wish] = [:]
    private var lastNumber: UInt64 = 0

    /// Before each further try.
    private static let pauses: [Milliseconds] = [1_000, 2_000, 4_000, 8_000, 16_000]
    private static let mostWaiting = 1_000

    private struct Wish {
        let email: EmailAddress
        /// The script knows by it a further try of the same, whose answer was lost.
        var token: MailToken?
        var failures = 0
    }

    private var shard: ShardLogic { accounts.shard }

    init(_ accounts: Accounts, in registry: inout Registry) {
        self.accounts = accounts
        retry = registry.deadline { [unowned self] key in
            if case .number(let number) = key, let wish = waiting.removeValue(forKey: number) { look(wish) }
        }
    }

    func ask(_ call: HTTPCall) throws(DecodingFailure) {
        let address = try RequestObject(json: call.body).text("email")
        guard shard.link.isLive, accounts.places != nil else { return call.refuseUnavailable() }
        // That an address is too fast tells nothing of accounts.
        if let wait = accounts.signUps.take(by: call.address, at: shard.clock.now) {
            return call.refuse(
                .signUps, retryAfter: wait, "too many mails are asked for from this address: nothing was done")
        }
        call.respond(.accepted)
        if let email = EmailAddress(address) { look(Wish(email: email)) }
    }

    private func look(_ wish: Wish) {
        guard shard.link.isLive, let places = accounts.places else { return postpone(wish) }
        let key = places.keys(of: wish.email.text).emails(with: wish.email)
        shard.store.command(["HGET", key, wish.email.text], lane: .commands) { [self] result in
            switch result {
            case .failure(let failure): if !failure.isLasting { postpone(wish) }
            case .success(let value):
                guard let claim = value.string.flatMap({ EmailClaim($0) }) else { return }
                write(wish, to: claim.user)
            }
        }
    }

    private func write(_ wish: Wish, to user: UserID) {
        var wish = wish
        let token = wish.token.flatMap { $0.user == user ? $0 : nil } ?? MailToken(user: user, purpose: .reset)
        wish.token = token
        let keys = shard.partitions.keys(of: user)
        shard.store.run(
            .forgot, keys: [keys.shards, keys.account(user), keys.mail],
            arguments: [
                shard.link.incarnation, wish.email.text, token.digest, String(MailToken.lifetime),
                MailText.reset(of: wish.email, token, accounts).encoded,
            ], lane: .commands
        ) { [self] result in
            if accounts.isDone(result) { return accounts.mail.deliver(keys) }
            if result.failure?.isLasting == true { shard.noteDamage("account", of: user) } else { postpone(wish) }
        }
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
