import PresenceCore
import PresenceProtocol
import Redis

/// Sees that there is a token for APNs before a batch is sent: the one in Redis, or a new one that is put there for all.
final class ProviderTokenKeeper {
    private unowned let shard: ShardLogic
    private let tokens: ProviderTokens
    private let key: String

    init(_ shard: ShardLogic, _ tokens: ProviderTokens) {
        self.shard = shard
        self.tokens = tokens
        key = shard.partitions.keys(of: tokens.id).pushToken(tokens.id)
    }

    /// - Parameter done: Gets whether there is one.
    func prepare(_ done: @escaping (Bool) -> Void) {
        if tokens.isFresh(at: shard.clock.redisNow) { return done(true) }
        read(orElse: { [self] in make(done) }, done)
    }

    private func read(orElse missing: @escaping () -> Void, _ done: @escaping (Bool) -> Void) {
        shard.store.command(["GET", key], lane: .commands) { [self] result in
            guard case .success(let value) = result else { return done(false) }
            guard let token = value.string.flatMap({ ProviderToken($0) }), token.isFresh(at: shard.clock.redisNow)
            else {
                return missing()
            }
            tokens.hold(token)
            done(true)
        }
    }

    private func make(_ done: @escaping (Bool) -> Void) {
        let (tokens, now) = (tokens, shard.clock.redisNow)
        do {
            try shard.jobs.run(in: Push.pool) {
                Waiting.wait { await tokens.make(at: now) }
            } then: { [self] result in
                guard case .success(let made?) = result else { return done(false) }
                keep(made, done)
            }
        } catch {
            done(false)
        }
    }

    /// Another server may have been faster: then its token is the one.
    private func keep(_ token: ProviderToken, _ done: @escaping (Bool) -> Void) {
        let life = String(ProviderTokens.life)
        shard.store.command(["SET", key, token.record, "NX", "PX", life], lane: .commands) { [self] result in
            guard case .success(let value) = result else { return done(false) }
            guard value.string != "OK" else {
                tokens.hold(token)
                return done(true)
            }
            read(orElse: { done(false) }, done)
        }
    }
}
