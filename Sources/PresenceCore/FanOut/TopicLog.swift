import DequeModule

/// The newest entries of one topic, in order and without gaps, each framed once for all watchers.
///
///     1 … first - 1        only in the feature's store
///     first … last         in memory: the ring
///                          of these, the entries after `turnAfter` belong to this turn and are not laid out yet
///
/// A watcher that is written to in each turn costs nothing here. Any other watcher costs one number: its position.
package final class TopicLog {
    /// The newest entry; 0 before there is one.
    private(set) var last: Int64 = 0
    private var entries = Deque<[UInt8]>()
    /// The size of the ring's entries, in bytes.
    private(set) var bytes = 0
    /// Whether the log's position is known. The first entry or end that arrives determines it.
    private(set) var isPlaced = false
    /// The entries after this one belong to this turn and are not laid out yet.
    private var turnAfter: Int64?
    /// The size of this turn's entries.
    private var turnBytes = 0

    // The positions of watchers that are not written to in each turn, by index: the last entry that each has. A watcher
    // is in at most one of the three.
    /// The topic is among their kept ones (`Line.kept`), and the entries follow from the ring.
    var behind: [UInt32: Int64] = [:]
    /// These need entries that are no longer in the ring, and wait for the feature.
    var asked: [UInt32: CatchUp] = [:]
    /// These have entries that have not arrived on this shard yet.
    var ahead: [UInt32: Int64] = [:]

    /// Outlives it: both belong to `Watchers`.
    private unowned let memory: LogMemory
    /// Its index in `LogMemory`; `nil` while the ring is empty.
    var place: Int?
    /// Whether it is in the list of logs to trim when the turn ends.
    var isGrowing = false

    /// A second of a busy topic, and more than a page that a feature reads at once.
    static let mostEntries = 256
    /// With entries of some 200 bytes the limit of entries applies first; this limit bounds rings of long entries.
    static let mostBytes = 256 * 1024
    /// The most of a log that is laid out as one change, which is written whole: the size of one write.
    static let mostAtOnce = 64 * 1024
    /// The memory for an array of bytes and its slot, beside the bytes.
    private static let overhead = 40

    init(_ memory: LogMemory) { self.memory = memory }

    /// The oldest entry in memory; `last + 1` when there is none.
    package var first: Int64 { last + 1 - Int64(entries.count) }
    var count: Int { entries.count }
    var hasCursors: Bool { !behind.isEmpty || !asked.isEmpty || !ahead.isEmpty }

    /// The frame of an entry in memory.
    package subscript(_ sequence: Int64) -> [UInt8] { entries[Int(sequence - first)] }

    // MARK: Entries

    /// The outcome for an entry.
    package enum Outcome: Equatable {
        case appended
        /// It is not newer than the log.
        case known
        /// Entries between this number and the given one are missing here, so the entry was not appended. All of them must be
        /// read.
        case hole(after: Int64)
    }

    /// The outcome that `append` would return.
    func judge(_ sequence: Int64) -> Outcome {
        // Entries are numbered from 1: a smaller number is no entry, even if the store returned it.
        guard sequence > 0 else { return .known }
        if !isPlaced || sequence == last + 1 { return .appended }
        return sequence <= last ? .known : .hole(after: last)
    }

    /// Notes the end of the store's log. Returns the outcome that `append` would have for the store's last entry.
    func record(last end: Int64) -> Outcome {
        guard isPlaced else {
            (last, isPlaced) = (end, true)
            return .known
        }
        return end <= last ? .known : .hole(after: last)
    }

    func append(_ frame: [UInt8], _ sequence: Int64) {
        (last, isPlaced) = (sequence, true)
        entries.append(frame)
        bytes += frame.count + Self.overhead
        memory.grew(self, by: frame.count + Self.overhead)
    }

    /// Adds the entry that was appended last to those laid out at the end of the turn.
    func enterTurn() {
        if turnAfter == nil { turnAfter = last - 1 }
        turnBytes += entries[entries.count - 1].count
    }

    /// Whether this frame would make the entries to be laid out too large.
    func isFull(with frame: [UInt8]) -> Bool { turnAfter != nil && turnBytes + frame.count > Self.mostAtOnce }

    /// Appends the frames to be laid out; returns the sequence numbers before the first and of the last.
    func layOut(into bytes: inout [UInt8]) -> Range<Int64> {
        let after = turnAfter ?? last
        for index in Int(after + 1 - first)..<entries.count { bytes += entries[index] }
        (turnAfter, turnBytes) = (nil, 0)
        return after..<last
    }

    // MARK: Watchers

    /// Records that `connection` has the entries up to this one; false if it already has a position.
    func fallBehind(_ connection: UInt32, after sequence: Int64) -> Bool {
        guard behind[connection] == nil else { return false }
        behind[connection] = sequence
        return true
    }

    /// The connection no longer watches, or starts again.
    func forget(_ connection: UInt32) {
        guard hasCursors else { return }
        behind[connection] = nil
        asked[connection] = nil
        ahead[connection] = nil
    }

    // MARK: Memory

    /// At the end of a turn, when everyone has been written to.
    func trim() {
        while entries.count > Self.mostEntries || bytes > Self.mostBytes { drop() }
    }

    func dropHalf() {
        for _ in 0..<(entries.count + 1) / 2 { drop() }
    }

    private func drop() {
        guard let oldest = entries.popFirst() else { return }
        bytes -= oldest.count + Self.overhead
        memory.shrank(self, by: oldest.count + Self.overhead)
    }

    /// The store's log ends with this entry, and the entries in memory are invalid: all positions are dropped.
    func restart(at end: Int64) {
        discard()
        (behind, asked, ahead) = ([:], [:], [:])
        (turnAfter, turnBytes) = (nil, 0)
        (last, isPlaced) = (end, true)
    }

    /// The topic was discarded.
    func discard() {
        while !entries.isEmpty { drop() }
    }
}

/// The memory of all logs of a shard, with a common bound.
final class LogMemory {
    /// Logs with entries, dense.
    private var logs: [TopicLog] = []
    /// To be trimmed when the turn ends.
    private var growing: [TopicLog] = []
    /// The next log to be trimmed when the bound is exceeded.
    private var hand = 0
    private(set) var entries = 0
    private(set) var bytes = 0

    /// Enough for the longest rings of 256 busy topics; entries of other topics are read from the store when needed.
    var most = 64 << 20

    func grew(_ log: TopicLog, by bytes: Int) {
        if log.place == nil {
            log.place = logs.count
            logs.append(log)
        }
        if !log.isGrowing {
            log.isGrowing = true
            growing.append(log)
        }
        entries += 1
        self.bytes += bytes
    }

    func shrank(_ log: TopicLog, by bytes: Int) {
        entries -= 1
        self.bytes -= bytes
        guard log.count == 0, let place = log.place else { return }
        let moved = logs.removeLast()
        if moved !== log {
            logs[place] = moved
            moved.place = place
        }
        log.place = nil
    }

    /// The turn is over, so its entries are no longer needed in memory. One log after the other drops half of its
    /// entries until the bound is met; each step frees something.
    func trim() {
        for log in growing {
            log.isGrowing = false
            log.trim()
        }
        growing.removeAll(keepingCapacity: growing.capacity <= 4_096)
        while bytes > most, !logs.isEmpty {
            if hand >= logs.count { hand = 0 }
            logs[hand].dropHalf()
            hand += 1
        }
    }
}
