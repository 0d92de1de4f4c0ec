import PresenceProtocol
import WebSockets

/// Writes, once a turn, everything that each connection has waiting, in one call if the socket takes it.
final class Delivery {
    private let watchers: Watchers
    private let sockets: any Sockets
    private let clock: ShardClock
    private let metrics: Metrics
    /// Told when a connection has begun to take nothing.
    var onCongestion: (Connection) -> Void = { _ in }
    /// The encoded `stale` message, made when staleness begins.
    var staleMessage: [UInt8] = []
    /// The encoded `ownStatus` of a connection's user.
    var ownStatusMessage: (Connection) -> [UInt8] = { _ in [] }

    /// Where more than one message is put together: as much as one write shall be.
    private var batch: [UInt8] = []
    private static let batchBytes = 64 * 1024

    init(watchers: Watchers, sockets: any Sockets, clock: ShardClock, metrics: Metrics) {
        self.watchers = watchers
        self.sockets = sockets
        self.clock = clock
        self.metrics = metrics
    }

    /// The end of the loop's turn.
    func flush() {
        guard !watchers.dirty.isEmpty else { return }
        for index in watchers.takeDirty() {
            guard let connection = watchers.connections[Int(index)], connection.isDirty else { continue }
            connection.isDirty = false
            flush(connection)
        }
    }

    /// Before a close: what waits goes out now.
    func flush(now connection: Connection) {
        connection.isDirty = false
        flush(connection)
    }

    private func flush(_ connection: Connection) {
        guard connection.congestedSince == nil, !connection.isClosed else { return }
        batch.removeAll(keepingCapacity: true)
        if !connection.outbox.isEmpty {
            swap(&batch, &connection.outbox)
            connection.outbox = []
        }
        if connection.staleness == .stale { appendStaleness(connection) }
        if connection.ownStatusPending {
            connection.ownStatusPending = false
            batch += ownStatusMessage(connection)
        }
        if !connection.pending.isEmpty && !connection.holdsEvents {
            guard flushEvents(connection) else { return }
        }
        // After whatever changed: only then is what the client shows the truth.
        if connection.staleness == .live { appendStaleness(connection) }
        if !batch.isEmpty { _ = write(batch, to: connection) }
    }

    /// Appends pending events to the batch, writing it whenever it is full. False when the socket takes no more.
    private func flushEvents(_ connection: Connection) -> Bool {
        // The usual case needs no copy: one event, shared by everyone who watches.
        if batch.isEmpty, connection.pending.count == 1, connection.staleness == nil {
            let position = Int(connection.pending[0])
            let subscription = connection.subscriptions[position]
            let topic = watchers.topics[Int(subscription.topic)]!
            if subscription.marks == .first || subscription.marks == .second {
                connection.subscriptions[position].marks = []
                connection.pending.removeAll(keepingCapacity: true)
                metrics.deliveries += 1
                metrics.batchSize.record(1)
                return write(subscription.marks == .first ? topic.first.bytes : topic.second.bytes, to: connection)
            }
        }

        var written = 0
        var events = 0
        defer {
            connection.pending.removeFirst(written)
            metrics.deliveries += events
        }
        while written < connection.pending.count {
            let position = Int(connection.pending[written])
            let subscription = connection.subscriptions[position]
            let topic = watchers.topics[Int(subscription.topic)]!
            connection.subscriptions[position].marks = []
            written += 1
            events += append(subscription.marks, of: topic)
            if batch.count >= Self.batchBytes {
                metrics.batchSize.record(Int64(events))
                let took = write(batch, to: connection)
                batch.removeAll(keepingCapacity: true)
                if !took { return false }
            }
        }
        metrics.batchSize.record(Int64(events))
        return true
    }

    /// One person's changes leave in the order of their making.
    private func append(_ marks: Connection.Marks, of topic: Topic) -> Int {
        if marks == .first {
            batch += topic.first.bytes
            return 1
        }
        if marks == .second {
            batch += topic.second.bytes
            return 1
        }
        let firstIsOlder = topic.first.order < topic.second.order
        batch += firstIsOlder ? topic.first.bytes : topic.second.bytes
        batch += firstIsOlder ? topic.second.bytes : topic.first.bytes
        return 2
    }

    private func appendStaleness(_ connection: Connection) {
        batch += connection.staleness == .stale ? staleMessage : StaticFrames.live
        connection.staleness = nil
    }

    /// False when the connection takes no more for now.
    private func write(_ bytes: [UInt8], to connection: Connection) -> Bool {
        let result = bytes.withUnsafeBytes { sockets.write($0, to: connection.socket) }
        metrics.writes += 1
        switch result {
        case .written:
            return true
        case .congested:
            connection.congestedSince = clock.now
            onCongestion(connection)
            return false
        case .refused:
            // Closed, or closing: what it does not get, nobody misses.
            return false
        }
    }
}
