import EventLoops
import PresenceProtocol
import Tokens
import WebSockets

/// How fast tokens from one address may turn out to be worthless, counted over all shards of the process.
///
/// A signature costs up to 200 µs to verify, even a forged one. Beyond the limit no token from the address is
/// verified, good or bad, until its bucket has filled a little. One lock, taken for each token, never for data.
package final class FailedTokens: Sendable {
    private let countsLoopback: Bool
    private let rates: Locked<Rates<AddressBlock>>

    package init(_ limits: ServerConfiguration.Limits) {
        countsLoopback = limits.limitLoopback
        rates = Locked(
            Rates(RateLimit(perSecond: limits.failedTokensPerSecond, burst: limits.failedTokenBurst)))
    }

    /// As what an address is counted; `.none`: not at all.
    package func block(of peer: PeerAddress) -> AddressBlock {
        countsLoopback || !peer.isLoopback ? peer.block : .none
    }

    /// How long no token from there is verified; `nil`: the next one is.
    package func wait(_ block: AddressBlock, at now: Milliseconds) -> Milliseconds? {
        guard block != .none else { return nil }
        return rates.withLock { $0.wait(for: 1, by: block, at: now) }
    }

    package func count(_ block: AddressBlock, at now: Milliseconds) {
        guard block != .none else { return }
        rates.withLock { rates in
            rates.expire(now: now)
            rates.take(1, by: block, at: now)
        }
    }

    /// How many addresses are counted.
    package var addresses: Int { rates.withLock { $0.count } }
}

extension ShardLogic {
    enum TokenVerdict {
        case valid(Claims)
        case refused(AuthenticationFailure)
        /// It was not looked at.
        case tooMany(retryAfter: Milliseconds)
    }

    /// Verifies a token, unless too many from its address were worthless.
    func check(_ token: String, from address: AddressBlock) -> TokenVerdict {
        if let wait = failedTokens.wait(address, at: clock.now) { return .tooMany(retryAfter: wait) }
        switch verify(token, clock.redisNow) {
        case .success(let claims): return .valid(claims)
        case .failure(let failure):
            noteFailedToken(from: address)
            return .refused(failure)
        }
    }

    func noteFailedToken(from address: AddressBlock) {
        metrics.tokensRefused += 1
        failedTokens.count(address, at: clock.now)
    }
}
