import PresenceProtocol

/// Whether and when to come back after a connection ended.
///
/// Waits are drawn evenly from nothing up to a bound that doubles from attempt to attempt ("full jitter"), so that
/// thousands of clients that lost one server do not return at one moment; where the server names a time, it is kept
/// exactly, since the server spreads them. A connection that did not last starts no new count.
struct Reconnection: Sendable {
    enum Verdict: Hashable, Sendable {
        case again(after: Duration)
        case never(PresenceError)
    }

    /// The bound of the first wait.
    let base: Duration
    /// No bound is larger.
    let cap: Duration

    /// Attempts since the last connection that lasted.
    private(set) var failures = 0
    /// How many tokens in a row, each freshly fetched, were refused.
    private var refusedTokens = 0
    /// When the present connection was made.
    private var connectedAt: Duration?

    /// A connection that lasted so long counts as a success; one that broke sooner as a failed attempt.
    private static let lasting = Duration.seconds(5)
    /// So many fresh tokens refused in a row, and there is no use in a third.
    private static let refusalsToGiveUp = 2

    /// What libwebsockets shows where it could not tell 1012 and 1013; the reason tells.
    private static let unreadable = CloseCode(rawValue: 1002)

    init(base: Duration, cap: Duration) {
        self.base = base
        self.cap = cap
    }

    mutating func connected(at uptime: Duration) {
        connectedAt = uptime
        refusedTokens = 0
    }

    /// Starts counting anew: the app says that circumstances changed.
    mutating func reset() {
        failures = 0
        refusedTokens = 0
        connectedAt = nil
    }

    /// What to do after `ending`.
    /// - Parameters:
    ///   - freshToken: whether the token had been fetched for this very attempt.
    ///   - random: evenly distributed in 0..<1.
    mutating func verdict(
        on ending: Ending, at uptime: Duration, freshToken: Bool, random: Double
    ) -> Verdict {
        if let began = connectedAt, uptime - began >= Self.lasting { failures = 0 }
        connectedAt = nil
        failures += 1

        switch ending {
        case .closed(let code, let reason):
            switch code {
            case .unsupportedData, .invalidUTF8, .policyViolation, .messageTooBig, .replaced, .disconnected:
                return .never(ending.error)
            case .serviceRestart, .tryAgainLater, Self.unreadable:
                guard let advice = ReconnectAdvice.decode(reason) else { break }
                return .again(after: .milliseconds(advice.reconnectAfter))
            case .unauthorized:
                if refuse(freshToken) { return .never(ending.error) }
            default: break
            }
        case .refused(401), .refused(403):
            if refuse(freshToken) { return .never(ending.error) }
        case .rejected(let error):
            guard error.isPassing else { return .never(error) }
            return .again(after: (error.retryAfter ?? .zero) + wait(random))
        case .noToken(let error) where error.code == .unauthorized:
            return .never(error)
        case .noToken, .lost, .refused, .silent, .nonsense: break
        }
        return .again(after: wait(random))
    }

    /// Counts a refused token; whether there is no use in going on.
    private mutating func refuse(_ freshToken: Bool) -> Bool {
        if freshToken { refusedTokens += 1 }
        return refusedTokens >= Self.refusalsToGiveUp
    }

    private func wait(_ random: Double) -> Duration {
        // Doubling 40 times is beyond any cap, and a larger shift would overflow.
        let bound = min(cap, base * (1 << min(failures - 1, 40)))
        return bound * random
    }
}
