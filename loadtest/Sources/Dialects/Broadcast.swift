/// The changes of some people, who gets them, and who still has to.
///
/// A receipt costs two reads and two writes of memory that lies together for one watcher: this is what is done for
/// every message that is received.
struct Broadcast {
    let watchers: Int
    /// Older changes shown after newer ones, which must never be.
    private(set) var older = 0
    /// Pairs of a watcher and a changer whose newest change has not come.
    private(set) var awaited = 0
    /// Changes that the server has not answered.
    private(set) var unanswered = 0
    /// A change that was shown and never made.
    private(set) var invented: NumberedChange?

    /// What is asked for every receipt, of one changer.
    private struct Changer {
        /// The newest change's number, from 1.
        var newest: Int32 = 0
        /// Watchers who do not have it yet.
        var awaited: Int32 = 0
        /// When it was meant to be sent.
        var intended = Instant(nanoseconds: 0)
    }

    private var changers: [Changer]
    /// When change `n` was meant to be sent, at `n - 1`.
    private var intended: [[Instant]]
    private var answered: [Int]
    private var sightings: Sightings
    private let expectsAnswers: Bool

    /// A watcher's first sight of a change.
    struct Receipt: Equatable {
        /// Since the change was meant to be sent.
        var latency: Nanoseconds
        /// Changes of the same person that the watcher was never shown.
        var conflated: Int
    }

    /// - Parameter expectsAnswers: the server answers a change.
    init(changers: Int, watchers: Int, expectsAnswers: Bool) {
        self.watchers = watchers
        self.expectsAnswers = expectsAnswers
        self.changers = Array(repeating: Changer(), count: changers)
        intended = Array(repeating: [], count: changers)
        answered = Array(repeating: 0, count: changers)
        sightings = Sightings(watchers: watchers, changers: changers)
    }

    /// Makes somebody's next change, which every watcher is to get.
    mutating func change(of changer: Int, intended instant: Instant) -> NumberedChange {
        intended[changer].append(instant)
        awaited += watchers - Int(changers[changer].awaited)
        changers[changer].newest += 1
        changers[changer].awaited = Int32(watchers)
        changers[changer].intended = instant
        if expectsAnswers { unanswered += 1 }
        return NumberedChange(changer: Int32(changer), number: changers[changer].newest)
    }

    /// A watcher is shown a change; `nil` if they had it, or a newer one.
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

    /// The server has answered a change of somebody, the oldest unless it says which; returns when it was meant to be
    /// sent.
    mutating func acknowledge(_ number: Int?, of changer: Int) -> Instant? {
        let number = number ?? answered[changer] + 1
        guard (1...intended[changer].count).contains(number) else { return nil }
        answered[changer] += 1
        unanswered -= 1
        return intended[changer][number - 1]
    }

    func newest(of changer: Int) -> Int { Int(changers[changer].newest) }

    /// Watchers who lack the newest change of somebody, as counted.
    func awaited(of changer: Int) -> Int { Int(changers[changer].awaited) }

    /// And by name.
    func missing(of changer: Int) -> [Int] { sightings.missing(newest(of: changer), of: changer) }

    /// Whether this watcher holds the newest of everybody.
    func isUpToDate(_ watcher: Int) -> Bool {
        changers.indices.allSatisfy { sightings.newest(of: $0, by: watcher) == Int(changers[$0].newest) }
    }

    /// The next in turn after `last` who has nothing under way.
    func idle(after last: Int) -> Int? {
        (1...changers.count).lazy.map { (last + $0) % self.changers.count }.first { self.changers[$0].awaited == 0 }
    }
}
