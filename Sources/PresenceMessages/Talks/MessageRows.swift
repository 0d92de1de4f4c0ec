import Foundation

/// The messages of a conversation as its loops get them: the server's, then those being sent, with pending changes.
///
/// A change touches its own rows only. So that a loop need not compare whole lists either, each value knows for its last
/// changes which rows at the beginning and at the end stayed the same. A copy is an element of the loops.
struct MessageRows: Sendable {
    /// The rows outside of a change: as many at the beginning and at the end are the same in both lists.
    struct Unchanged: Sendable {
        var beginning: Int
        var end: Int

        mutating func combine(_ other: Unchanged) {
            beginning = min(beginning, other.beginning)
            end = min(end, other.end)
        }
    }

    /// A loop that missed more changes than this compares the whole lists.
    static let maximumLog = 32

    private(set) var messages: [Message] = []
    /// Whether they come from the device, and the server has not confirmed them since.
    private(set) var isStale = false
    /// The number of messages that the server has; those being sent follow.
    private var held = 0
    /// Counts the changes.
    private var revision = 0
    /// One for each of the last changes, oldest first.
    private var log: [Unchanged] = []
    /// The rows with a pending change, by the id of the message.
    private var pending: Set<String> = []
    /// The rows that were made or compared, for the tests of the cost.
    private(set) var rowsTouched = 0

    // MARK: Changing

    /// Takes over a conversation's changes, and the outbox.
    ///
    /// - Parameters:
    ///   - unsent: the messages that the server does not have.
    ///   - changes: those of the conversation that the server has not made, in order.
    mutating func update(_ talk: inout Talk, unsent: [Message], changes: [MessageChange], at date: Date) {
        let byMessage = Dictionary(grouping: changes) { $0.messageId ?? "" }
        func row(_ message: Message) -> Message {
            (byMessage[message.id] ?? []).reduce(into: message) { $1.apply(to: &$0) }
        }
        let formerCount = messages.count
        var unchanged = Unchanged(beginning: formerCount, end: formerCount)
        switch talk.takeTouched() {
        case .all:
            let newer = talk.shown(at: date).map(row)
            unchanged.combine(replace(0..<held, with: newer))
        case .some(var numbers):
            numbers.formUnion(pending.union(byMessage.keys).compactMap(talk.number(of:)))
            for number in numbers.sorted() {
                guard let message = talk.shown(number, at: date) else { continue }
                let index = self.index(of: number)
                let isHeld = index < held && messages[index].sequence == number
                unchanged.combine(replace(index..<(isHeld ? index + 1 : index), with: [row(message)]))
            }
        }
        pending = Set(byMessage.keys)
        unchanged.combine(replace(held..<messages.count, with: unsent.map(row), isHeld: false))
        guard unchanged.beginning < formerCount || messages.count != formerCount || isStale != talk.isStale else {
            return
        }
        isStale = talk.isStale
        // Rows that stayed are counted once, also if all of them did.
        unchanged.end = min(unchanged.end, formerCount - unchanged.beginning)
        revision += 1
        log.append(unchanged)
        if log.count > Self.maximumLog { log.removeFirst() }
    }

    /// Replaces rows, except equal ones at both ends of the range.
    private mutating func replace(_ range: Range<Int>, with rows: [Message], isHeld: Bool = true) -> Unchanged {
        if isHeld { held += rows.count - range.count }
        rowsTouched += max(rows.count, range.count)
        let most = min(rows.count, range.count)
        var beginning = 0
        while beginning < most, messages[range.lowerBound + beginning] == rows[beginning] { beginning += 1 }
        var end = 0
        while end < most - beginning, messages[range.upperBound - 1 - end] == rows[rows.count - 1 - end] { end += 1 }
        let after = messages.count - range.upperBound
        let changed = range.lowerBound + beginning..<range.upperBound - end
        guard !changed.isEmpty || beginning + end < rows.count else {
            return Unchanged(beginning: messages.count, end: messages.count)
        }
        messages.replaceSubrange(changed, with: rows[beginning..<rows.count - end])
        return Unchanged(beginning: range.lowerBound + beginning, end: after + end)
    }

    /// The place of a message of the server, by its number.
    private func index(of number: Int64) -> Int {
        // Most often it is the newest.
        if held == 0 || messages[held - 1].sequence! < number { return held }
        var (low, high) = (0, held)
        while low < high {
            let middle = (low + high) / 2
            if messages[middle].sequence! < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    // MARK: Comparing

    /// The rows of both lists that can differ; all of them without a former list.
    func differing(from former: MessageRows?) -> (former: ArraySlice<Message>, newer: ArraySlice<Message>) {
        guard let former else { return ([], messages[...]) }
        let missed = revision - former.revision
        guard missed <= log.count else { return (former.messages[...], messages[...]) }
        guard missed > 0 else { return ([], []) }
        var unchanged = Unchanged(beginning: .max, end: .max)
        for change in log.suffix(missed) { unchanged.combine(change) }
        return (
            former.messages[unchanged.beginning..<former.messages.count - unchanged.end],
            messages[unchanged.beginning..<messages.count - unchanged.end]
        )
    }
}

/// Values of one conversation differ if there was a change between them.
extension MessageRows: Equatable {
    static func == (one: MessageRows, other: MessageRows) -> Bool { one.revision == other.revision }
}
