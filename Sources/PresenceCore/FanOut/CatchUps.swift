import DequeModule
import PresenceProtocol

/// A watcher's request for entries of a log that are no longer in memory.
package final class CatchUp {
    package let connection: Connection
    package let topic: Topic
    /// The last entry that the watcher has.
    package let after: Int64
    fileprivate var isAnswered = false

    init(_ connection: Connection, _ topic: Topic, after: Int64) {
        self.connection = connection
        self.topic = topic
        self.after = after
    }

    /// The last entry needed: later ones are in memory. A feature may return more.
    package var through: Int64 { (topic.log?.first ?? 1) - 1 }
    /// The connection is still open, watches the topic and waits for these entries.
    fileprivate var isWanted: Bool {
        !connection.isClosed && topic.log?.asked[UInt32(connection.index)] === self
    }
}

/// An entry of a log, the same for every client.
package struct LogEntry {
    package let sequence: Int64
    /// The whole WebSocket frame.
    package let frame: [UInt8]

    package init(sequence: Int64, frame: [UInt8]) {
        self.sequence = sequence
        self.frame = frame
    }
}

/// Requests the older entries of logs from features: a page for each connection, for some connections at a time.
///
/// While a connection waits for a page, its other topics are still delivered. The page is sent like a reply, and the
/// rest follows from memory, or with the next page once the socket has accepted this one. So a connection that catches
/// up buffers no more than one turn adds, and nothing is read for a connection that accepts no more.
package final class CatchUps {
    /// Requests in order that no feature has received yet. Some may be obsolete.
    private var waiting = Deque<CatchUp>()
    /// At this number of waiting requests, obsolete ones are removed.
    private var sweepAt = CatchUps.sweptFrom
    private var underWay = 0
    /// Requests that failed, to be retried at `retryAt`.
    private var failed: [CatchUp] = []
    private var retryAt: Milliseconds = 0
    private var isHandingOut = false

    /// Called for a log for which the store had no entries to return.
    var onNothing: (Topic) -> Void = { _ in }
    private let watchers: Watchers
    private let outboxes: Outboxes
    private let clock: ShardClock
    private let metrics: Metrics

    /// The most pages read at a time. Redis answers this many in about a millisecond, and a page does not fill a
    /// socket.
    static let mostUnderWay = 64
    private static let sweptFrom = 1_024
    /// The same as for other temporary rejections by Redis.
    static let pause: Milliseconds = 500

    init(watchers: Watchers, outboxes: Outboxes, clock: ShardClock, metrics: Metrics) {
        self.watchers = watchers
        self.outboxes = outboxes
        self.clock = clock
        self.metrics = metrics
    }

    /// An upper bound of waiting requests: some may be obsolete.
    var count: Int { waiting.count + underWay + failed.count }

    /// Requests entries. The caller has removed the topic from the connection's kept changes; no feature is called
    /// before `handOut`.
    func request(_ connection: Connection, _ topic: Topic, after sequence: Int64) {
        let request = CatchUp(connection, topic, after: sequence)
        topic.log?.asked[UInt32(connection.index)] = request
        waiting.append(request)
        guard waiting.count >= sweepAt else { return }
        waiting.removeAll { !$0.isWanted }
        sweepAt = max(Self.sweptFrom, 2 * waiting.count)
    }

    /// Passes requests to their features, up to the limit of concurrent ones.
    func handOut() {
        guard !isHandingOut else { return }
        isHandingOut = true
        while underWay < Self.mostUnderWay, let request = waiting.popFirst() {
            guard request.isWanted, let kind = watchers.kind(of: request.topic) else { continue }
            guard !isBusy(request.connection) else {
                putBack(request)
                continue
            }
            underWay += 1
            metrics.catchUps += 1
            kind.catchUp(request)
        }
        isHandingOut = false
    }

    /// Retries failed requests.
    func tick() {
        guard !failed.isEmpty, clock.now >= retryAt else { return }
        waiting.append(contentsOf: failed)
        failed = []
        handOut()
    }

    /// Takes the entries after `request.after`, in order: all, or the first of them.
    ///
    /// There may be gaps between entries. If the store no longer has the entries, the feature passes an entry of its
    /// own in their place, which instructs the client to start again, and has the number after which the log continues.
    package func complete(_ request: CatchUp, with entries: [LogEntry]) {
        finish(request)
        defer { handOut() }
        guard request.isWanted, let log = request.topic.log else { return }
        let connection = request.connection
        // It is requested again when the connection is writable.
        guard !isBusy(connection) else { return putBack(request) }
        // The requesting connection gets this turn's entries here, so they are not marked for it.
        if !request.topic.changed.isEmpty { watchers.markWatchers() }
        var after = request.after
        let before = connection.outbox.count
        // Newer entries that have not arrived as events yet will do so.
        for entry in entries where entry.sequence > after && entry.sequence <= log.last {
            connection.outbox += entry.frame
            after = entry.sequence
            metrics.deliveries += 1
        }
        // An empty page does not count as an answer.
        guard after > request.after else {
            retry(request)
            return onNothing(request.topic)
        }
        outboxes.change(by: connection.outbox.count - before)
        log.asked[UInt32(connection.index)] = nil
        if after < log.last { watchers.fallBehind(connection.index, request.topic, after: after) }
        watchers.markMail(connection)
    }

    /// The entries cannot be read now. The feature is asked again half a second later.
    package func fail(_ request: CatchUp) {
        finish(request)
        if request.isWanted { retry(request) }
        handOut()
    }

    private func finish(_ request: CatchUp) {
        precondition(!request.isAnswered, "a catch-up is answered twice")
        request.isAnswered = true
        underWay -= 1
    }

    /// Whether log entries are not written to the connection now, or the connection has not accepted the previous page:
    /// another page would only use memory.
    private func isBusy(_ connection: Connection) -> Bool {
        !watchers.lines[connection.index].flags.isDisjoint(with: [.background, .withheld, .congested])
    }

    /// Restores the connection's state before the request.
    private func putBack(_ request: CatchUp) {
        request.topic.log?.asked[UInt32(request.connection.index)] = nil
        watchers.fallBehind(request.connection.index, request.topic, after: request.after)
    }

    private func retry(_ request: CatchUp) {
        let again = CatchUp(request.connection, request.topic, after: request.after)
        request.topic.log?.asked[UInt32(request.connection.index)] = again
        if failed.isEmpty { retryAt = clock.now + Self.pause }
        failed.append(again)
    }
}
