import Passwords
import PresenceCore
import PresenceProtocol
import Redis

/// The second half of a change of address, after the link in the mail to the new address was used. It is an intent of the
/// account, because the two addresses may lie in partitions other than the account's (`Intents`).
///
///     want ─▶ take ─▶ switch ─▶ release the old address ─▶ (answered) end
///      │        │        └ the wish is over ─▶ release the new one ─▶ end
///      │        └ another's claim: does their account have the address, or want it?
///      │             ├─ yes ─▶ end: refused
///      │             └─ no: an interrupted change has left it ─▶ release it, take again
///      └ the mail's token is no longer valid: refused
///
/// A guest's first address takes the same way (`upgrade` instead of `want`). The password that belongs to it counts from the
/// switch on.
///
/// A deleted account leaves its claims in other partitions to the same intent. Until they are released, only `releasing`
/// remains of its record.
///
/// The number of a wish only grows and stands for one address, and a claim is released only if it is the whole `USER NUMBER`.
/// So a late executor neither undoes nor revives anything. If it claims an address for a wish that is over, the claim is void,
/// and the next request for that address detects this (`AccountClaim`).
final class EmailChange {
    private unowned let shard: ShardLogic
    private let claims: ClaimSteps
    private var kind: IntentKind!

    private struct Wish {
        let user: UserID
        let number: String
        let email: EmailAddress
        /// `nil` for a guest.
        let old: EmailAddress?
    }

    private enum Outcome: String {
        case made = "OK"
        case taken = "TAKEN"
        case gone = "GONE"

        var value: RedisValue { .array([.status(rawValue)]) }
    }

    private static let name = "email"

    init(_ shard: ShardLogic) {
        self.shard = shard
        claims = ClaimSteps(shard, of: Self.name) { EmailAddress($0).map { .address($0) } }
    }

    /// The intent's name in the set of unfinished intents.
    static func member(of user: UserID) -> String { "\(name) \(user.string)" }

    private var accounts: Accounts? { shard.feature(Accounts.self) }

    func register(in registry: inout Registry) {
        kind = registry.intents(Self.name) { [unowned self] in resume($0) }
    }

    /// - Returns: `OK`, `TAKEN` if another account has the address, or `GONE` if the token is not valid.
    func make(_ token: MailToken) async throws(Refusal) -> ScriptReply {
        try await shard.carryOut(Intent(kind, token.user), first: want(token))
    }

    /// Gives an account without an address one, and a password.
    ///
    /// - Parameters:
    ///   - password: `nil` for none.
    ///   - isProved: Whether the address is known to be the user's.
    /// - Returns: `OK`; `TAKEN` if another account has the address; `NONE` without an account; `CHANGED` or `GONE` if the
    ///   account has an address by now, or another request for one.
    func upgrade(
        _ user: UserID, to email: EmailAddress, _ password: PasswordHash?, isProved: Bool = false, by writer: Writer?
    ) async throws(Refusal) -> ScriptReply {
        let first = claims.inRecord(
            .wantUpgrade, user,
            [
                "intent": Self.member(of: user), "address": email.text,
                "password": password?.bytes.hexadecimal ?? "-", "lifetime": MailToken.lifetime, "isProved": isProved,
            ], by: writer
        ) { [unowned self] reply in
            guard reply.word == "OK" else { return .end(reply.value) }
            guard let number = reply[0].string else { return .damaged }
            return claimAddress(Wish(user: user, number: number, email: email, old: nil))
        }
        return try await shard.carryOut(Intent(kind, user), first: first)
    }

    /// Releases the claims of a deleted account in other partitions.
    func finish(_ user: UserID) {
        shard.intents.begin(Intent(kind, user), first: resume(user)) { _ in }
    }

    // MARK: Steps

    private func want(_ token: MailToken) -> IntentStep {
        claims.inRecord(.wantEmail, token.user, ["intent": Self.member(of: token.user), "digest": token.digest]) {
            [unowned self] reply in
            if reply.word == "GONE" { return .end(Outcome.gone.value) }
            return claimAddress(reply, of: token.user)
        }
    }

    /// Continues an intent that a sweep found.
    private func resume(_ user: UserID) -> IntentStep {
        claims.inRecord(.emailState, user, ["intent": Self.member(of: user)]) { [unowned self] reply in
            guard reply.word == "OK", let number = reply[1].string else { return .end(Outcome.gone.value) }
            // The account already has the wanted address, or never will.
            if reply[0].string == "" { return .step(end(number, of: user, .gone)) }
            return claimAddress(reply, of: user)
        }
    }

    /// - Parameter reply: The new address, the number, the old address or an empty text.
    private func claimAddress(_ reply: ScriptReply, of user: UserID) -> IntentProgress {
        guard let email = reply[0].string.flatMap({ EmailAddress($0) }), let number = reply[1].string,
            let former = reply[2].string
        else { return .damaged }
        let old = EmailAddress(former)
        guard former.isEmpty || old != nil else { return .damaged }
        return claimAddress(Wish(user: user, number: number, email: email, old: old))
    }

    private func claimAddress(_ wish: Wish) -> IntentProgress {
        claims.take(.address(wish.email), wish.number, for: wish.user) { [unowned self] in
            end(wish.number, of: wish.user, .taken)
        } then: { [unowned self] in
            switchOver(wish)
        }
    }

    private func switchOver(_ wish: Wish) -> IntentStep {
        let keys = shard.partitions.keys(of: wish.user)
        let token = MailToken(user: wish.user, purpose: .verify)
        let call = ScriptCall(
            .switchEmail, in: keys, ["user": keys.user(wish.user), "mail": keys.mail, "guests": keys.guests],
            [
                "user": wish.user, "address": wish.email.text, "number": wish.number,
                "text": wish.old == nil ? nil : accounts.map { MailText.addressChanged(of: wish.user, $0) },
                "digest": token.digest, "lifetime": MailToken.lifetime,
                "request": accounts.map { MailText.verification(of: wish.email, token, $0).encoded },
            ])
        return IntentStep(call, about: wish.user) { [unowned self] reply in
            if reply.word == "GONE" {
                guard let number = Int64(wish.number) else { return .damaged }
                let claim = AccountClaim(user: wish.user, number: number)
                return claims.release(claim, on: .address(wish.email)) { [unowned self] in
                    .step(end(wish.number, of: wish.user, .gone))
                }
            }
            guard let released = reply[0].string else { return .damaged }
            accounts?.mail.deliver(keys)
            return claims.release(all: released, of: wish.user) { [unowned self] in
                .answer(Outcome.made.value, then: end(wish.number, of: wish.user, .made, released: released))
            }
        }
    }

    /// - Parameter released: The claims already released.
    private func end(
        _ number: String, of user: UserID, _ outcome: Outcome, released: String = ""
    ) -> IntentStep {
        claims.inRecord(.endEmail, user, ["intent": Self.member(of: user), "number": number, "released": released]) {
            [unowned self] reply in
            guard let word = reply[0].string else { return .damaged }
            if reply.word == "OK" { return .end((word == "1" ? .made : outcome).value) }
            return claims.release(all: word, of: user) { [unowned self] in
                .step(end(number, of: user, outcome, released: word))
            }
        }
    }
}
