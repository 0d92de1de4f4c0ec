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

    /// When the changes that wait began to be gathered, and how long the last flush took.
    private var gatheringSince: Milliseconds?
    private var flushTook: Milliseconds = 0

    /// Where more than one message is put together: as much as one write shall be.
    private var batch: [UInt8] = []
    private static let batchBytes = 64 * 1024

    init(watchers: Watchers, sockets: any Sockets, clock: ShardClock, metrics: Metrics) {
        self.watchers = watchers
        self.sockets = sockets
        self.clock = clock
        self.metrics = metrics
    }

    /// The end of the loop's turn: everything is written, unless it is better to wait for more.
    ///
    /// Under load, when writing a change to everyone takes many ms, changes whose scripts are under way are waited for,
    /// for a quarter of what the last flush took: one write of two messages costs little more than one of one. In quiet
    /// a flush takes no ms, and nothing waits. Returns how long to wait at most.
    func flush(commandsPending: Int) -> Milliseconds? {
        if commandsPending > 0, flushTook / 4 > 0, !watchers.turn.isEmpty {
            let since = gatheringSince ?? clock.now
            gatheringSince = since
            let left = since + flushTook / 4 - clock.now
            if left > 0 { return left }
        }
        gatheringSince = nil
        hasFlushedChanges = !watchers.turn.isEmpty
        watchers.markWatchers()
        for index in watchers.takeDirty() { flush(Int(index)) }
        watchers.endTurn()
        return nil
    }

    /// How long the end of the turn took, by the loop's clock.
    func turnEnded(after duration: Milliseconds) {
        if hasFlushedChanges { flushTook = min(duration, Self.longestFlush) }
        hasFlushedChanges = false
    }

    private var hasFlushedChanges = false
    /// What is longer was a pause rather than work.
    private static let longestFlush: Milliseconds = 100

    /// Before a close: what waits goes out now.
    func flush(now connection: Connection) { flush(connection.index) }

    private func flush(_ index: Int) {
        let flags = watchers.lines[index].flags
        watchers.lines[index].flags.remove(.dirty)
        guard flags.contains(.open), flags.isDisjoint(with: .congested) else { return }
        if flags.contains(.mail) || !watchers.lines[index].kept.isEmpty { return flushAll(index) }
        let run = watchers.lines[index].turn
        guard !run.isEmpty else { return }
        watchers.lines[index].turn = 0..<0
        flush(run, index)
    }

    /// The usual case needs no copy: a run of this turn's changes, shared by everyone who watches.
    private func flush(_ whole: Range<UInt32>, _ index: Int) {
        var rest = whole
        repeat {
            let run = watchers.turn.prefix(of: rest, bytes: Self.batchBytes)
            rest = run.upperBound..<rest.upperBound
            let events = watchers.turn.events(in: run)
            metrics.deliveries += events
            metrics.batchSize.record(Int64(events))
            let range = watchers.turn.bytes(of: run)
            let took = watchers.turn.bytes.withUnsafeBytes { write(UnsafeRawBufferPointer(rebasing: $0[range]), index) }
            if !took, !rest.isEmpty { watchers.keep(rest, index) }
            if !took { return }
        } while !rest.isEmpty
    }

    /// Everything that a connection has waiting, put together for it alone.
    private func flushAll(_ index: Int) {
        guard let connection = watchers.connections[index] else { return }
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
        if !watchers.lines[index].flags.contains(.background) {
            // What comes after them still waits, and its mark stays.
            guard flushEvents(index) else { return }
        }
        // After whatever changed: only then is what the client shows the truth.
        if connection.staleness == .live { appendStaleness(connection) }
        watchers.lines[index].flags.remove(.mail)
        if !batch.isEmpty { _ = batch.withUnsafeBytes { write($0, index) } }
    }

    /// Appends the connection's events to the batch, writing it whenever it is full. False when the socket takes no more.
    private func flushEvents(_ index: Int) -> Bool {
        let run = watchers.lines[index].turn
        watchers.lines[index].turn = 0..<0
        var events = 0
        var written = 0
        let kept = watchers.lines[index].kept
        for entry in kept {
            events += append(entry)
            written += 1
            guard batch.count >= Self.batchBytes else { continue }
            guard writeBatch(of: &events, index) else {
                watchers.lines[index].kept.removeFirst(written)
                return false
            }
        }
        if !kept.isEmpty { watchers.lines[index].clearKept() }
        if !run.isEmpty {
            // A connection that has kept something gets no run, so nothing is in both.
            batch += watchers.turn.bytes[watchers.turn.bytes(of: run)]
            events += watchers.turn.events(in: run)
        }
        metrics.deliveries += events
        if events > 0 { metrics.batchSize.record(Int64(events)) }
        return true
    }

    private func writeBatch(of events: inout Int, _ index: Int) -> Bool {
        metrics.deliveries += events
        metrics.batchSize.record(Int64(events))
        events = 0
        defer { batch.removeAll(keepingCapacity: true) }
        return batch.withUnsafeBytes { write($0, index) }
    }

    /// One topic's changes leave in the order of their making. Returns how many they are.
    private func append(_ entry: Line.Kept) -> Int {
        let topic = watchers.topics[Int(entry.topic)]!
        let secondIsOlder = topic.second.order < topic.first.order
        if entry.marks.contains(.second), secondIsOlder { batch += topic.second.bytes }
        if entry.marks.contains(.first) { batch += topic.first.bytes }
        if entry.marks.contains(.second), !secondIsOlder { batch += topic.second.bytes }
        return entry.marks.rawValue.nonzeroBitCount
    }

    private func appendStaleness(_ connection: Connection) {
        batch += connection.staleness == .stale ? staleMessage : StaticFrames.live
        connection.staleness = nil
    }

    /// False when the connection takes no more for now.
    private func write(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> Bool {
        let socket = SocketID(index: UInt32(index), generation: watchers.lines[index].generation)
        metrics.writes += 1
        switch sockets.write(bytes, to: socket) {
        case .written:
            return true
        case .congested:
            guard let connection = watchers[socket] else { return false }
            connection.congestedSince = clock.now
            watchers.setCongested(true, connection)
            onCongestion(connection)
            return false
        case .refused:
            // Closed, or closing: what it does not get, nobody misses.
            return false
        }
    }
}
