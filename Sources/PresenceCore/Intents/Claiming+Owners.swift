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
    package func owner(of thing: Identifier, reply: @escaping (Result<Holder?, RedisFailure>) -> Void) {
        shard.store.command(
            ["HGET", plan.claims(on: thing, in: shard.partitions.keys(of: thing)), thing.string], lane: .commands
        ) {
            [self] result in
            switch result {
            case .failure(let failure): reply(.failure(failure))
            case .success(let value):
                guard let words = value.string?.split(separator: " ") else { return reply(.success(nil)) }
                guard words.count == 2, let owner = Identifier(String(words[0])) else {
                    shard.noteDamage("claim " + plan.claim.name, of: thing)
                    return reply(.failure(.server(code: "ERR", message: "a claim that cannot be read")))
                }
                look(for: thing, at: owner, String(words[1]), reply: reply)
            }
        }
    }

    private func look(
        for thing: Identifier, at owner: Identifier, _ number: String,
        reply: @escaping (Result<Holder?, RedisFailure>) -> Void
    ) {
        let key = plan.record(of: owner, in: shard.partitions.keys(of: owner))
        shard.store.command(["HMGET", key, "held", "claim", "wish"], lane: .commands) { result in
            reply(
                result.map { value in
                    let texts = (value.array ?? []).map(\.string)
                    guard texts.count == 3 else { return nil }
                    let isHeld = texts[0] == thing.string
                    return isHeld || texts[2] == number ? Holder(owner: owner, isHeld: isHeld) : nil
                })
        }
    }
}
