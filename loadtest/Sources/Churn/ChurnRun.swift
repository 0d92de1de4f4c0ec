import PresenceProtocol

/// The churn scenario: people connect and disconnect for a while, then all is quiet, and the shown states are compared.
///
///     churning → settling → asking → done
final class ChurnRun: Scenario {
    enum Phase { case churning, settling, asking, done }

    /// A planned action. A visit's number identifies the visit to which it belongs.
    enum Task {
        case arrive
        case leave(Int, visit: Int)
        case comeBack(Int)
        /// The linger of a lost connection is over: the person may arrive again.
        case beAway(Int)
    }

    let options: ChurnCommand
    let users: NumberedUsers
    let neighbours: [[Int]]
    let engine: Engine
    let mint: TokenMint
    var phase = Phase.churning
    var visitors: [Visitor]
    var truths: [Truth]
    /// The people who may arrive, unordered.
    var away: [Int]
    var here = 0
    var agenda = Agenda<Task>()
    var random: SeededRandom
    var measurement = ChurnMeasurement()
    var cache = EventCache()
    /// The answer of the `get` at the end, by place.
    var asked: [Shown]
    var unansweredGets = 0
    /// From the server's `connected`.
    var linger: Nanoseconds = .seconds(10)
    /// The earliest quiet time: people whose connection was lost go offline only then.
    var quietNotBefore = Instant(nanoseconds: 0)
    var lastReceived = Instant.now()
    private(set) var ends = Instant(nanoseconds: 0)
    private var start: Instant?
    private let processor: ProcessorTime
    private var progress: Progress

    /// No message may arrive for this long before the screens are compared.
    private static let quiet: Nanoseconds = .seconds(2)

    init(
        _ options: ChurnCommand, neighbours: [[Int]], users: NumberedUsers, engine: Engine, mint: TokenMint,
        processor: ProcessorTime
    ) {
        self.options = options
        self.neighbours = neighbours
        self.users = users
        self.engine = engine
        self.mint = mint
        self.processor = processor
        visitors = Array(repeating: Visitor(), count: neighbours.count)
        truths = Array(repeating: Truth(), count: neighbours.count)
        asked = Array(repeating: Shown(), count: neighbours.count)
        away = Array(neighbours.indices)
        random = SeededRandom(seed: options.seed)
        progress = Progress(always: options.reporting.progress)
    }

    func finish() { progress.clear() }

    func report() -> ChurnReport {
        ChurnReport(
            options, measurement, people: neighbours.count, watched: neighbours.reduce(0) { $0 + $1.count })
    }

    // MARK: - The clock

    func tick(now: Instant) -> Instant? {
        if start == nil { begin(now) }
        while let (due, task) = agenda.next(now: now) {
            if phase == .churning { measurement.lateness.record(.now() - due) }
            perform(task, due)
        }
        progress.show(now: now, describe)
        switch phase {
        case .churning:
            if now >= ends { endChurning(now) }
        case .settling: compareOnceQuiet(now)
        case .asking, .done: break
        }
        if now > patienceEnds { timeOut() }
        let settling = phase == .settling ? max(quietAt, now + .milliseconds(20)) : nil
        let churning = phase == .churning ? ends : nil
        return [agenda.first, progress.due, settling, churning].compactMap { $0 }.reduce(patienceEnds + 1, min)
    }

    private func begin(_ now: Instant) {
        start = now
        ends = now + .seconds(options.duration)
        measurement.ownUsed = -ProcessorTime.own()
        measurement.serverUsed = -processor.used()
        agenda.add(.arrive, at: now)
    }

    private var quietAt: Instant { max(quietNotBefore, lastReceived + Self.quiet) }

    private var patienceEnds: Instant { max(lastReceived, ends, quietNotBefore) + .seconds(options.patience) }

    private var isBusy: Bool {
        visitors.contains { visitor in
            if case .opening = visitor.line { return true }
            return visitor.isReturning && visitor.line == .none
        }
    }

    /// Ends the measurement of costs and rates. People who are to return after a lost connection still do.
    private func endChurning(_ now: Instant) {
        measurement.seconds = (now - start!).inSeconds
        measurement.ownUsed += ProcessorTime.own()
        measurement.serverUsed += processor.used()
        phase = .settling
    }

    private func compareOnceQuiet(_ now: Instant) {
        guard now >= quietAt, !isBusy else { return }
        phase = .asking
        dialAsker()
    }

    private func timeOut() {
        let waiting = visitors.indices.first { if case .opening = visitors[$0].line { true } else { false } }
        let who = waiting.map { users.user($0).string } ?? "the get at the end"
        engine.stop(
            Failure(
                "the server stopped answering: nothing for \(formatted(options.patience, digits: 0)) s, and \(who) waits"
            ))
    }

    private func describe() -> String {
        switch phase {
        case .churning:
            "\(formatted(here)) of \(formatted(visitors.count)) people here, \(formatted(measurement.events)) events"
        case .settling: "waiting for quiet"
        case .asking, .done: "comparing"
        }
    }
}
