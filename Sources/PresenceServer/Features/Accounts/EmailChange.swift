import PresenceCore
import PresenceProtocol
import Redis

/// The second half of a change of address, once the mail to the new one has come through: an intent of the account, since the
/// two addresses lie in other partitions than it (`Intents`).
///
///     want ─▶ take ─▶ switch ─▶ release the old address ─▶ (answered) end
///      │        │        └ the wish is over ─▶ release the new one ─▶ end
///      │        └ another's claim: does their account hold the address, or want it?
///      │             ├─ yes ─▶ end: refused
///      │             └─ no: what broke off has left it ─▶ release it, take again
///      └ the mail's token is not good any more: refused
///
/// An account that is deleted leaves what it has claimed in other partitions to the same intent: then only `releasing` is left of
/// its record, until that is given up.
///
/// The number of a wish only grows and means one address, and a claim is given back only as the whole `USER NUMBER`. So a late
/// executor neither undoes nor revives anything. What it has claimed for a wish that is over counts for nothing, which the next
/// request for that address finds out (`EmailClaim`).
final class EmailChange {
    private unowned let shard: ShardLogic
    private var kind: IntentKind!

    private struct Wish {
        let user: UserID
        let number: String
        let email: EmailAddress
        let old: EmailAddress
    }

    private enum Outcome: String {
        case changed = "CHANGED"
        case taken = "TAKEN"
        case gone = "GONE"

        var value: RedisValue { .array([.status("OK"), .status(rawValue)]) }
    }

    private static let name = "email"

    init(_ shard: ShardLogic) { self.shard = shard }

    /// As the set of unfinished intents names it.
    static func member(of user: UserID) -> String { "\(name) \(user.string)" }

    private var accounts: Accounts? { shard.feature(Accounts.self) }
    private var places: AddressPlaces? { accounts?.places }

    func register(in registry: inout Registry) {
        kind = registry.intents(Self.name) { [unowned self] in resume(Intent(kind, $0)) }
    }

    /// - Parameter reply: Gets `OK CHANGED`, `OK TAKEN` if another has the address, `OK GONE` if the token is not good, or why
    ///   it is not known.
    func begin(_ token: MailToken, reply: @escaping StoreReply) {
        let intent = Intent(kind, token.user)
        shard.intents.begin(intent, first: want(intent, token), reply: reply)
    }

    /// An account was deleted: what it has claimed in other partitions is given up.
    func finish(_ user: UserID) {
        let intent = Intent(kind, user)
        shard.intents.begin(intent, first: resume(intent)) { _ in }
    }

    // MARK: Steps

    private func want(_ intent: Intent, _ token: MailToken) -> IntentStep {
        IntentStep(
            .wantEmail, intent, keys: { [$0.account(token.user), $0.floor] }, arguments: [token.digest]
        ) { [unowned self] words in
            switch words.first?.string {
            case "OK": wish(words, of: token.user).map(take) ?? .damaged
            case "GONE": .end(Outcome.gone.value)
            default: .damaged
            }
        }
    }

    /// What a sweep has found.
    private func resume(_ intent: Intent) -> IntentStep {
        IntentStep(.emailState, intent, keys: { [$0.account(intent.subject)] }) {
            [unowned self] words in
            guard words.count > 3, let number = words[2].string else { return .end(Outcome.gone.value) }
            // What it wanted is its own by now, or never will be.
            if words[1].string == "" { return .step(end(number, of: intent.subject, .gone)) }
            return wish(words, of: intent.subject).map(take) ?? .damaged
        }
    }

    private func wish(_ words: [RedisValue], of user: UserID) -> Wish? {
        guard words.count > 3, let email = words[1].string.flatMap({ EmailAddress($0) }),
            let number = words[2].string,
            let old = words[3].string.flatMap({ EmailAddress($0) })
        else { return nil }
        return Wish(user: user, number: number, email: email, old: old)
    }

