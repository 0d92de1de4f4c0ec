/// The time that a client waits before it reconnects, unless a server has set one.
///
/// Watchers do not notice the break if the client is back within `linger`, so during that time the client tries often,
/// and then less and less. Each wait is a random time from zero up to a bound ("full jitter"), so that the clients of
/// one server do not return at the same moment:
///
/// ```text
///   loss                                        linger          2 linger …
///    │ base, then doubled up to linger / 4         │ doubled up to cap
///    └─────────────────────────────────────────────┴──────────────────────▶
/// ```
///
/// No wait leads past the end of linger while there is time for another attempt before that end. So all clients of a
/// server that is away for up to 85 % of linger are back within linger. In no tenth of a second do more of them arrive
/// than after a loss of only the connections. The price is about nine attempts of each client within linger. A
/// short-lived connection does not reset the count.
public struct ReconnectBackoff: Hashable, Sendable {
    /// The bound of the first wait.
    public let base: Duration
    /// The largest bound.
    public let cap: Duration
    /// How long the server keeps a lost session: the value of the last `connected`, and before that the default.
    public private(set) var linger = Duration.seconds(10)
    /// Attempts since the last connection that lasted.
    public private(set) var failures = 0

    /// The bound of the current wait; `nil` before the first.
    private var bound: Duration?
    /// The time at which the last lasting connection was lost, or the first attempt failed.
    private var lostAt: Duration?
    /// The time at which the current connection was made.
    private var connectedAt: Duration?

    /// A connection that lasted this long counts as a success; a shorter one as a failed attempt.
    public static let lasting = Duration.seconds(5)
    /// A shorter linger does not reduce the bounds below this.
    private static let shortest = Duration.milliseconds(100)

    public init(base: Duration, cap: Duration) {
        self.base = base
        self.cap = cap
    }

    public mutating func connected(at uptime: Duration, linger: Duration) {
        connectedAt = uptime
        self.linger = linger
    }

    /// Starts over, because circumstances have changed.
    public mutating func reset() {
        failures = 0
        bound = nil
        lostAt = nil
        connectedAt = nil
    }

    /// A connection, or an attempt to make one, has ended.
    public mutating func failed(at uptime: Duration) {
        if let connectedAt, uptime - connectedAt >= Self.lasting { reset() }
        connectedAt = nil
        failures += 1
        let end = (lostAt ?? uptime) + linger
        lostAt = end - linger
        let doubled = min(cap, bound.map { $0 * 2 } ?? base)
        bound = uptime < end ? min(doubled, max(linger / 4, Self.shortest)) : doubled
    }

    /// The wait after the last `failed`.
    /// - Parameter random: evenly distributed in 0..<1.
    public func wait(at uptime: Duration, random: Double) -> Duration {
        guard var bound, let lostAt else { return .zero }
        // An attempt itself takes time, and later draws may be short: in the last part of linger no attempt is
        // squeezed in.
        let room = lostAt + linger - linger / 20 - uptime
        if room >= max(linger / 10, Self.shortest) { bound = min(bound, room) }
        return bound * random
    }
}
