import PresenceProtocol

/// Whether and when to come back after a connection ended.
///
/// Where the server names a time, it is kept exactly, since the server spreads its clients; elsewhere
/// `ReconnectBackoff` draws one.
struct Reconnection: Sendable {
    enum Verdict: Hashable, Sendable {
        case again(after: Duration)
        case never(PresenceError)
    }

    private var backoff: ReconnectBackoff
    /// How many tokens in a row, each freshly fetched, were refused.
    private var refusedTokens = 0
    /// Whether the token is always the same one, so that it makes no sense to fetch it again.
    var tokenIsFixed = false

    /// After so many fresh tokens refused in a row, another one would be refused too.
    private static let refusalsToGiveUp = 2

    /// What libwebsockets shows where it could not tell 1012 and 1013; the reason tells.
    private static let unreadable = CloseCode(rawValue: 1002)

    init(base: Duration, cap: Duration) {
        backoff = ReconnectBackoff(base: base, cap: cap)
    }

    /// Attempts since the last connection that lasted.
    var failures: Int { backoff.failures }

    /// - Parameter linger: how long the server holds a lost session.
    mutating func connected(at uptime: Duration, linger: Duration) {
        backoff.connected(at: uptime, linger: linger)
        refusedTokens = 0
    }

    /// Starts counting anew: the app says that circumstances changed.
    mutating func reset() {
        backoff.reset()
        refusedTokens = 0
    }

    /// What to do after `ending`.
    /// - Parameters:
    ///   - freshToken: whether the token had been fetched for this very attempt.
    ///   - random: evenly distributed in 0..<1.
    mutating func verdict(
        on ending: Ending, at uptime: Duration, freshToken: Bool, random: Double
    ) -> Verdict {
        backoff.failed(at: uptime)
        let wait = backoff.wait(at: uptime, random: random)
        switch ending {
        case .closed(let code, let reason):
            switch code {
            // The next connection begins with a full bucket, or learns when to ask again.
            case .policyViolation where Ending.isRateLimit(reason): break
            case .unsupportedData, .invalidUTF8, .policyViolation, .messageTooBig, .replaced, .disconnected:
                return .never(ending.error)
            case .serviceRestart, .tryAgainLater, Self.unreadable:
                guard let advice = ReconnectAdvice.decode(reason) else { break }
                return .again(after: .milliseconds(advice.reconnectAfter))
            case .unauthorized:
                if refuse(freshToken) { return .never(ending.error) }
            default: break
            }
        case .rejected(let error):
            guard error.isPassing else { return .never(error) }
            return .again(after: (error.retryAfter ?? .zero) + wait)
        case .noToken(let error) where error.code == .unauthorized:
            return .never(error)
        // The upgrade is refused by what stands before the server: a portal, a firewall. That passes, whatever its status.
        case .noToken, .lost, .refused, .silent, .nonsense: break
        }
        return .again(after: wait)
    }

    /// Counts a refused token; whether to give up.
    private mutating func refuse(_ freshToken: Bool) -> Bool {
        if tokenIsFixed { return true }
        if freshToken { refusedTokens += 1 }
        return refusedTokens >= Self.refusalsToGiveUp
    }
}
