import PresenceProtocol
import WebSockets

/// Limits the rate of requests of one connection and of one user.
///
/// A request beyond either limit is rejected with `rate_limited` and changes nothing; it takes no token. A connection
/// that continues regardless is closed with 1008. The user's bucket belongs to this shard: a user connected to several
/// shards or servers has one on each.
extension ShardLogic {
    /// Whether this request is admitted; if not, it was replied to.
    /// - Parameter user: `nil` before authentication.
    func charge(_ connection: Connection, _ id: Int64?, tokens: Int, of user: UserID?) -> Bool {
        if let limit = connectionRate, let wait = connection.bucket.wait(for: tokens, at: clock.now, limit) {
            limitRate(of: connection, id, .requests, retryAfter: wait)
            return false
        }
        if let user, let wait = userRates.charge(tokens, to: user, at: clock.now) {
            limitRate(of: connection, id, .userRequests, retryAfter: wait)
            return false
        }
        if let limit = connectionRate { connection.bucket.consume(tokens, at: clock.now, limit) }
        return true
    }

    /// Whether a request that authenticates its user itself is admitted; the connection has been charged for it.
    func charge(_ user: UserID, _ connection: Connection, _ id: Int64?) -> Bool {
        if let wait = userRates.charge(1, to: user, at: clock.now) {
            limitRate(of: connection, id, .userRequests, retryAfter: wait)
            return false
        }
        return true
    }

    /// Frames without a message cost a request for each hundred.
    func idled(_ socket: SocketID, hundreds: Int) {
        guard let connection = watchers[socket], !connection.isClosed else { return }
        _ = charge(connection, nil, tokens: hundreds, of: connection.session?.user.id)
    }

    package func limitRate(of connection: Connection, _ id: Int64?, _ limit: Limit, retryAfter: Milliseconds) {
        let refusal = met(limit, retryAfter: retryAfter)
        replies.now(on: connection) { [self] in limitRate(of: connection, id, refusal) }
    }

    /// Counts that a limit was met; returns the error for the client.
    package func met(_ limit: Limit, retryAfter: Milliseconds) -> Refusal {
        metrics.met(limit)
        let message =
            switch limit {
            case .failedTokens: Self.tooManyFailedTokens
            case .requests: "this connection asks too fast: nothing was done"
            case .userBytes: "this user has sent too many bytes: nothing was done"
            default: "this user asks too fast: nothing was done"
            }
        return Refusal(.rateLimited, message, retryAfter: retryAfter)
    }

    /// Replies that the client sends too fast; closes the connection of one that ignores this.
    func limitRate(of connection: Connection, _ id: Int64?, _ refusal: Refusal) {
        let isTooMany = connection.refusals.count(at: clock.now) >= configuration.limits.rateLimited
        replies.error(refusal.message.with(id: id), to: connection)
        if isTooMany { close(connection, .policyViolation, reason: "went on asking too fast") }
    }

    static let tooManyFailedTokens = "too many tokens from this address were refused: this one was not checked"
}

/// The number of a connection's requests that were `rate_limited` within 10 s of the first one. 8 bytes.
///
/// A window, so that a client that meets the limit now and then is never closed for the total.
struct RateRefusals {
    static let window: Milliseconds = 10_000

    private var number: UInt32 = 0
    /// On the monotonic clock, as 32 bits of ms: they wrap after 49 days.
    private var began: UInt32 = 0

    /// Counts one more, and returns the number.
    package mutating func count(at now: Milliseconds) -> Int {
        let now = UInt32(truncatingIfNeeded: now)
        if number == 0 || Milliseconds(now &- began) >= Self.window {
            began = now
            number = 0
        }
        number += 1
        return Int(number)
    }
}

/// The prices of requests, in tokens of a bucket.
package enum RequestPrice {
    /// One token, and one more for each full ten of the ids that are read or changed in Redis: an id costs a tenth of a
    /// request, in Redis and here.
    package static func ids(_ count: Int) -> Int { 1 + count / 10 }

    /// The price of a reply in addition to its request's, and of a long request in addition to its first token: one
    /// token for each full 4 KiB. Redis takes some 0.2 ms for a message of that size (docs/performance.md).
    static func bytes(_ count: Int) -> Int { count / 4_096 }

    /// The price of a request of this many bytes, whose `price` results from its contents. Only the larger of the two
    /// counts, since the price of ids includes their bytes. Free requests stay free.
    static func of(bytes: Int, or price: Int) -> Int { price == 0 ? 0 : max(price, 1 + Self.bytes(bytes)) }

    /// The price that a user pays when lists of contacts and blocks are read: 128 ids take Redis as long as a request.
    static func listed(_ count: Int) -> Int { count / 128 }
}
