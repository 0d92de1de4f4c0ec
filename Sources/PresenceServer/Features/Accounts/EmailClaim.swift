import PresenceCore
import PresenceProtocol
import Redis

/// The owner of an address as stored in Redis: `USER NUMBER`. The number is that of the user's wish for the address. The number
/// only grows, and a claim is released only if its whole text still matches. So a request for the address can recognise a void
/// claim, left by an interrupted change: its user's account neither has the address under this number nor wants it.
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
    /// Whether a user's account has an address by this claim, or is about to have it.
    func isMeant(_ claim: EmailClaim, of email: EmailAddress) async throws(Refusal) -> Bool {
        try await shard.run(.holds(claim, on: email, in: shard.partitions), changes: false).word == "HELD"
    }

    /// Whether an address is taken; releases a void claim.
    func isHeld(_ email: EmailAddress, by claim: EmailClaim) async throws(Refusal) -> Bool {
        guard let addresses else { throw .noStore }
        if try await isMeant(claim, of: email) { return true }
        _ = try await shard.run(.release(claim, on: email, in: addresses), changes: false)
        return false
    }
}

extension ScriptCall {
    static func holds(_ claim: EmailClaim, on email: EmailAddress, in partitions: Partitions) -> ScriptCall {
        let keys = partitions.keys(of: claim.user)
        return ScriptCall(
            .holdsClaim, in: keys, ["user": keys.user(claim.user)], ["address": email.text, "number": claim.number])
    }

    /// Releases an address if the claim is unchanged.
    static func release(_ claim: EmailClaim, on email: EmailAddress, in addresses: AddressPartitions) -> ScriptCall {
        let keys = addresses.keys(of: email.text)
        return ScriptCall(
            .releaseClaim, in: keys, ["claims": keys.emails(with: email)],
            ["claim": claim.text, "name": email.text])
    }
}
