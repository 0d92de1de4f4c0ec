import PresenceProtocol

/// Decides whether and when to reconnect after a connection ended.
///
/// If the server names a time, that time is used exactly, because the server spreads its clients. Otherwise
/// `ReconnectBackoff` computes one.
struct Reconnection: Sendable {
    enum Verdict: Hashable, Sendable {
        case again(after: Duration)
        case never(PresenceError)
    }

    private var backoff: ReconnectBackoff
    /// The number of freshly fetched tokens that were rejected in a row.
    private var refusedTokens = 0
    /// Whether the token is fixed, so fetching it again is pointless.
    var tokenIsFixed = false

    /// After this many fresh tokens rejected in a row, another one would be rejected as well.
    private static let refusalsToGiveUp = 2

    /// libwebsockets reports this code when it cannot read 1012 and 1013. The reason is still readable.
    private static let unreadable = CloseCode(rawValue: 1002)

    init(base: Duration, cap: Duration) {
        backoff = ReconnectBackoff(base: base, cap: cap)
    }

    /// The number of failed attempts since the last connection that lasted.
    var failures: Int { backoff.failures }

    /// - Parameter linger: how long the server keeps a lost session.
    mutating func connected(at uptime: Duration, linger: Duration) {
        backoff.connected(at: uptime, linger: linger)
        refusedTokens = 0
    }

    /// Restarts counting, because the app reports that circumstances changed.
    mutating func reset() {
        backoff.reset()
        refusedTokens = 0
    }

    /// Decides what follows after `ending`.
    /// - Parameters:
    ///   - freshToken: whether the token was fetched for this attempt.
    ///   - random: evenly distributed in 0..<1.
    mutating func verdict(
        on ending: Ending, at uptime: Duration, freshToken: Bool, random: Double
    ) -> Verdict {
        backoff.failed(at: uptime)
        let wait = backoff.wait(at: uptime, random: random)
        switch ending {
        case .closed(let code, let reason):
            switch code {
            // The next connection starts with a full bucket, or is told when to retry.
            case .policyViolation where Ending.isRateLimit(reason): break
            case .unsupportedData, .invalidUTF8, .policyViolation, .messageTooBig, .replaced, .disconnected:
                return .never(ending.error)
            case .serviceRestart, .tryAgainLater, Self.unreadable:
                guard let advice = ReconnectAdvice.decode(reason) else { break }
                return .again(after: .milliseconds(advice.reconnectAfter))
            case .banned where Ending.ban(reason) != nil: return .never(ending.error)
            case .unauthorized:
                if refuse(freshToken) { return .never(ending.error) }
            default: break
            }
        case .rejected(let error):
            guard error.isPassing else { return .never(error) }
            return .again(after: (error.retryAfter ?? .zero) + wait)
        case .noToken(let error) where error.code == .unauthorized || error.code == .banned:
            return .never(error)
        // The upgrade was rejected by something in front of the server, such as a portal or a firewall. That is
        // temporary, whatever the status.
        case .noToken, .lost, .refused, .silent, .nonsense: break
        }
        return .again(after: wait)
    }

    /// Counts a rejected token; returns whether to give up.
    private mutating func refuse(_ freshToken: Bool) -> Bool {
        if tokenIsFixed { return true }
        if freshToken { refusedTokens += 1 }
        return refusedTokens >= Self.refusalsToGiveUp
    }
}
