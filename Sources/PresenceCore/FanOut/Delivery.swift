import PresenceProtocol
import WebSockets

/// Writes, once a turn, everything that each connection has waiting, in one call if the socket takes it.
package final class Delivery {
    private let watchers: Watchers
    private let sockets: any Sockets
    private let clock: ShardClock
    private let metrics: Metrics
    private let outboxes: Outboxes
    let catchUps: CatchUps
    let logReader: LogReader
    /// Told when a connection has begun to take nothing.
    var onCongestion: (Connection) -> Void = { _ in }
    /// The encoded `stale` message, made when staleness begins.
    var staleMessage: [UInt8] = []
    /// What encodes each of a connection's own messages, in the order of their bits.
    var ownMessages: [(Connection) -> [UInt8]] = []

    /// When the changes that wait began to be gathered, and how long the last flush took.
    private var gatheringSince: Milliseconds?
    private var flushTook: Milliseconds = 0

    /// Where more than one message is put together: as much as one write shall be.
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
        writeToAll()
        watchers.endTurn()
        catchUps.handOut()
        // A feature that answered at once has made another turn of it.
        return watchers.dirty.isEmpty ? nil : 1
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

    /// The usual case needs no copy and no look-up: most connections are due the same run of this turn's changes.
    private func writeToAll() {
        // Nothing is laid out meanwhile.
        let turn = watchers.turn
        var slice = Turn.Slice()
        // Counted once a slice, not once a write.
        var times = 0
        func settle() {
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
                    settle()
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
        settle()
    }

    /// A run that may be longer than a write. False when the socket takes no more.
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

    /// So many writes of so many events each.
    private func count(_ events: Int, _ times: Int) {
        guard events > 0, times > 0 else { return }
        metrics.deliveries += events * times
        metrics.batchSize.record(Int64(events), times: times)
    }

    /// Everything that a connection has waiting, put together for it alone.
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
            // A connection that has kept something gets no run, so nothing is in both.
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

    /// One topic's changes leave in the order of their making. Returns how many they are.
    private func append(_ marks: Marks, of topic: Topic) -> Int {
        let secondIsOlder = topic.second.order < topic.first.order
        if marks.contains(.second), secondIsOlder { batch += topic.second.bytes }
        if marks.contains(.first) { batch += topic.first.bytes }
        if marks.contains(.second), !secondIsOlder { batch += topic.second.bytes }
        return marks.rawValue.nonzeroBitCount
    }

    /// Everything of a log after where the connection stands, writing the batch whenever it is full.
    ///
    /// - Returns: Whether the socket takes more, and whether the topic is no longer among what is kept: the connection has
    ///   everything, or waits for entries that are not in memory.
    private func append(_ log: TopicLog, of topic: Topic, _ events: inout Int, _ index: Int) -> (Bool, isDone: Bool) {
        guard var after = log.behind.removeValue(forKey: UInt32(index)) else { return (true, true) }
        guard after + 1 >= log.first else {
            if let connection = watchers.connections[index] { catchUps.ask(connection, topic, after: after) }
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
        batch += connection.staleness == .stale ? staleMessage : StaticFrames.live
        connection.staleness = nil
    }

    /// False when the connection takes no more for now.
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
            // Closed, or closing: what it does not get, nobody misses.
            return false
        }
    }
}
