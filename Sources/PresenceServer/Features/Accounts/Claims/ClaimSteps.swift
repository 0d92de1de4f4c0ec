import PresenceCore
import PresenceProtocol
import Redis

/// The steps that an account's intents have in common: they take and release claims, which may lie in other partitions than the
/// account.
struct ClaimSteps {
    private unowned let shard: ShardLogic
    private let intent: String
    /// Reads a name of the kind that the intent is about.
    private let parse: (String) -> ClaimedName?

    /// - Parameter intent: The name of the kind of intents.
    init(_ shard: ShardLogic, of intent: String, _ parse: @escaping (String) -> ClaimedName?) {
        (self.shard, self.intent, self.parse) = (shard, intent, parse)
    }

    private var addresses: AddressPartitions? { shard.feature(Accounts.self)?.addresses }

    /// The intent's name in the set of unfinished intents.
    func member(of user: UserID) -> String { "\(intent) \(user.string)" }

    /// A step in the account's record.
    func inRecord(
        _ script: Script, _ user: UserID, _ arguments: KeyValuePairs<StaticString, any ScriptArgument>,
        by writer: Writer? = nil, next: @escaping (ScriptReply) -> IntentProgress
    ) -> IntentStep {
        let keys = shard.partitions.keys(of: user)
        let call = ScriptCall(
            script, in: keys, ["unfinished": keys.unfinished, "user": keys.user(user)], arguments, by: writer)
        return IntentStep(call, about: user, next: next)
    }

    /// Claims a name. The claim of another account is released if it is void.
    ///
    /// - Parameters:
    ///   - refused: Follows if the name is another account's.
    ///   - next: Follows if it is this one's.
    func take(
        _ name: ClaimedName, _ number: String, for user: UserID, orElse refused: @escaping () -> IntentStep,
        then next: @escaping () -> IntentStep
    ) -> IntentProgress {
        guard let addresses, let call = ScriptCall.take(name, number, for: user, in: addresses) else {
            return .fail(.disconnected(sent: false))
        }
        return .step(
            IntentStep(call, about: user) { [self] reply in
                if reply.word == "OK" { return .step(next()) }
                // An unreadable claim cannot be released.
                guard let claim = reply[0].string.flatMap({ AccountClaim($0) }) else { return .step(refused()) }
                return .step(
                    IntentStep(.holds(claim, on: name, in: shard.partitions), about: claim.user) { [self] reply in
                        if reply.word == "HELD" { return .step(refused()) }
                        return release(claim, on: name) { [self] in
                            take(name, number, for: user, orElse: refused, then: next)
                        }
                    })
            })
    }

    /// - Parameter released: Pairs of "NUMBER NAME".
    func release(
        all released: String, of user: UserID, then next: @escaping () -> IntentProgress
    ) -> IntentProgress {
        let words = released.split(separator: " ").map(String.init)
        guard words.count > 1 else { return next() }
        guard let number = Int64(words[0]), let name = parse(words[1]) else { return .damaged }
        let rest = words.dropFirst(2).joined(separator: " ")
        return release(AccountClaim(user: user, number: number), on: name) { [self] in
            release(all: rest, of: user, then: next)
        }
    }

    func release(
        _ claim: AccountClaim, on name: ClaimedName, then next: @escaping () -> IntentProgress
    ) -> IntentProgress {
        guard let addresses else { return .fail(.disconnected(sent: false)) }
        guard let call = ScriptCall.release(claim, on: name, in: addresses) else { return .damaged }
        return .step(IntentStep(call, about: claim.user) { _ in next() })
    }
}
