import PresenceProtocol

/// Short requests whose replies may be megabytes: pages of messages, lists.
///
/// A user's long requests are carried out one after the other on a shard, and at most `most` of all users at a time.
/// The length of each reply is charged to the user's rate before the user's next request is considered, which then may
/// be `rate_limited`. So a packet of a hundred such requests cannot make Redis and the loop produce hundreds of
/// megabytes.
///
/// At most one request of a connection waits: later messages are held (`HeldMessages`), so replies keep the order of
/// requests.
final class LongAnswers {
    private struct Waiting {
        let connection: Connection
        let price: Int
        let act: () -> Void
    }

    /// The reply to a client that has disconnected was read from Redis nevertheless. Its length is unknown, so the
    /// charge is this multiple of the request's price. For the longest page that is the charge for 1 MiB.
    private static let abandoned = 24

    /// The most requests of all users that run at once on a shard.
    static let most = 64

    private unowned let shard: ShardLogic
    /// The waiting requests of each user who has a running one or is in `ready`.
    private var waiting: [UserID: [Waiting]] = [:]
    /// Users whose turn comes next.
    private var ready: ArraySlice<UserID> = []
    private var underWay = 0
    private var isGoingOn = false

    init(_ shard: ShardLogic) { self.shard = shard }

    var waitingCount: Int { waiting.values.reduce(0) { $0 + $1.count } }

    /// Carries a request out, now or when its turn comes; `act` replies at once, or takes a place in the connection's
    /// replies.
    func perform(of user: UserID, on connection: Connection, price: Int, _ act: @escaping () -> Void) {
        guard waiting[user] == nil else {
            return wait(Waiting(connection: connection, price: price, act: act), of: user)
        }
        waiting[user] = []
        guard underWay < Self.most else {
            wait(Waiting(connection: connection, price: price, act: act), of: user)
            return ready.append(user)
        }
        begin(act, of: user, on: connection, price: price)
    }

    private func wait(_ request: Waiting, of user: UserID) {
        waiting[user]?.append(request)
        request.connection.isInLine = true
    }

    private func begin(_ act: () -> Void, of user: UserID, on connection: Connection, price: Int) {
        underWay += 1
        let (last, length) = (connection.replies.last, connection.outbox.count)
        act()
        guard let reply = connection.replies.last, reply !== last else {
            return ended(of: user, bytes: connection.outbox.count - length)
        }
        reply.answered = { [unowned self] in ended(of: user, bytes: $0 ?? price * Self.abandoned * 4_096) }
    }

    private func ended(of user: UserID, bytes: Int) {
        underWay -= 1
        if bytes > 0 { shard.userRates.consume(RequestPrice.bytes(bytes), by: user, at: shard.clock.now) }
        if waiting[user]?.isEmpty == true { waiting[user] = nil } else { ready.append(user) }
        runNext()
    }

    private func runNext() {
        // Guarded, so that a request with an immediate reply does not recurse.
        guard !isGoingOn else { return }
        isGoingOn = true
        defer { isGoingOn = false }
        while underWay < Self.most, let user = ready.popFirst(), let next = waiting[user]?.removeFirst() {
            next.connection.isInLine = false
            guard !next.connection.isClosed else {
                underWay += 1
                ended(of: user, bytes: 0)
                continue
            }
            begin(next.act, of: user, on: next.connection, price: next.price)
            shard.handleHeld(of: next.connection)
        }
    }
}
