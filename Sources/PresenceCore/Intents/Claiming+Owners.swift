import PresenceProtocol
import Redis

/// Whose a thing is, for requests that only ask.
extension Claiming {
    /// Who has a thing now.
    package struct Holder {
        package let owner: Identifier
        /// As theirs; otherwise it is about to be.
        package let isHeld: Bool
    }

    /// Looks up who has a thing, or is about to. `nil`: nobody, though a claim may be left of somebody who had it.
    package func owner(of thing: Identifier) async throws(RedisFailure) -> Holder? {
        let claims = plan.claims(on: thing, in: shard.partitions.keys(of: thing))
        guard let claim = try await shard.command(["HGET", claims, thing.string]).string else { return nil }
        let words = claim.split(separator: " ").map(String.init)
        guard words.count == 2, let owner = Identifier(words[0]) else {
            shard.noteDamage("claim " + plan.claim.name, of: thing)
            throw .server(code: "ERR", message: "a claim that cannot be read")
        }
        let record = plan.record(of: owner, in: shard.partitions.keys(of: owner))
        let texts = (try await shard.command(["HMGET", record, "held", "claim", "wish"]).array ?? []).map(\.string)
        guard texts.count == 3 else { return nil }
        let isHeld = texts[0] == thing.string
        return isHeld || texts[2] == words[1] ? Holder(owner: owner, isHeld: isHeld) : nil
    }
}
