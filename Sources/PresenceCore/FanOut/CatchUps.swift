import DequeModule
import PresenceProtocol

/// A watcher of a log needs entries that are no longer in memory.
package final class CatchUp {
    package let connection: Connection
    package let topic: Topic
    /// The last entry that it has.
    package let after: Int64
    fileprivate var isAnswered = false

    init(_ connection: Connection, _ topic: Topic, after: Int64) {
        self.connection = connection
        self.topic = topic
        self.after = after
    }

    /// The last entry that it needs: from the next one on they are in memory. More than that does no harm.
    package var through: Int64 { (topic.log?.first ?? 1) - 1 }
    /// The connection is still there, and watches, and asks.
    fileprivate var isWanted: Bool {
        !connection.isClosed && topic.log?.asked[UInt32(connection.index)] === self
    }
}

/// An entry of a log as every client gets it.
package struct LogEntry {
    package let sequence: Int64
    /// The whole WebSocket frame.
    package let frame: [UInt8]

    package init(sequence: Int64, frame: [UInt8]) {
        self.sequence = sequence
        self.frame = frame
    }
}

/// Asks features for the older entries of logs, a page for each connection and some connections at a time.
///
/// While a connection waits for a page, its other topics go on. The page goes out like a reply, and the rest follows from
/// memory, or with the next page once the socket has taken this one. So a
/// connection that catches up holds what one turn brings, and nothing is read for one that takes no more.
package final class CatchUps {
    /// Asked and not handed to their features yet, in their order. Some may not be wanted any more.
    private var waiting = Deque<CatchUp>()
    /// When so many wait, those that are not wanted any more are let go.
    private var sweepAt = CatchUps.sweptFrom
    private var underWay = 0
    /// Could not be read; asked again when it is time.
    private var failed: [CatchUp] = []
    private var retryAt: Milliseconds = 0
    private var isHandingOut = false

    /// Told of a log of which the store has not what was asked for.
    var onNothing: (Topic) -> Void = { _ in }
    private let watchers: Watchers
    private let outboxes: Outboxes
    private let clock: ShardClock
    private let metrics: Metrics

    /// Each is a read of a page: Redis answers so many in about a millisecond, and they fill no socket.
    static let mostUnderWay = 64
    private static let sweptFrom = 1_024
    /// As long as for what else Redis refuses for a moment.
    static let pause: Milliseconds = 500

    init(watchers: Watchers, outboxes: Outboxes, clock: ShardClock, metrics: Metrics) {
        self.watchers = watchers
        self.outboxes = outboxes
        self.clock = clock
        self.metrics = metrics
    }

    /// Those that wait for entries, at most: some may have gone meanwhile.
    var count: Int { waiting.count + underWay + failed.count }

    /// The topic is no longer among what the connection keeps; nothing is called before `handOut`.
    func ask(_ connection: Connection, _ topic: Topic, after sequence: Int64) {
        let request = CatchUp(connection, topic, after: sequence)
        topic.log?.asked[UInt32(connection.index)] = request
        waiting.append(request)
        guard waiting.count >= sweepAt else { return }
        waiting.removeAll { !$0.isWanted }
        sweepAt = max(Self.sweptFrom, 2 * waiting.count)
    }

    /// Hands requests to their features, as many as may be under way.
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

    /// Those that could not be read are asked again.
    func tick() {
        guard !failed.isEmpty, clock.now >= retryAt else { return }
        waiting.append(contentsOf: failed)
        failed = []
        handOut()
    }

    /// The entries after `request.after`, in order: all, or the first of them.
    ///
    /// An entry need not follow on the one before it. If the store no longer has what was asked for, the feature puts an
    /// entry of its own into its place that tells the client to begin anew, with the number after which it continues.
    package func answer(_ request: CatchUp, with entries: [LogEntry]) {
        finish(request)
        defer { handOut() }
        guard request.isWanted, let log = request.topic.log else { return }
        let connection = request.connection
        // It asks again when it can be written.
        guard !isBusy(connection) else { return putBack(request) }
        // This turn's entries are not for those who have been asked for: they get them here.
        if !request.topic.changed.isEmpty { watchers.markWatchers() }
        var after = request.after
        let before = connection.outbox.count
        // What has not come here as an event yet will come.
        for entry in entries where entry.sequence > after && entry.sequence <= log.last {
            connection.outbox += entry.frame
            after = entry.sequence
            metrics.deliveries += 1
        }
        // Nothing is no answer.
        guard after > request.after else {
            retry(request)
            return onNothing(request.topic)
        }
        outboxes.change(by: connection.outbox.count - before)
        log.asked[UInt32(connection.index)] = nil
        if after < log.last { watchers.fallBehind(connection.index, request.topic, after: after) }
        watchers.markMail(connection)
    }

    /// They cannot be read now. The feature is asked again half a second later.
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

    /// Nothing of a log is written to it now, or the page before has not been taken: another would only fill memory.
    private func isBusy(_ connection: Connection) -> Bool {
        !watchers.lines[connection.index].flags.isDisjoint(with: [.background, .withheld, .congested])
    }

    /// The connection stands where it stood before it asked.
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
