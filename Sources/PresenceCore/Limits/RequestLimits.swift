import PresenceProtocol
import WebSockets

/// How fast requests are taken, from one connection and from one user.
///
/// A request beyond either limit is answered `rate_limited` and changes nothing; it takes no token. A connection that
/// goes on all the same is closed with 1008. The user's bucket is this shard's: a user connected to several shards
/// or servers has one on each.
extension ShardLogic {
    /// Whether this request may be done; if not, it has been answered.
    /// - Parameter user: `nil` before anyone is known.
    func admits(_ connection: Connection, _ id: Int64?, tokens: Int, of user: UserID?) -> Bool {
        if let limit = connectionRate, let wait = connection.bucket.wait(for: tokens, at: clock.now, limit) {
            limitRate(of: connection, id, .requests, retryAfter: wait)
            return false
        }
        if let user, let wait = userRates.charge(tokens, to: user, at: clock.now) {
            limitRate(of: connection, id, .userRequests, retryAfter: wait)
            return false
        }
        if let limit = connectionRate { connection.bucket.take(tokens, at: clock.now, limit) }
        return true
    }

    /// The same for a user authenticated by this very request; the connection was charged for it already.
    func admits(_ user: UserID, _ connection: Connection, _ id: Int64?) -> Bool {
        if let wait = userRates.charge(1, to: user, at: clock.now) {
            limitRate(of: connection, id, .userRequests, retryAfter: wait)
            return false
        }
        return true
    }

    /// Frames without a message cost a request for each hundred.
    func idled(_ socket: SocketID, hundreds: Int) {
        guard let connection = watchers[socket], !connection.isClosed else { return }
        _ = admits(connection, nil, tokens: hundreds, of: connection.session?.user.id)
    }

    package func limitRate(of connection: Connection, _ id: Int64?, _ limit: Limit, retryAfter: Milliseconds) {
        let refusal = met(limit, retryAfter: retryAfter)
        replies.now(on: connection) { [self] in limitRate(of: connection, id, refusal) }
    }

    /// Counts that a limit was met; returns what its client is told.
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

    /// Tells a client that it asks too fast; one that does not heed it is sent away.
    func limitRate(of connection: Connection, _ id: Int64?, _ refusal: Refusal) {
        let isTooMany = connection.refusals.count(at: clock.now) >= configuration.limits.rateLimited
        replies.error(refusal.message.with(id: id), to: connection)
        if isTooMany { close(connection, .policyViolation, reason: "went on asking too fast") }
    }

    static let tooManyFailedTokens = "too many tokens from this address were refused: this one was not looked at"
}

/// How many requests of a connection were `rate_limited` in the 10 s that its first one began. 8 bytes.
///
/// A window, so that a client which meets the limit now and then is never closed for the sum of it.
struct RateRefusals {
    static let window: Milliseconds = 10_000

    private var number: UInt32 = 0
    /// On the monotonic clock, whose beginning is so near that 49 days' worth of ms after it the number begins anew.
    private var began: UInt32 = 0

    /// Counts one more, and returns how many there are.
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

/// What a request costs of a bucket.
package enum RequestPrice {
    /// One token, and one more for each full ten of the ids that are read or changed in Redis: an id costs a tenth of what
    /// a request does, there and here.
    package static func ids(_ count: Int) -> Int { 1 + count / 10 }

    /// What an answer costs beside its request, and a request beside its first token: a token for each full 4 KiB. Redis takes
    /// some 0.2 ms for as much of a message (docs/performance.md).
    static func bytes(_ count: Int) -> Int { count / 4_096 }

    /// What a request of so many bytes costs, whose `price` is by what it asks for. Of both the larger counts, since the bytes
    /// of ids are paid for with them. What is free stays so.
    static func of(bytes: Int, or price: Int) -> Int { price == 0 ? 0 : max(price, 1 + Self.bytes(bytes)) }

    /// What it costs a user to have lists of contacts and blocks read: 128 ids are a token's worth of Redis' time.
    static func listed(_ count: Int) -> Int { count / 128 }
}
