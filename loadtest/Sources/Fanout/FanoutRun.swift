/// The fan-out scenario: everyone connects, some changes warm up the caches, then every delivery is timed.
///
///     connecting → warming up → measuring → settled
final class FanoutRun: Scenario {
    private enum Phase { case connecting, warmingUp, measuring, settled }

    private let options: FanoutCommand
    private let engine: Engine
    private let crowd: Crowd
    private let dialect: any Dialect
    private let entrance: Entrance

    private var phase = Phase.connecting
    private var receipts: FanoutReceipts
    private var lastChanger: Int
    /// Changes made in this phase.
    private var made = 0
    private var lastProgress = Instant.now()
    private var progress: Progress
    private let processors: FanoutMeasurement.Processors

    init(
        _ options: FanoutCommand, engine: Engine, crowd: Crowd, dialect: any Dialect,
        processors: FanoutMeasurement.Processors
    ) {
        self.options = options
        self.engine = engine
        self.crowd = crowd
        self.dialect = dialect
        self.processors = processors
        let subjects = (0..<crowd.subjects).map(crowd.subject)
        entrance = Entrance(crowd, dialect, engine, rate: options.connectRate) { $0 < subjects.count ? [] : subjects }
        let broadcast = Broadcast(
            changers: crowd.subjects, watchers: crowd.watchers, expectsAnswers: dialect.answersChanges)
        receipts = FanoutReceipts(broadcast, firstWatcher: crowd.subjects)
        lastChanger = crowd.subjects - 1
        progress = Progress(always: options.reporting.progress)
    }

    func finish() { progress.clear() }

    func report() -> FanoutReport {
        FanoutReport(options, receipts.measurement, connections: crowd.total, server: engine.endpoint.url)
    }

    // MARK: - Receiving

    func opened(_ connection: ConnectionID, tag: Int) { becomeReady(if: entrance.opened(connection, tag: tag)) }

    func received(_ message: UnsafeRawBufferPointer, on connection: ConnectionID, tag: Int, at: Instant) {
        guard !receipts.receive(message, tag: tag, at: at) else { return }
        let meanings = dialect.read(message)
        receipts.learn(message, meanings, tag: tag, at: at)
        for meaning in meanings {
            switch meaning {
            case .change: break
            case .acknowledged(let number): acknowledge(number, by: tag, at: at)
            default: becomeReady(if: entrance.receive(meaning, on: connection, tag: tag))
            }
        }
    }

    private func acknowledge(_ number: Int?, by tag: Int, at: Instant) {
        guard tag < crowd.subjects, let intended = receipts.broadcast.acknowledge(number, of: tag), phase == .measuring
        else {
            return
        }
        receipts.measurement.acknowledged.record(at - intended)
    }

    func closed(_ connection: ConnectionID, tag: Int, _ closing: Closing) { entrance.closed(tag, closing) }

    private func becomeReady(if isIn: Bool) {
        guard isIn else { return }
        lastProgress = .now()
        if entrance.isComplete { begin(options.warmUp > 0 ? .warmingUp : .measuring) }
    }

    // MARK: - Making changes

    func tick(now: Instant) -> Instant? {
        if phase == .connecting { entrance.dial(now) }
        if phase == .warmingUp { keepChanging(now, count: options.warmUp, rate: 0) }
        if phase == .measuring { keepChanging(now, count: options.changes, rate: options.rate) }
        progress.show(now: now, describe)
        if let change = receipts.broadcast.invented {
            engine.stop(Failure("\(crowd.subject(Int(change.changer))) shows change \(change.number), never made"))
        }
        lastProgress = max(lastProgress, receipts.latest)
        guard now - lastProgress < .seconds(options.measuring.patience) else {
            timeOut()
            return nil
        }
        return [nextChangeDue(now), phase == .connecting ? entrance.ramp.next(now: now) : nil, progress.due]
            .compactMap { $0 }.reduce(lastProgress + .seconds(options.measuring.patience), min)
    }

    private func begin(_ phase: Phase) {
        self.phase = phase
        made = 0
        receipts.isMeasuring = phase == .measuring
        if phase == .measuring { receipts.measurement.begin(at: .now(), used: processors.used()) }
    }

    private func nextChangeDue(_ now: Instant) -> Instant? {
        guard phase == .measuring, options.rate > 0, made < options.changes else { return nil }
        return receipts.measurement.began + .seconds(Double(made) / options.rate)
    }

    private func keepChanging(_ now: Instant, count: Int, rate: Double) {
        if rate > 0 {
            while made < count, let due = nextChangeDue(now), due <= now {
                change((lastChanger + 1) % crowd.subjects, intended: due, now: now)
            }
        } else {
            // Without a clock: a person whose last change has reached all watchers makes the next, `pending` of them at
            // once.
            while made < count, (receipts.broadcast.awaited + crowd.watchers - 1) / crowd.watchers < options.pending,
                let index = receipts.broadcast.idle(after: lastChanger)
            {
                change(index, intended: now, now: now)
            }
        }
        guard made == count, receipts.broadcast.awaited == 0, receipts.broadcast.unanswered == 0 else { return }
        if phase == .warmingUp { return begin(.measuring) }
        finishMeasuring()
    }

    private func change(_ changer: Int, intended: Instant, now: Instant) {
        lastChanger = changer
        made += 1
        let change = receipts.broadcast.change(of: changer, intended: intended)
        engine.send(dialect.message(change, by: crowd.subject(changer)), on: entrance.connections[changer]!)
        if phase == .measuring { receipts.measurement.sent(late: .now() - intended) }
        lastProgress = now
    }

    private func finishMeasuring() {
        receipts.measurement.end(used: processors.used())
        receipts.measurement.older = receipts.broadcast.older
        phase = .settled
        engine.stop()
    }

    // MARK: - Reporting

    private func timeOut() {
        guard phase != .connecting else {
            return engine.stop(entrance.stuck(patience: options.measuring.patience))
        }
        let unanswered = receipts.broadcast.unanswered
        if unanswered > 0 {
            receipts.measurement.failures.append("\(formatted(unanswered)) changes were never answered")
        }
        for changer in 0..<crowd.subjects where receipts.broadcast.awaited(of: changer) > 0 {
            let missing = receipts.broadcast.missing(of: changer)
            receipts.measurement.failures.append(
                """
                change \(receipts.broadcast.newest(of: changer)) of \(crowd.subject(changer)) never reached \
                \(formatted(missing.count)) of \(formatted(crowd.watchers)) watchers, the first being \
                \(crowd.watcher(missing.first ?? 0))
                """)
        }
        finishMeasuring()
    }

    private func describe() -> String {
        switch phase {
        case .connecting: entrance.description
        case .warmingUp: "warming up"
        case .measuring, .settled:
            "\(formatted(made)) of \(formatted(options.changes)) changes, \(formatted(receipts.measurement.deliveries)) deliveries"
        }
    }
}
