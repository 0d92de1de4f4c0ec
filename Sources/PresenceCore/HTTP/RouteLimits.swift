import PresenceProtocol

/// What a route asks of a request before a byte of its body is read: how large it may be, and how often it may come. (Who may
/// send it is the route's audience.)
package struct RouteLimits {
    /// The longest body in bytes. A request that announces a longer one is answered 413 by its head.
    package var bodyBytes: Int
    /// How many tokens of its user's bucket (`limits.userRequestsPerSecond`) a request takes.
    package var price: Int
    /// A rate of each user's beside that, on each shard; `nil` for none. Backends have none.
    package var rate: RateLimit?
    /// The `reason` of a 413, for programs: `picture_too_large`.
    package var tooLarge: String?

    /// The longest body that is kept in memory (1 MiB); a longer one has to go into a file (``Registry/upload``).
    package static let mostCollected = 1024 * 1024

    /// The longest of a call that needs no token (16 KiB).
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

/// How often each user may use a route, on one shard.
final class RouteRates {
    private var rates: Rates<UserID>

    init?(_ limit: RateLimit?) {
        guard let limit else { return nil }
        rates = Rates(limit)
    }

    /// Takes one; or nothing, and returns how long there is none.
    func take(by user: UserID, at now: Milliseconds) -> Milliseconds? {
        rates.expire(now: now)
        if let wait = rates.wait(for: 1, by: user, at: now) { return wait }
        rates.take(1, by: user, at: now)
        return nil
    }
}
