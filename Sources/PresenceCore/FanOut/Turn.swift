/// The changes in this turn of the loop, in order: the frames to be sent at its end, in one buffer.
///
/// A topic that changes twice in a turn occurs once. If the changes due for a connection are a run without a gap, the
/// connection is written that part of the buffer: nothing is assembled for it.
struct Turn {
    struct Change {
        let topic: UInt32
        /// The registers that changed; known once it is laid out.
        var marks: Marks = []
        /// For a log instead of registers: the entries after this sequence number.
        var isLog = false
        var after: Int64 = 0
        /// The end of its frames in `bytes`; they begin where those of the previous change end.
        var end = 0
        /// The number of events up to and including it.
        var events = 0
    }

    private(set) var changes: [Change] = []
    private(set) var bytes: [UInt8] = []
    /// The number of `changes` whose frames are in `bytes`, and whose watchers are marked.
    private(set) var laidOut = 0

    var isEmpty: Bool { changes.isEmpty }

    mutating func add(_ topic: UInt32) { changes.append(Change(topic: topic)) }

    /// The next change that is not laid out yet.
    var next: UInt32? { laidOut < changes.count ? changes[laidOut].topic : nil }

    /// Lays out the next change: the frames of its topic's changed registers in the order of their changes, or its
    /// log's new entries. (A topic that was discarded, or is laid out already, has none.)
    mutating func layOut(_ topic: Topic?) -> UInt32 {
        var events = laidOut > 0 ? changes[laidOut - 1].events : 0
        let marks = topic?.changed ?? []
        if let topic, let log = topic.log, !marks.isEmpty {
            let laidOut = log.layOut(into: &bytes)
            changes[self.laidOut].isLog = true
            changes[self.laidOut].after = laidOut.lowerBound
            events += Int(laidOut.upperBound - laidOut.lowerBound)
            topic.changed = []
        } else if let topic, !marks.isEmpty {
            let secondIsOlder = topic.second.order < topic.first.order
            if marks.contains(.second), secondIsOlder { bytes += topic.second.bytes }
            if marks.contains(.first) { bytes += topic.first.bytes }
            if marks.contains(.second), !secondIsOlder { bytes += topic.second.bytes }
            events += marks.rawValue.nonzeroBitCount
            topic.changed = []
        }
        changes[laidOut].marks = marks
        changes[laidOut].end = bytes.count
        changes[laidOut].events = events
        defer { laidOut += 1 }
        return UInt32(laidOut)
    }

    func start(of change: UInt32) -> Int { change == 0 ? 0 : changes[Int(change) - 1].end }
    func bytes(of run: Range<UInt32>) -> Range<Int> { start(of: run.lowerBound)..<start(of: run.upperBound) }

    func events(in run: Range<UInt32>) -> Int {
        let before = run.lowerBound == 0 ? 0 : changes[Int(run.lowerBound) - 1].events
        return changes[Int(run.upperBound) - 1].events - before
    }

    /// A run in the form that is written.
    struct Slice {
        var run: Range<UInt32> = 0..<0
        var bytes: Range<Int> = 0..<0
        var events = 0
    }

    func slice(_ run: Range<UInt32>) -> Slice { Slice(run: run, bytes: bytes(of: run), events: events(in: run)) }

    /// The longest prefix of `run` that fits into this many bytes, but at least one change.
    func prefix(of run: Range<UInt32>, bytes most: Int) -> Range<UInt32> {
        let limit = start(of: run.lowerBound) + most
        guard start(of: run.upperBound) > limit else { return run }
        var end = run.lowerBound + 1
        while end < run.upperBound, start(of: end + 1) <= limit { end += 1 }
        return run.lowerBound..<end
    }

    /// Everything has been written.
    mutating func clear() {
        changes.removeAll(keepingCapacity: changes.capacity <= 4_096)
        bytes.removeAll(keepingCapacity: bytes.capacity <= 1 << 20)
        laidOut = 0
    }
}