    private func take(_ wish: Wish) -> IntentProgress {
        guard let places else { return .fail(.disconnected(sent: false)) }
        let step = IntentStep(
            .takeClaim, Intent(kind, wish.user), partition: places.partition(of: wish.email.text),
            keys: { [$0.emails(with: wish.email)] },
            arguments: [wish.user.string, wish.number, wish.email.text]
        ) { [unowned self] words in
            switch words.first?.string {
            case "OK": return .step(switchOver(wish))
            case "TAKEN":
                // A claim that cannot be read is nobody's to give back.
                guard let claim = words.last?.string.flatMap({ EmailClaim($0) }) else {
                    return .step(end(wish.number, of: wish.user, .taken))
                }
                return .step(look(at: claim, for: wish))
            default: return .damaged
            }
        }
        return .step(step)
    }

    private func look(at claim: EmailClaim, for wish: Wish) -> IntentStep {
        IntentStep(
            .holdsClaim, Intent(kind, claim.user), keys: { [$0.account(claim.user)] },
            arguments: [wish.email.text, String(claim.number)]
        ) { [unowned self] words in
            switch words.last?.string {
            case "1": .step(end(wish.number, of: wish.user, .taken))
            case "0": release(claim.text, of: wish.email) { [unowned self] in take(wish) }
            default: .damaged
            }
        }
    }

    private func switchOver(_ wish: Wish) -> IntentStep {
        let mail = accounts.map { MailText.addressChanged(from: wish.old, $0).encoded } ?? ""
        return IntentStep(
            .switchEmail, Intent(kind, wish.user),
            keys: { [$0.floor, $0.account(wish.user), $0.mail] },
            arguments: [wish.user.string, wish.email.text, wish.number, wish.old.text, mail]
        ) { [unowned self] words in
            switch words.first?.string {
            case "OK":
                guard let released = words.last?.string else { return .damaged }
                accounts?.mail.deliver(shard.partitions.keys(of: wish.user))
                return release(all: released, of: wish.user) { [unowned self] in
                    .answer(
                        Outcome.changed.value,
                        then: end(wish.number, of: wish.user, .changed, released: released))
                }
            case "GONE":
                return release("\(wish.user.string) \(wish.number)", of: wish.email) { [unowned self] in
                    .step(end(wish.number, of: wish.user, .gone))
                }
            default: return .damaged
            }
        }
    }

    /// - Parameter released: What has been given up.
    private func end(
        _ number: String, of user: UserID, _ outcome: Outcome, released: String = ""
    ) -> IntentStep {
        IntentStep(
            .endEmail, Intent(kind, user), keys: { [$0.account(user)] }, arguments: [number, released]
        ) { [unowned self] words in
            guard words.count > 1, let word = words[1].string else { return .damaged }
            switch words[0].string {
            case "OK": return .end((word == "1" ? .changed : outcome).value)
            case "OPEN":
                return release(all: word, of: user) { [unowned self] in
                    .step(end(number, of: user, outcome, released: word))
                }
            default: return .damaged
            }
        }
    }

    // MARK: Claims

    /// "NUMBER ADDRESS" for each.
    private func release(
        all released: String, of user: UserID, then next: @escaping () -> IntentProgress
    ) -> IntentProgress {
        let words = released.split(separator: " ").map(String.init)
        guard words.count > 1 else { return next() }
        guard let email = EmailAddress(words[1]) else { return .damaged }
        let rest = words.dropFirst(2).joined(separator: " ")
        return release("\(user.string) \(words[0])", of: email) { [unowned self] in
            release(all: rest, of: user, then: next)
        }
    }

    private func release(
        _ claim: String, of email: EmailAddress, then next: @escaping () -> IntentProgress
    ) -> IntentProgress {
        guard let places, let owner = EmailClaim(claim)?.user else { return .fail(.disconnected(sent: false)) }
        let step = IntentStep(
            .releaseClaim, Intent(kind, owner), partition: places.partition(of: email.text),
            keys: { [$0.emails(with: email)] },
            arguments: [claim, email.text]
        ) { _ in next() }
        return .step(step)
    }
}
