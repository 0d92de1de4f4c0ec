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
        claims = ClaimSteps(shard) { EmailAddress($0).map { .email($0) } }
    }

    /// The intent's name in the set of unfinished intents.
    static func member(of user: UserID) -> String { "\(name) \(user.string)" }

    private var accounts: Accounts? { shard.feature(Accounts.self) }

    func register(in registry: inout Registry) {
        kind = registry.intents(Self.name) { [unowned self] (run) throws(RedisFailure) in try await resume(run) }
    }

    /// - Returns: `OK`, `TAKEN` if another account has the address, or `GONE` if the token is not valid.
    func make(_ token: MailToken) async throws(Refusal) -> ScriptReply {
        try await shard.carryOut(Intent(kind, token.user)) { [unowned self] (run) throws(RedisFailure) in
            let reply = try await claims.inRecord(
                .wantEmail, token.user, ["intent": run.intent.member, "digest": token.digest], run)
            if reply.word == "GONE" { return .done(Outcome.gone.value) }
            return try await claimAddress(reply, run)
        }
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
        try await shard.carryOut(Intent(kind, user)) { [unowned self] (run) throws(RedisFailure) in
            let reply = try await claims.inRecord(
                .wantUpgrade, user,
                [
                    "intent": run.intent.member, "address": email.text,
                    "password": password?.bytes.hexadecimal ?? "-", "lifetime": MailToken.lifetime,
                    "isProved": isProved,
                ], by: writer, run)
            guard reply.word == "OK" else { return .done(reply.value) }
            guard let number = reply[0].string else { throw .unexpectedReply }
            return try await claimAddress(Wish(user: user, number: number, email: email, old: nil), run)
        }
    }

    /// Releases the claims of a deleted account in other partitions.
    func finish(_ user: UserID) { shard.intents.begin(Intent(kind, user)) }

    // MARK: Steps

    /// Continues an intent that a sweep found.
    private func resume(_ run: IntentRun) async throws(RedisFailure) -> IntentEnd {
        let reply = try await claims.inRecord(.emailState, run.intent.subject, ["intent": run.intent.member], run)
        guard reply.word == "OK", let number = reply[1].string else { return .done(Outcome.gone.value) }
        // The account already has the wanted address, or never will.
        if reply[0].string == "" { return try await end(number, .gone, run) }
        return try await claimAddress(reply, run)
    }

    /// - Parameter reply: The new address, the number, the old address or an empty text.
    private func claimAddress(_ reply: ScriptReply, _ run: IntentRun) async throws(RedisFailure) -> IntentEnd {
        guard let email = reply[0].string.flatMap({ EmailAddress($0) }), let number = reply[1].string,
            let former = reply[2].string
        else { throw .unexpectedReply }
        let old = EmailAddress(former)
        guard former.isEmpty || old != nil else { throw .unexpectedReply }
        return try await claimAddress(Wish(user: run.intent.subject, number: number, email: email, old: old), run)
    }

    private func claimAddress(_ wish: Wish, _ run: IntentRun) async throws(RedisFailure) -> IntentEnd {
        guard try await claims.take(.email(wish.email), wish.number, for: wish.user, run) else {
            return try await end(wish.number, .taken, run)
        }
        let keys = shard.partitions.keys(of: wish.user)
        let token = MailToken(user: wish.user, purpose: .verify)
        let call = ScriptCall(
            .switchEmail, in: keys, ["user": keys.user(wish.user), "mail": keys.mail, "guests": keys.guests],
            [
                "user": wish.user, "address": wish.email.text, "number": wish.number,
                "text": wish.old == nil ? nil : accounts.map { AccountMails.addressChanged(of: wish.user, $0) },
                "digest": token.digest, "lifetime": MailToken.lifetime,
                "request": accounts.map { AccountMails.verification(of: wish.email, token, $0).encoded },
            ])
        let reply = try await run.step(call, about: wish.user)
        if reply.word == "GONE" {
            guard let number = Int64(wish.number) else { throw .unexpectedReply }
            try await claims.release(AccountClaim(user: wish.user, number: number), on: .email(wish.email), run)
            return try await end(wish.number, .gone, run)
        }
        guard let released = reply[0].string else { throw .unexpectedReply }
        accounts?.mail.deliver(keys)
        try await claims.release(all: released, of: wish.user, run)
        run.answer(Outcome.made.value)
        return try await end(wish.number, .made, released: released, run)
    }

    /// - Parameter former: The claims already released.
    private func end(
        _ number: String, _ outcome: Outcome, released former: String = "", _ run: IntentRun
    ) async throws(RedisFailure) -> IntentEnd {
        let user = run.intent.subject
        var released = former
        while true {
            let reply = try await claims.inRecord(
                .endEmail, user, ["intent": run.intent.member, "number": number, "released": released], run)
            guard let word = reply[0].string else { throw .unexpectedReply }
            if reply.word == "OK" { return .done((word == "1" ? .made : outcome).value) }
            try await claims.release(all: word, of: user, run)
            released = word
        }
    }
}
