import PresenceCore
import PresenceProtocol
import Redis

/// The steps that an account's intents have in common: they take and release claims, which may lie in other partitions than the
/// account.
struct ClaimSteps {
    private unowned let shard: ShardLogic
    /// Reads a name of the kind that the intent is about.
    private let parse: (String) -> ClaimedName?

    init(_ shard: ShardLogic, _ parse: @escaping (String) -> ClaimedName?) {
        (self.shard, self.parse) = (shard, parse)
    }

    private var logins: LoginPartitions? { shard.feature(Accounts.self)?.logins }

    /// A step in the account's record.
    func inRecord(
        _ script: Script, _ user: UserID, _ arguments: KeyValuePairs<StaticString, any ScriptArgument>,
        by writer: Writer? = nil, _ run: IntentRun
    ) async throws(RedisFailure) -> ScriptReply {
        let keys = shard.partitions.keys(of: user)
        let call = ScriptCall(
            script, in: keys, ["unfinished": keys.unfinished, "user": keys.user(user)], arguments, by: writer)
        return try await run.step(call, about: user)
    }

    /// Claims a name. The claim of another account is released if it is void.
    ///
    /// - Returns: Whether the name is this account's.
    func take(
        _ name: ClaimedName, _ number: String, for user: UserID, _ run: IntentRun
    ) async throws(RedisFailure) -> Bool {
        guard let logins, let call = ScriptCall.take(name, number, for: user, in: logins) else {
            throw .disconnected(sent: false)
        }
        while true {
            let reply = try await run.step(call, about: user)
            if reply.word == "OK" { return true }
            // An unreadable claim cannot be released.
            guard let claim = reply[0].string.flatMap({ AccountClaim($0) }) else { return false }
            let holds = ScriptCall.holds(claim, on: name, in: shard.partitions)
            if try await run.step(holds, about: claim.user).word == "HELD" { return false }
            try await release(claim, on: name, run)
        }
    }

    /// - Parameter released: Pairs of "NUMBER NAME".
    func release(all released: String, of user: UserID, _ run: IntentRun) async throws(RedisFailure) {
        let words = released.split(separator: " ").map(String.init)
        for place in stride(from: 0, to: words.count - 1, by: 2) {
            guard let number = Int64(words[place]), let name = parse(words[place + 1]) else { throw .unexpectedReply }
            try await release(AccountClaim(user: user, number: number), on: name, run)
        }
    }

    func release(_ claim: AccountClaim, on name: ClaimedName, _ run: IntentRun) async throws(RedisFailure) {
        guard let logins else { throw .disconnected(sent: false) }
        guard let call = ScriptCall.release(claim, on: name, in: logins) else { throw .unexpectedReply }
        try await run.step(call, about: claim.user)
    }
}
