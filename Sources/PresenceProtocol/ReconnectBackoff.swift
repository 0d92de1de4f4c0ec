/// How long a client waits before it dials again, where no server told it a time.
///
/// A user whose client is back within `linger` was never seen to go, so for that long the client tries often; after it,
/// ever more rarely. Each wait is drawn evenly from nothing up to a bound ("full jitter"), so that the clients of one
/// server do not return at one moment:
///
/// ```text
///   loss                                        linger          2 linger …
///    │ base, then doubled up to linger / 4         │ doubled up to cap
///    └─────────────────────────────────────────────┴──────────────────────▶
/// ```
///
/// No wait leads over the end of linger while there is time for another attempt before it. So all clients of a server
/// that is away for up to 85 % of linger are back within it, and in no tenth of a second come more of them than after a
/// loss of the connections alone. The price is about nine attempts of each client within linger. A connection that did
/// not last begins no new count.
public struct ReconnectBackoff: Hashable, Sendable {
    /// The bound of the first wait.
    public let base: Duration
    /// No bound is larger.
    public let cap: Duration
    /// How long the server holds a lost session: what `connected` said last, and its default before.
    public private(set) var linger = Duration.seconds(10)
    /// Attempts since the last connection that lasted.
    public private(set) var failures = 0

    /// The bound of the present wait; `nil` before the first.
    private var bound: Duration?
    /// When the last connection that lasted was lost, or the first attempt failed.
    private var lostAt: Duration?
    /// When the present connection was made.
    private var connectedAt: Duration?

    /// A connection that lasted so long counts as a success; one that broke sooner as a failed attempt.
    public static let lasting = Duration.seconds(5)
    /// However short linger is, bounds are not made shorter for it.
    private static let shortest = Duration.milliseconds(100)

    public init(base: Duration, cap: Duration) {
        self.base = base
        self.cap = cap
    }

    public mutating func connected(at uptime: Duration, linger: Duration) {
        connectedAt = uptime
        self.linger = linger
    }

    /// Begins anew: circumstances have changed.
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
        // An attempt takes some time itself, and a few draws may still come: within the last tenth none is squeezed in.
        let room = lostAt + linger - linger / 20 - uptime
        if room >= max(linger / 10, Self.shortest) { bound = min(bound, room) }
        return bound * random
    }
}
