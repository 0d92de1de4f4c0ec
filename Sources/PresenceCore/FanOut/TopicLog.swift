import DequeModule

/// The newest entries of one topic, in order and without holes, each framed once for all who watch.
///
///     1 … first - 1        only the feature's store has them
///     first … last         in memory: the ring
///                          of these, the entries of this turn that are not laid out yet are those after `turnAfter`
///
/// A watcher that is written each turn costs nothing here. One that is not costs one number: where it stands.
package final class TopicLog {
    /// The newest entry; 0 before there is one.
    private(set) var last: Int64 = 0
    private var entries = Deque<[UInt8]>()
    /// Of the ring.
    private(set) var bytes = 0
    /// Whether it is known where the log stands. The first that is heard of it decides.
    private(set) var isPlaced = false
    /// This turn's entries that are not laid out yet are those after this one.
    private var turnAfter: Int64?
    /// Bytes of these entries.
    private var turnBytes = 0

    // Where watchers stand that are not written each turn, by their index: the last entry that they have. A watcher is in
    // one of the three at most.
    /// The topic stands in what these keep (`Line.kept`), and the entries follow from the ring.
    var behind: [UInt32: Int64] = [:]
    /// These need entries that the ring no longer has, and wait for the feature's answer.
    var asked: [UInt32: CatchUp] = [:]
    /// These have entries that this shard has not heard of yet.
    var ahead: [UInt32: Int64] = [:]

    /// Outlives it: both belong to `Watchers`.
    private unowned let memory: LogMemory
    /// Where `LogMemory` has it; `nil` while the ring is empty.
    var place: Int?
    /// Whether it is to be looked at when the turn ends.
    var isNoted = false

    /// A second of a busy topic, and more than a page that a feature reads at once.
    static let mostEntries = 256
    /// With entries of some 200 bytes the number is reached first; long ones do not make a ring long.
    static let mostBytes = 256 * 1024
    /// So much of a log is laid out as one change, which is written whole: as much as one write shall be.
    static let mostAtOnce = 64 * 1024
    /// What an array of bytes and its place cost beside the bytes.
    private static let overhead = 40

    init(_ memory: LogMemory) { self.memory = memory }

    /// The oldest entry in memory; `last + 1` when there is none.
    package var first: Int64 { last + 1 - Int64(entries.count) }
    var count: Int { entries.count }
    var hasCursors: Bool { !behind.isEmpty || !asked.isEmpty || !ahead.isEmpty }

    /// The frame of an entry in memory.
    package subscript(_ sequence: Int64) -> [UInt8] { entries[Int(sequence - first)] }

    // MARK: Entries

    /// What became of an entry.
    package enum Outcome: Equatable {
        case appended
        /// It is not newer than what the log has.
        case known
        /// Entries after this one, up to the one before it, are not here: it was not taken. They must be read, and it
        /// with them.
        case hole(after: Int64)
    }

    /// What `append` would say.
    func judge(_ sequence: Int64) -> Outcome {
        // Entries are numbered from 1: less is no entry, whatever the store says.
        guard sequence > 0 else { return .known }
        if !isPlaced || sequence == last + 1 { return .appended }
        return sequence <= last ? .known : .hole(after: last)
    }

    /// The store's log ends here. Says what `append` would have said of its last entry.
    func note(last end: Int64) -> Outcome {
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

    /// The entry that was appended last is to be laid out at the end of the turn.
    func enterTurn() {
        if turnAfter == nil { turnAfter = last - 1 }
        turnBytes += entries[entries.count - 1].count
    }

    /// Whether the entries that wait to be laid out shall not become more.
    func isFull(with frame: [UInt8]) -> Bool { turnAfter != nil && turnBytes + frame.count > Self.mostAtOnce }

    /// Appends the frames that wait for it; the sequence numbers before the first and of the last.
    func layOut(into bytes: inout [UInt8]) -> Range<Int64> {
        let after = turnAfter ?? last
        for index in Int(after + 1 - first)..<entries.count { bytes += entries[index] }
        (turnAfter, turnBytes) = (nil, 0)
        return after..<last
    }

    // MARK: Watchers

    /// From now on `connection` stands after this entry; false if it stands somewhere already.
    func fallBehind(_ connection: UInt32, after sequence: Int64) -> Bool {
        guard behind[connection] == nil else { return false }
        behind[connection] = sequence
        return true
    }

    /// It does not watch any more, or begins anew.
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

    /// The store's log ends with this entry, and what was held is not to be relied on: nobody stands anywhere.
    func restart(at end: Int64) {
        discard()
        (behind, asked, ahead) = ([:], [:], [:])
        (turnAfter, turnBytes) = (nil, 0)
        (last, isPlaced) = (end, true)
    }

    /// The topic has gone.
    func discard() {
        while !entries.isEmpty { drop() }
    }
}

/// What the logs of a shard hold in memory, together within a bound.
final class LogMemory {
    /// Logs with entries, dense.
    private var logs: [TopicLog] = []
    /// To be looked at when the turn ends.
    private var noted: [TopicLog] = []
    /// Who gives next when all together hold too much.
    private var hand = 0
    private(set) var entries = 0
    private(set) var bytes = 0

    /// The longest rings of 256 busy topics; the entries of others are read again from the store when they are needed.
    var most = 64 << 20

    func grew(_ log: TopicLog, by bytes: Int) {
        if log.place == nil {
            log.place = logs.count
            logs.append(log)
        }
        if !log.isNoted {
            log.isNoted = true
            noted.append(log)
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

    /// The turn is over: nobody needs what it brought in any case. Logs in turn give half of what they hold until
    /// together they hold as much as they may; each step frees something.
    func trim() {
        for log in noted {
            log.isNoted = false
            log.trim()
        }
        noted.removeAll(keepingCapacity: noted.capacity <= 4_096)
        while bytes > most, !logs.isEmpty {
            if hand >= logs.count { hand = 0 }
            logs[hand].dropHalf()
            hand += 1
        }
    }
}
