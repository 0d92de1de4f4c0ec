import PresenceProtocol

/// The limits of a route, enforced before any byte of a body is read: size and rate of requests. (The route's audience
/// restricts the callers.)
package struct RouteLimits {
    /// The longest body in bytes. A request that announces a longer one is rejected with 413 by its head.
    package var bodyBytes: Int
    /// The number of tokens that a request takes from its user's bucket (`limits.userRequestsPerSecond`).
    package var price: Int
    /// An additional rate for each user, on each shard; `nil` for none. It does not apply to backends.
    package var rate: RateLimit?
    /// The `reason` of a 413, for programs: `picture_too_large`.
    package var tooLarge: String?

    /// The longest body that is kept in memory (1 MiB); a longer one must be an upload to a file (``Registry/upload``).
    package static let mostCollected = 1024 * 1024

    /// The longest body of a call without a token (16 KiB).
    package static let mostWithoutToken = 16 * 1024

    package init(
        bodyBytes: Int = Self.mostCollected, price: Int = 1, rate: RateLimit? = nil,
        tooLarge: String? = nil
    ) {
        precondition(bodyBytes >= 0 && price >= 0, "a route's limits are not negative")
        self.bodyBytes = bodyBytes
        self.price = price
        self.rate = rate
        self.tooLarge = tooLarge
    }
}

/// The rates of users on a route, on one shard.
final class RouteRates {
    private var rates: Rates<UserID>

    init?(_ limit: RateLimit?) {
        guard let limit else { return nil }
        rates = Rates(limit)
    }

    /// Consumes a token and returns `nil`; or consumes nothing, and returns how long to wait for one.
    func charge(by user: UserID, at now: Milliseconds) -> Milliseconds? {
        rates.expire(now: now)
        if let wait = rates.wait(for: 1, by: user, at: now) { return wait }
        rates.consume(1, by: user, at: now)
        return nil
    }
}
