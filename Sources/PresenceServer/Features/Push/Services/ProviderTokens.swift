import PresenceCore
import PresenceProtocol
import Redis
import Tokens

/// The token with which pushes are sent to APNs. Apple wants one to be used for 20 to 60 minutes, by all servers of a team: the
/// present one is shared through Redis.
final class ProviderTokens {
    private let team: String
    private let keyID: String
    private let signer: ServiceSigner
    private var held: ProviderToken?
    private let asked = SharedAnswer<ProviderToken?>()

    /// ms for which a token is used.
    static let life: Milliseconds = 45 * 60_000

    init(team: String, keyID: String, signer: ServiceSigner) {
        (self.team, self.keyID, self.signer) = (team, keyID, signer)
    }

    /// The token to send with; `nil` without one.
    func token(on shard: ShardLogic) async -> String? {
        if let held, held.isFresh(at: shard.clock.redisNow) { return held.text }
        let found = await asked.get(on: shard) { [self] in try? await find(on: shard) }
        if let found { held = found }
        return held.flatMap { $0.isGood(at: shard.clock.redisNow) ? $0.text : nil }
    }

    /// The token in Redis, or a new one that is put there for all servers.
    private func find(on shard: ShardLogic) async throws -> ProviderToken? {
        // Another key has another token.
        let id = WebhookEndpoint.id(of: "\(team) \(keyID)")
        let key = shard.partitions.keys(of: id).pushToken(id)
        if let shared = try await read(key, on: shard) { return shared }
        let (signer, keyID, now) = (signer, keyID, shard.clock.redisNow)
        let claims: [String: ServiceSigner.Claim] = ["iss": .text(team), "iat": .time(now)]
        guard let text = try await shard.work(.signatures, { try? signer.token(claims, keyID: keyID) }) else {
            return nil
        }
        let made = ProviderToken(madeAt: now, text: text)
        let life = String(Self.life)
        if try await shard.command(["SET", key, made.record, "NX", "PX", life]).string == "OK" { return made }
        // Another server was faster.
        return try await read(key, on: shard)
    }

    private func read(_ key: String, on shard: ShardLogic) async throws(RedisFailure) -> ProviderToken? {
        let token = try await shard.command(["GET", key]).string.flatMap { ProviderToken($0) }
        return token.flatMap { $0.isFresh(at: shard.clock.redisNow) ? $0 : nil }
    }
}

struct ProviderToken: Sendable, Equatable {
    /// In ms since 1970.
    let madeAt: Timestamp
    let text: String

    init(madeAt: Timestamp, text: String) { (self.madeAt, self.text) = (madeAt, text) }

    /// As Redis has it: `MADEAT TOKEN`.
    init?(_ record: String) {
        let words = record.split(separator: " ")
        guard words.count == 2, let madeAt = Timestamp(words[0]) else { return nil }
        self.init(madeAt: madeAt, text: String(words[1]))
    }

    var record: String { "\(madeAt) \(text)" }

    /// Whether it is used without asking for another. One from the future is from before Redis' clock went back.
    func isFresh(at time: Timestamp) -> Bool { madeAt <= time + 60_000 && time < madeAt + ProviderTokens.life }
    /// Whether it is used while there is no other.
    func isGood(at time: Timestamp) -> Bool { time < madeAt + ProviderTokens.life + 60_000 }
}
