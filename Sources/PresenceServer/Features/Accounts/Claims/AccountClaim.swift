import PresenceCore
import PresenceProtocol
import Redis

/// The owner of a name as stored in Redis: `USER NUMBER`. The number is that of the user's wish for the name. The number
/// only grows, and a claim is released only if its whole text still matches. So a request for the name can recognise a void
/// claim, left by an interrupted change: its user's account neither has the name under this number nor wants it.
struct AccountClaim: Hashable {
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
    /// The claim on a name; `nil` also if it cannot be read.
    func claim(on name: ClaimedName) async throws(Refusal) -> AccountClaim? {
        guard let logins, let key = name.claims(in: logins) else { throw .noStore }
        return try await shard.run("HGET", key, name.text).string.flatMap { AccountClaim($0) }
    }

    /// Whether a user's account has a name by this claim, or is about to have it.
    func isMeant(_ claim: AccountClaim, on name: ClaimedName) async throws(Refusal) -> Bool {
        try await shard.run(.holds(claim, on: name, in: shard.partitions), changes: false).word == "HELD"
    }

    /// Whether a name is taken; releases a void claim.
    func isHeld(_ name: ClaimedName, by claim: AccountClaim) async throws(Refusal) -> Bool {
        guard let logins, let release = ScriptCall.release(claim, on: name, in: logins) else { throw .noStore }
        if try await isMeant(claim, on: name) { return true }
        _ = try await shard.run(release, changes: false)
        return false
    }
}
