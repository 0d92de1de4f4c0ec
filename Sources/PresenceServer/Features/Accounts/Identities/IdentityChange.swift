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
        claims = ClaimSteps(shard, of: Self.name) { .identity($0) }
    }

    /// The intent's name in the set of unfinished intents.
    static func member(of user: UserID) -> String { "\(name) \(user.string)" }

    func register(in registry: inout Registry) {
        kind = registry.intents(Self.name) { [unowned self] in resume($0) }
    }

    /// Links an identity to an account.
    ///
    /// - Parameter address: The account must have verified it; `nil` if its user asks.
    /// - Returns: `OK`; `HELD` if the account has it already; `TAKEN` if another account has it; `NONE` without an account; `CHANGED`
    ///   if the account is disabled or has another address; `FULL` if it has too many; `OVER` if the wish ended early.
    func link(
        _ identity: Identity, to user: UserID, with address: EmailAddress?, by writer: Writer?
    ) async throws(Refusal) -> ScriptReply {
        let first = claims.inRecord(
            .wantIdentity, user,
            [
                "intent": Self.member(of: user), "identity": identity.digest, "address": address?.text ?? "",
                "lifetime": Self.lifetime, "most": Self.most,
            ], by: writer
        ) { [unowned self] reply in
            guard reply.word == "OK" else { return .end(reply.value) }
            guard let number = reply[0].string else { return .damaged }
            return claim(identity, number, for: user)
        }
        return try await shard.carryOut(Intent(kind, user), first: first)
    }

    /// Releases the claims that an account has given up.
    func finish(_ user: UserID) {
        shard.intents.begin(Intent(kind, user), first: resume(user)) { _ in }
    }

    // MARK: Steps

    private static func word(_ word: String) -> RedisValue { .array([.status(word)]) }

    /// Continues an intent that a sweep found. An open wish is left to the request that made it.
    private func resume(_ user: UserID) -> IntentStep {
        claims.inRecord(.identityState, user, ["intent": Self.member(of: user)]) { [unowned self] reply in
            guard reply.word == "OK" else { return .end(IntentProgress.ok) }
            guard let releasing = reply[0].string else { return .damaged }
            return claims.release(all: releasing, of: user) { [unowned self] in
                .step(end(user, "", "OK", released: releasing))
            }
        }
    }

    private func claim(_ identity: Identity, _ number: String, for user: UserID) -> IntentProgress {
        claims.take(identity.name, number, for: user) { [unowned self] in
            end(user, number, "TAKEN")
        } then: { [unowned self] in
            add(identity, number, to: user)
        }
    }

    private func add(_ identity: Identity, _ number: String, to user: UserID) -> IntentStep {
        let keys = shard.partitions.keys(of: user)
        let call = ScriptCall(
            .addIdentity, in: keys, ["user": keys.user(user), "guests": keys.guests, "mail": keys.mail],
            [
                "user": user, "identity": identity.digest, "number": number, "provider": identity.provider,
                "email": identity.emailArgument, "text": identity.notice,
            ])
        return IntentStep(call, about: user) { [unowned self] reply in
            if reply.word == "OK" {
                shard.feature(Accounts.self)?.mail.deliver(keys)
                return .answer(Self.word("OK"), then: end(user, number, "OK"))
            }
            guard let number = Int64(number) else { return .damaged }
            return claims.release(AccountClaim(user: user, number: number), on: identity.name) { [unowned self] in
                .step(end(user, String(number), "OVER"))
            }
        }
    }

    /// - Parameter released: The claims already released.
    private func end(_ user: UserID, _ number: String, _ outcome: String, released: String = "") -> IntentStep {
        claims.inRecord(.endIdentity, user, ["intent": Self.member(of: user), "number": number, "released": released]) {
            [unowned self] reply in
            if reply.word == "OK" { return .end(Self.word(outcome)) }
            guard let open = reply[0].string else { return .damaged }
            return claims.release(all: open, of: user) { [unowned self] in
                .step(end(user, number, outcome, released: open))
            }
        }
    }
}
