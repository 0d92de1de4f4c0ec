import PresenceCore
import PresenceProtocol
import Redis

/// Whose an address is, as Redis says: `USER NUMBER`. The number is that of the user's wish for it; it only grows, and a claim
/// is given back only if it is still that whole text. So a claim that was left behind by what broke off can be told from one
/// that counts, whenever somebody asks for the address: its user's account neither holds it under this number nor wants it.
struct EmailClaim: Hashable {
    let user: UserID
    let number: Int64

    var text: String { "\(user.string) \(number)" }

    init(user: UserID, number: Int64) {
        self.user = user
        self.number = number
    }

    init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, let user = UserID(String(words[0])), let number = Int64(words[1]) else { return nil }
        self.init(user: user, number: number)
    }
}

extension Accounts {
    /// Whether a user's account has an address by this claim, or is about to. Answers `nil` when the store could not be asked.
    func isMeant(_ claim: EmailClaim, of email: EmailAddress, answer: @escaping (Bool?) -> Void) {
        let keys = shard.partitions.keys(of: claim.user)
        shard.store.run(
            .holdsClaim, keys: [keys.shards, keys.unfinished, keys.account(claim.user)],
            arguments: [keys.events, shard.link.incarnation, "", email.text, String(claim.number)], lane: .commands
        ) { [self] result in
            answer(isDone(result) ? (try? result.get())?.array?.last?.string != "0" : nil)
        }
    }

    /// Whether an address is somebody's; one that was left behind is given back first. Answers `nil` when the store could
    /// not be asked.
    func isHeld(_ email: EmailAddress, by claim: EmailClaim, answer: @escaping (Bool?) -> Void) {
        guard let places else { return answer(nil) }
        isMeant(claim, of: email) { [self] isMeant in
            guard isMeant == false else { return answer(isMeant) }
            release(email, claim, in: places.keys(of: email.text)) { [self] result in
                answer(isDone(result) ? false : nil)
            }
        }
    }

    /// Whether a script has done what it does. `FENCED` is no answer to what was asked: this server may have missed anything.
    func isDone(_ result: Result<RedisValue, RedisFailure>) -> Bool {
        guard !shard.link.noticeFencing(in: result), case .success(let value) = result else { return false }
        return value.array?.first?.string == "OK"
    }

    /// Gives an address back, if it is still claimed so.
    func release(
        _ email: EmailAddress, _ claim: EmailClaim, in keys: PartitionKeys, done: @escaping StoreReply = { _ in }
    ) {
        shard.store.run(
            .releaseClaim, keys: [keys.shards, keys.unfinished, keys.emails(with: email)],
            arguments: [keys.events, shard.link.incarnation, "", claim.text, email.text], lane: .commands, reply: done)
    }
}
