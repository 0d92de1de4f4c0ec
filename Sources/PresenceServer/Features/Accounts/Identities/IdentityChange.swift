import PresenceCore
import PresenceProtocol
import Redis

/// Links an identity to an existing account, and releases those that it gives up. It is an intent of the account, because the claim
/// on an identity may lie in another partition (`Intents`).
///
///     want ─▶ take ─▶ add ─▶ (answered) end
///      │        │      └ the wish is over ─▶ release ─▶ end
///      │        └ another's claim: does their account have the identity, or want it?
///      │             ├─ yes ─▶ end: refused
///      │             └─ no: an interrupted change has left it ─▶ release it, take again
///      └ the account has it, or may not have it: refused
///
/// The number of a wish only grows and stands for one identity, and a claim is released only if it is the whole `USER NUMBER`, as
/// with addresses (`EmailChange`). A wish is open for ``lifetime``: if its server dies, the next sweep after that releases it.
/// Identities of deleted accounts, and those that users take away, are left to the same intent.
final class IdentityChange {
    private unowned let shard: ShardLogic
    private let claims: ClaimSteps
    private var kind: IntentKind!

    private static let name = "identity"
    /// The most identities of an account.
    static let most = 10
    private static let lifetime: Milliseconds = 30_000

    init(_ shard: ShardLogic) {
        self.shard = shard
        claims = ClaimSteps(shard) { .identity($0) }
    }

    /// The intent's name in the set of unfinished intents.
    static func member(of user: UserID) -> String { "\(name) \(user.string)" }

    func register(in registry: inout Registry) {
        kind = registry.intents(Self.name) { [unowned self] (run) throws(RedisFailure) in try await resume(run) }
    }

    /// Links an identity to an account.
    ///
    /// - Parameter email: The account must have verified it; `nil` if its user asks.
    /// - Returns: `OK`; `HELD` if the account has it already; `TAKEN` if another account has it; `NONE` without an account; `CHANGED`
    ///   if the account is disabled or has another address; `FULL` if it has too many; `OVER` if the wish ended early.
    func link(
        _ identity: Identity, to user: UserID, with email: EmailAddress?, by writer: Writer?
    ) async throws(Refusal) -> ScriptReply {
        try await shard.carryOut(Intent(kind, user)) { [unowned self] (run) throws(RedisFailure) in
            let reply = try await claims.inRecord(
                .wantIdentity, user,
                [
                    "intent": run.intent.member, "identity": identity.digest, "address": email?.text ?? "",
                    "lifetime": Self.lifetime, "most": Self.most,
                ], by: writer, run)
            guard reply.word == "OK" else { return .done(reply.value) }
            guard let number = reply[0].string else { throw .unexpectedReply }
            return try await claim(identity, number, run)
        }
    }

    /// Releases the claims that an account has given up.
    func finish(_ user: UserID) { shard.intents.begin(Intent(kind, user)) }

    // MARK: Steps

    private static func word(_ word: String) -> RedisValue { .array([.status(word)]) }

    /// Continues an intent that a sweep found. An open wish is left to the request that made it.
    private func resume(_ run: IntentRun) async throws(RedisFailure) -> IntentEnd {
        let user = run.intent.subject
        let reply = try await claims.inRecord(.identityState, user, ["intent": run.intent.member], run)
        guard reply.word == "OK" else { return .ok }
        guard let releasing = reply[0].string else { throw .unexpectedReply }
        try await claims.release(all: releasing, of: user, run)
        return try await end("", "OK", released: releasing, run)
    }

    private func claim(_ identity: Identity, _ number: String, _ run: IntentRun) async throws(RedisFailure) -> IntentEnd
    {
        let user = run.intent.subject
        guard try await claims.take(identity.name, number, for: user, run) else {
            return try await end(number, "TAKEN", run)
        }
        let keys = shard.partitions.keys(of: user)
        let call = ScriptCall(
            .addIdentity, in: keys, ["user": keys.user(user), "guests": keys.guests, "mail": keys.mail],
            [
                "user": user, "identity": identity.digest, "number": number, "provider": identity.provider,
                "email": identity.emailArgument, "text": identity.notice,
            ])
        if try await run.step(call, about: user).word == "OK" {
            shard.feature(Accounts.self)?.mail.deliver(keys)
            run.answer(Self.word("OK"))
            return try await end(number, "OK", run)
        }
        guard let wish = Int64(number) else { throw .unexpectedReply }
        try await claims.release(AccountClaim(user: user, number: wish), on: identity.name, run)
        return try await end(number, "OVER", run)
    }

    /// - Parameter former: The claims already released.
    private func end(
        _ number: String, _ outcome: String, released former: String = "", _ run: IntentRun
    ) async throws(RedisFailure) -> IntentEnd {
        let user = run.intent.subject
        var released = former
        while true {
            let reply = try await claims.inRecord(
                .endIdentity, user, ["intent": run.intent.member, "number": number, "released": released], run)
            if reply.word == "OK" { return .done(Self.word(outcome)) }
            guard let open = reply[0].string else { throw .unexpectedReply }
            try await claims.release(all: open, of: user, run)
            released = open
        }
    }
}
