import PresenceProtocol
import Redis

/// Reads the owner of a thing, for requests that change nothing.
extension Claiming {
    /// The owner of a thing now.
    package struct Holder {
        package let owner: Identifier
        /// Whether the owner's record has the thing already; otherwise the record is about to get it.
        package let isHeld: Bool
    }

    /// Returns the owner of a thing. An owner whose record is about to get the thing counts too. The result is `nil` if
    /// there is no owner, even if a claim of a former owner is left.
    package func owner(of thing: Identifier) async throws(RedisFailure) -> Holder? {
        guard let (owner, number) = try await claim(on: thing) else { return nil }
        let record = plan.record(of: owner, in: shard.partitions.keys(of: owner))
        let texts = (try await shard.command(["HMGET", record, "held", "claim", "wish"]).array ?? []).map(\.string)
        guard texts.count == 3 else { return nil }
        let isHeld = texts[0] == thing.string
        return isHeld || texts[2] == number ? Holder(owner: owner, isHeld: isHeld) : nil
    }

    /// The owner that a claim on a thing names, and the claim's number. The caller compares it with the owner's record,
    /// which may not have the thing yet, or any more. `nil` if there is no claim.
    package func claim(on thing: Identifier) async throws(RedisFailure) -> (owner: Identifier, number: String)? {
        let claims = plan.claims(on: thing, in: shard.partitions.keys(of: thing))
        guard let claim = try await shard.command(["HGET", claims, thing.string]).string else { return nil }
        let words = claim.split(separator: " ").map(String.init)
        guard words.count == 2, let owner = Identifier(words[0]) else {
            shard.recordDamage("claim " + plan.claim.name, of: thing)
            throw .server(code: "ERR", message: "a malformed claim")
        }
        return (owner, words[1])
    }
}
