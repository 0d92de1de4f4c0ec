import PresenceProtocol
import WebSockets

/// Once a turn, writes everything that each connection has pending: in one call, if the socket accepts it.
package final class SocketWriter {
    private let watchers: Watchers
    private let sockets: any Sockets
    private let clock: ShardClock
    private let metrics: Metrics
    private let outboxes: Outboxes
    let catchUps: CatchUps
    let logReader: LogReader
    /// Called when a connection becomes congested.
    var onCongestion: (Connection) -> Void = { _ in }
    private static let liveMessage = WebSocketFrame.text(#"{"type":"live"}"#.utf8)
    /// The encoded `stale` message, created when staleness begins.
    var staleMessage: [UInt8] = []
    /// The encoders of a connection's own messages, in the order of their bits.
    var ownMessages: [(Connection) -> [UInt8]] = []

    /// When waiting for further changes began, and the duration of the last flush.
    private var gatheringSince: Milliseconds?
    private var flushTook: Milliseconds = 0

    /// Buffer for combining messages into one write of up to `batchBytes`.
    private var batch: [UInt8] = []
    private static let batchBytes = 64 * 1024

    init(watchers: Watchers, sockets: any Sockets, clock: ShardClock, metrics: Metrics, outboxes: Outboxes) {
        self.watchers = watchers
        self.sockets = sockets
        self.clock = clock
        self.metrics = metrics
        self.outboxes = outboxes
        catchUps = CatchUps(watchers: watchers, outboxes: outboxes, clock: clock, metrics: metrics)
        logReader = LogReader(watchers: watchers, outboxes: outboxes, clock: clock)
        watchers.onAhead = { [unowned logReader] in logReader.complete($0) }
        catchUps.onNothing = { [unowned logReader] in logReader.complete($0) }
    }

    /// Called at the end of the loop's turn: writes everything, unless it is better to wait for more.
    ///
    /// Under load, when writing a change to everyone takes many ms, it waits for changes whose scripts are running, at
    /// most for a quarter of the last flush: one write of two messages costs little more than a write of one message.
    /// Otherwise a flush takes less than a ms, and nothing waits. Returns the longest time to wait.
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
        writeToAll()
        watchers.endTurn()
        catchUps.handOut()
        // A feature that responded at once has made changes, which need another turn.
        return watchers.dirty.isEmpty ? nil : 1
    }

    /// The duration of the end of the turn, by the loop's clock.
    func turnEnded(after duration: Milliseconds) {
        if hasFlushedChanges { flushTook = min(duration, Self.longestFlush) }
        hasFlushedChanges = false
    }

    private var hasFlushedChanges = false
    /// Anything longer was a pause rather than work.
    private static let longestFlush: Milliseconds = 100

    /// Writes a connection's pending data now, before a close.
    func flush(now connection: Connection) { flush(connection.index) }

    /// Writes everything pending for a connection, this turn's changes included, before it leaves a topic.
    package func writeNow(to connection: Connection) {
        watchers.markWatchers()
        flush(connection.index)
    }

    private func flush(_ index: Int) {
        switch watchers.takeDue(UInt32(index)) {
        case .nothing: break
        case .run(let run, _): writeLong(run, index)
        case .more: flushAll(index)
        }
    }

    /// The common case needs no copy and no look-up: most connections are due the same run of this turn's changes.
    private func writeToAll() {
        // The turn's changes are all laid out (`Turn`): the loop adds none.
        let turn = watchers.turn
        var slice = Turn.Slice()
        // Counted per slice, not per write.
        var times = 0
        func countSlice() {
            metrics.writes += times
            count(slice.events, times)
            times = 0
        }
        let dirty = watchers.takeDirty()
        for index in dirty {
            switch watchers.takeDue(index) {
            case .nothing: break
            case .more: flushAll(Int(index))
            case .run(let run, let generation):
                if run != slice.run {
                    countSlice()
                    slice = turn.slice(run)
                }
                guard slice.bytes.count <= Self.batchBytes else {
                    writeLong(run, Int(index))
                    continue
                }
                times += 1
                turn.bytes.withUnsafeBytes {
                    let bytes = UnsafeRawBufferPointer(rebasing: $0[slice.bytes])
                    _ = write(bytes, SocketID(index: index, generation: generation))
                }
            }
        }
        watchers.recycle(dirty)
        countSlice()
    }

    /// Writes a run that may be longer than one write. Returns false when the socket accepts no more.
    @discardableResult
    private func writeLong(_ whole: Range<UInt32>, _ index: Int) -> Bool {
        let turn = watchers.turn
        var rest = whole
        repeat {
            let slice = turn.slice(turn.prefix(of: rest, bytes: Self.batchBytes))
            rest = slice.run.upperBound..<rest.upperBound
            count(slice.events, 1)
            let took = turn.bytes.withUnsafeBytes { write(UnsafeRawBufferPointer(rebasing: $0[slice.bytes]), index) }
            if !took, !rest.isEmpty { watchers.keep(rest, index) }
            if !took { return false }
        } while !rest.isEmpty
        return true
    }

    /// Counts `times` writes of `events` events each.
    private func count(_ events: Int, _ times: Int) {
        guard events > 0, times > 0 else { return }
        metrics.deliveries += events * times
        metrics.batchSize.record(Int64(events), times: times)
    }

    /// Writes everything that a connection has pending, assembled for this connection.
    private func flushAll(_ index: Int) {
        guard let connection = watchers.connections[index] else { return }
        batch.removeAll(keepingCapacity: true)
        if !connection.outbox.isEmpty {
            swap(&batch, &connection.outbox)
            connection.outbox = []
            outboxes.change(by: -batch.count)
        }
        if connection.staleness == .stale { appendStaleness(connection) }
        if !connection.ownMessages.isEmpty {
            let waiting = connection.ownMessages
            connection.ownMessages = []
            for (bit, encode) in ownMessages.enumerated() where waiting.rawValue & 1 << UInt8(bit) != 0 {
                batch += encode(connection)
            }
        }
        if watchers.lines[index].flags.isDisjoint(with: .silent) {
            // Later parts still wait, and the mark stays.
            guard flushEvents(index) else { return }
        }
        // After all changes: only then is the client's state current.
        if connection.staleness == .live { appendStaleness(connection) }
        watchers.lines[index].flags.remove(.mail)
        if !batch.isEmpty { _ = batch.withUnsafeBytes { write($0, index) } }
    }

    /// Appends the connection's events to the batch, writing it whenever it is full. Returns false when the socket
    /// accepts no more.
    private func flushEvents(_ index: Int) -> Bool {
        let run = watchers.lines[index].turn
        watchers.lines[index].turn = 0..<0
        var events = 0
        var written = 0
        if watchers.lines[index].kept.count > Line.searched {
            metrics.conflated += watchers.merger.merge(&watchers.lines[index].kept)
        }
        let kept = watchers.lines[index].kept
        for entry in kept {
            let topic = watchers.topics[Int(entry.topic)]!
            if let log = topic.log {
                let (takesMore, isDone) = append(log, of: topic, &events, index)
                if isDone { written += 1 }
                if takesMore { continue }
                watchers.lines[index].kept.removeFirst(written)
                return false
            }
            events += append(entry.marks, of: topic)
            written += 1
            guard batch.count >= Self.batchBytes else { continue }
            guard writeBatch(of: &events, index) else {
                watchers.lines[index].kept.removeFirst(written)
                return false
            }
        }
        if !kept.isEmpty { watchers.lines[index].clearKept() }
        if !run.isEmpty {
            // A connection that keeps changes gets no run, so no change is in both.
            if watchers.turn.bytes(of: run).count > Self.batchBytes {
                guard batch.isEmpty || writeBatch(of: &events, index) else {
                    watchers.keep(run, index)
                    return false
                }
                return writeLong(run, index)
            }
            batch += watchers.turn.bytes[watchers.turn.bytes(of: run)]
            events += watchers.turn.events(in: run)
        }
        count(events, 1)
        return true
    }

    private func writeBatch(of events: inout Int, _ index: Int) -> Bool {
        count(events, 1)
        events = 0
        defer { batch.removeAll(keepingCapacity: true) }
        return batch.withUnsafeBytes { write($0, index) }
    }

    /// Appends one topic's changes in the order in which they were made. Returns their number.
    private func append(_ marks: Marks, of topic: Topic) -> Int {
        let secondIsOlder = topic.second.order < topic.first.order
        if marks.contains(.second), secondIsOlder { batch += topic.second.bytes }
        if marks.contains(.first) { batch += topic.first.bytes }
        if marks.contains(.second), !secondIsOlder { batch += topic.second.bytes }
        return marks.rawValue.nonzeroBitCount
    }

    /// Appends all entries of a log after the connection's position, writing the batch whenever it is full.
    ///
    /// - Returns: Whether the socket accepts more, and whether the topic can be removed from the kept ones: the
    ///   connection has everything, or has requested entries that are not in memory.
    private func append(_ log: TopicLog, of topic: Topic, _ events: inout Int, _ index: Int) -> (Bool, isDone: Bool) {
        guard var after = log.behind.removeValue(forKey: UInt32(index)) else { return (true, true) }
        guard after + 1 >= log.first else {
            if let connection = watchers.connections[index] { catchUps.request(connection, topic, after: after) }
            return (true, true)
        }
        while after < log.last {
            after += 1
            batch += log[after]
            events += 1
            guard batch.count >= Self.batchBytes, !writeBatch(of: &events, index) else { continue }
            if after < log.last { log.behind[UInt32(index)] = after }
            return (false, after == log.last)
        }
        return (true, true)
    }

    private func appendStaleness(_ connection: Connection) {
        batch += connection.staleness == .stale ? staleMessage : Self.liveMessage
        connection.staleness = nil
    }

    /// Returns false when the connection accepts no more for now.
    private func write(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> Bool {
        metrics.writes += 1
        return write(bytes, SocketID(index: UInt32(index), generation: watchers.lines[index].generation))
    }

    private func write(_ bytes: UnsafeRawBufferPointer, _ socket: SocketID) -> Bool {
        switch sockets.write(bytes, to: socket) {
        case .written:
            return true
        case .congested:
            guard let connection = watchers[socket] else { return false }
            connection.congestedSince = clock.now
            connection.unsent = UInt32(clamping: bytes.count)
            outboxes.change(by: Int(connection.unsent))
            watchers.set(.congested, true, on: connection)
            onCongestion(connection)
            return false
        case .refused:
            // Closed, or closing: the data is not needed.
            return false
        }
    }
}
