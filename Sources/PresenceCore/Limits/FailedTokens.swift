import EventLoops
import PresenceProtocol
import Tokens
import WebSockets
import Workers

/// Limits the rate of failed tokens from one address, counted over all shards of the process.
///
/// A signature costs 20 to 70 µs to verify, even a forged one. Beyond the limit no token from the address is verified,
/// valid or not, until its bucket has partly refilled. One lock, taken for each token, never for data.
///
/// A verification off the loop takes its token from the bucket when it begins, and gives it back if the signature is
/// valid. So the limit holds however many verifications are pending, and connections that close meanwhile are charged
/// too. Valid tokens that arrive all at once take few tokens of the bucket, because few are verified at a time.
package final class FailedTokens: Sendable {
    private let countsLoopback: Bool
    private let rates: Locked<Rates<AddressBlock>>

    package init(_ limits: ServerConfiguration.Limits) {
        countsLoopback = limits.limitLoopback
        rates = Locked(
            Rates(RateLimit(perSecond: limits.failedTokensPerSecond, burst: limits.failedTokenBurst)))
    }

    /// The block under which an address is counted; `.none` if it is not counted.
    package func block(of peer: PeerAddress) -> AddressBlock {
        countsLoopback || !peer.isLoopback ? peer.block : .none
    }

    /// How long tokens from this block will not be verified; `nil` if the next one is verified.
    package func wait(_ block: AddressBlock, at now: Milliseconds) -> Milliseconds? {
        guard block != .none else { return nil }
        return rates.withLock { $0.wait(for: 1, by: block, at: now) }
    }

    package func count(_ block: AddressBlock, at now: Milliseconds) {
        guard block != .none else { return }
        rates.withLock { rates in
            rates.expire(now: now)
            rates.consume(1, by: block, at: now)
        }
    }

    /// Charges for a token before its result is known, from any thread. Returns how long to wait; `nil` if it was charged.
    func charge(_ block: AddressBlock, at now: Milliseconds) -> Milliseconds? {
        guard block != .none else { return nil }
        return rates.withLock { rates in
            rates.expire(now: now)
            if let wait = rates.wait(for: 1, by: block, at: now) { return wait }
            rates.consume(1, by: block, at: now)
            return nil
        }
    }

    /// Gives back the charge for a valid token.
    func refund(_ block: AddressBlock) {
        guard block != .none else { return }
        rates.withLock { $0.refund(1, to: block) }
    }

    /// The number of counted addresses.
    package var addresses: Int { rates.withLock { $0.count } }
}

/// The result of verifying a token on a thread of the pool.
private enum TokenVerification: Sendable {
    case done(Result<Claims, AuthenticationFailure>)
    case tooMany(retryAfter: Milliseconds)
}

extension ShardLogic {
    enum TokenVerdict {
        case valid(Claims)
        case refused(AuthenticationFailure)
        /// The token was not checked.
        case tooMany(retryAfter: Milliseconds)
        /// Too many other tokens are being verified.
        case overloaded(WorkRefusal)
    }

    /// Verifies a token, unless too many from its address have failed. A slow signature is verified off the loop;
    /// otherwise `verdict` is called during this call.
    ///
    /// - Parameter socket: The connection of the token. If it closes before the verdict, `verdict` is not called.
    func check(
        _ token: String, from address: AddressBlock, of socket: SocketID, verdict: @escaping (TokenVerdict) -> Void
    ) {
        if let wait = failedTokens.wait(address, at: clock.now) { return verdict(.tooMany(retryAfter: wait)) }
        switch verify(token, clock.redisNow) {
        case .done(let result):
            if case .failure = result { failedTokens.count(address, at: clock.now) }
            verdict(judge(result))
        case .signature(let rest):
            do throws(WorkRefusal) {
                // The time of the request: at worst slightly early, to the disadvantage of the address.
                let (failedTokens, now) = (failedTokens, clock.now)
                try jobs.run(in: .signatures, for: socket) { () -> TokenVerification in
                    if let wait = failedTokens.charge(address, at: now) { return .tooMany(retryAfter: wait) }
                    let result = rest()
                    if case .success = result { failedTokens.refund(address) }
                    return .done(result)
                } then: { [self] outcome in
                    switch outcome {
                    case .success(.done(let result)): verdict(judge(result))
                    case .success(.tooMany(let wait)): verdict(.tooMany(retryAfter: wait))
                    case .failure(let refusal): verdict(.overloaded(refusal))
                    }
                }
            } catch {
                verdict(.overloaded(error))
            }
        }
    }

    /// Verifies a token that a client sends on its connection: later messages wait for the verdict.
    func check(_ token: String, of connection: Connection, verdict: @escaping (TokenVerdict) -> Void) {
        let size = token.utf8.count
        guard reserve(size, of: connection) else {
            return close(connection, .tryAgainLater, reason: reconnectAdvice())
        }
        connection.isVerifying = true
        var isWithin = true
        check(token, from: connection.address, of: connection.socket) { [self] result in
            connection.isVerifying = false
            release(size, of: connection)
            verdict(result)
            if !isWithin { handleHeld(of: connection) }
        }
        isWithin = false
    }

    /// Evaluates a verification for which the address was charged.
    private func judge(_ result: Result<Claims, AuthenticationFailure>) -> TokenVerdict {
        switch result {
        case .success(let claims): return .valid(claims)
        case .failure(let failure):
            metrics.tokensRefused += 1
            return .refused(failure)
        }
    }

    func recordFailedToken(from address: AddressBlock) {
        metrics.tokensRefused += 1
        failedTokens.count(address, at: clock.now)
    }
}
