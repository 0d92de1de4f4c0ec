/// The changes of some people, their recipients, and those who still miss them.
///
/// A receipt costs two reads and two writes of contiguous memory of one watcher: it is recorded for every received
/// message.
struct Broadcast {
    let watchers: Int
    /// Older changes that were shown after newer ones, which must never happen.
    private(set) var older = 0
    /// Pairs of a watcher and a changer whose newest change has not arrived.
    private(set) var awaited = 0
    /// Changes without an answer of the server.
    private(set) var unanswered = 0
    /// A change that was shown but never made.
    private(set) var invented: NumberedChange?

    /// The state of one changer that every receipt reads.
    private struct Changer {
        /// The newest change's number, from 1.
        var newest: Int32 = 0
        /// Watchers who have not received it yet.
        var awaited: Int32 = 0
        /// When it was due to be sent.
        var intended = Instant(nanoseconds: 0)
    }

    private var changers: [Changer]
    /// The due time of change `n`, at `n - 1`.
    private var intended: [[Instant]]
    private var answered: [Int]
    private var sightings: Sightings
    private let expectsAnswers: Bool

    /// A watcher's first receipt of a change.
    struct Receipt: Equatable {
        /// Time since the change was due to be sent.
        var latency: Nanoseconds
        /// Changes of the same person that the watcher was never shown.
        var conflated: Int
    }

    /// - Parameter expectsAnswers: whether the server answers changes.
    init(changers: Int, watchers: Int, expectsAnswers: Bool) {
        self.watchers = watchers
        self.expectsAnswers = expectsAnswers
        self.changers = Array(repeating: Changer(), count: changers)
        intended = Array(repeating: [], count: changers)
        answered = Array(repeating: 0, count: changers)
        sightings = Sightings(watchers: watchers, changers: changers)
    }

    /// Makes the next change of a changer, which every watcher must receive.
    mutating func change(of changer: Int, intended instant: Instant) -> NumberedChange {
        intended[changer].append(instant)
        awaited += watchers - Int(changers[changer].awaited)
        changers[changer].newest += 1
        changers[changer].awaited = Int32(watchers)
        changers[changer].intended = instant
        if expectsAnswers { unanswered += 1 }
        return NumberedChange(changer: Int32(changer), number: changers[changer].newest)
    }

    /// Records that a watcher was shown a change; `nil` if they had it, or a newer one.
    mutating func see(_ change: NumberedChange, by watcher: Int, at: Instant) -> Receipt? {
        let changer = changers[Int(change.changer)]
        guard change.number <= changer.newest else {
            invented = change
            return nil
        }
        switch sightings.see(Int(change.number), of: Int(change.changer), by: watcher) {
        case .again: return nil
        case .older:
            older += 1
            return nil
        case .new(let conflated):
            guard change.number == changer.newest else {
                let intended = intended[Int(change.changer)][Int(change.number) - 1]
                return Receipt(latency: at - intended, conflated: conflated)
            }
            changers[Int(change.changer)].awaited -= 1
            awaited -= 1
            return Receipt(latency: at - changer.intended, conflated: conflated)
        }
    }

    /// Records the server's answer to a change, by default to the oldest unanswered one. Returns when the change was
    /// due to be sent.
    mutating func acknowledge(_ number: Int?, of changer: Int) -> Instant? {
        let number = number ?? answered[changer] + 1
        guard (1...intended[changer].count).contains(number) else { return nil }
        answered[changer] += 1
        unanswered -= 1
        return intended[changer][number - 1]
    }

    func newest(of changer: Int) -> Int { Int(changers[changer].newest) }

    /// The number of watchers who lack the newest change of a changer.
    func awaited(of changer: Int) -> Int { Int(changers[changer].awaited) }

    /// The watchers who lack it.
    func missing(of changer: Int) -> [Int] { sightings.missing(newest(of: changer), of: changer) }

    /// Whether this watcher has the newest change of all changers.
    func isUpToDate(_ watcher: Int) -> Bool {
        changers.indices.allSatisfy { sightings.newest(of: $0, by: watcher) == Int(changers[$0].newest) }
    }

    /// The next changer after `last` without a pending change.
    func idle(after last: Int) -> Int? {
        (1...changers.count).lazy.map { (last + $0) % self.changers.count }.first { self.changers[$0].awaited == 0 }
    }
}
