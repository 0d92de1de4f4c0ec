/// The slow scenario. The last watchers are the slow ones.
///
/// connecting → warming up → all read → through → some do not read → they read again → settled
final class SlowRun: Scenario {
    private enum Phase { case connecting, warmingUp, allRead, through, someDoNot, catchingUp, settled }

    private let options: SlowCommand
    private let engine: Engine
    private let crowd: Crowd
    private let dialect: any Dialect
    private let entrance: Entrance
    private let gauges: SlowGauges
    private var cache = ChangeCache()
    private var broadcast: Broadcast
    private var phase = Phase.connecting
    /// Bursts made in this phase.
    private var bursts = 0
    private var resumed = Instant(nanoseconds: 0)
    /// Slow watchers that read again and lack the newest change of someone.
    private var behind: Set<Int> = []
    private(set) var measurement = SlowMeasurement()
    private var lastProgress = Instant.now()
    private var progress: Progress

    /// For a peer that does not keep the newest changes, its slow clients are done after this time without a message.
    private static let silence = Nanoseconds.seconds(1)

    init(_ options: SlowCommand, engine: Engine, crowd: Crowd, dialect: any Dialect, gauges: SlowGauges) {
        self.options = options
        self.engine = engine
        self.crowd = crowd
        self.dialect = dialect
        self.gauges = gauges
        let subjects = (0..<crowd.subjects).map(crowd.subject)
        entrance = Entrance(crowd, dialect, engine, rate: options.connectRate) { $0 < subjects.count ? [] : subjects }
        let firstSlow = crowd.total - options.slow
        entrance.receiveBuffer = { $0 >= firstSlow && options.receiveBuffer > 0 ? options.receiveBuffer : nil }
        broadcast = Broadcast(
            changers: crowd.subjects, watchers: crowd.watchers, expectsAnswers: dialect.answersChanges)
        progress = Progress(always: options.reporting.progress)
    }

    func finish() { progress.clear() }

    /// The slow watchers.
    private var slow: Range<Int> { crowd.watchers - options.slow..<crowd.watchers }

    // MARK: - Receiving

    func opened(_ connection: ConnectionID, tag: Int) { enter(if: entrance.opened(connection, tag: tag)) }

    func received(_ message: UnsafeRawBufferPointer, on connection: ConnectionID, tag: Int, at: Instant) {
        if let change = cache.find(message) { return see(change, tag: tag, at: at) }
        let meanings = dialect.read(message)
        if meanings.isEmpty { cache.remember(message, as: ChangeCache.nothing) }
        for meaning in meanings {
            switch meaning {
            case .change(let change):
                measurement.messageBytes = message.count
                if meanings.count == 1 { cache.remember(message, as: change) }
                see(change, tag: tag, at: at)
            case .acknowledged(let number):
                if tag < crowd.subjects { _ = broadcast.acknowledge(number, of: tag) }
            default: enter(if: entrance.receive(meaning, on: connection, tag: tag))
            }
        }
    }

    private func enter(if isIn: Bool) {
        if isIn { lastProgress = .now() }
    }

    private func see(_ change: NumberedChange, tag: Int, at: Instant) {
        let watcher = tag - crowd.subjects
        guard change != ChangeCache.nothing, watcher >= 0, let receipt = broadcast.see(change, by: watcher, at: at)
        else { return }
        lastProgress = at
        switch phase {
        // A change that arrives after its phase still counts for that phase.
        case .allRead, .through, .someDoNot: count(receipt, by: watcher)
        case .catchingUp where watcher < slow.lowerBound: count(receipt, by: watcher)
        case .catchingUp: caughtUp(watcher, receipt)
        case .connecting, .warmingUp, .settled: break
        }
    }

    private func count(_ receipt: Broadcast.Receipt, by watcher: Int) {
        let place = measurement.phases.count - 1
        measurement.phases[place].deliveries += 1
        measurement.phases[place].conflated += receipt.conflated
        if watcher < slow.lowerBound { measurement.phases[place].latencies.record(receipt.latency) }
    }

    private func caughtUp(_ watcher: Int, _ receipt: Broadcast.Receipt) {
        guard behind.contains(watcher) else { return }
        measurement.caughtUpDeliveries += 1
        measurement.caughtUpConflated += receipt.conflated
        guard broadcast.isUpToDate(watcher) else { return }
        behind.remove(watcher)
        measurement.upToDate += 1
    }

    func closed(_ connection: ConnectionID, tag: Int, _ closing: Closing) {
        let watcher = tag - crowd.subjects
        guard slow.contains(watcher), phase == .someDoNot || phase == .catchingUp else {
            return entrance.closed(tag, closing)
        }
        behind.remove(watcher)
        measurement.closed += 1
        measurement.firstClosing = measurement.firstClosing ?? closing
    }

    // MARK: - The phases

    func tick(now: Instant) -> Instant? {
        do throws(Failure) {
            // A phase may end as it begins.
            var before: Phase
            repeat {
                before = phase
                try proceed(now)
            } while phase != before
        } catch {
            engine.stop(error)
        }
        progress.show(now: now, describe)
        if let change = broadcast.invented {
            engine.stop(Failure("\(crowd.subject(Int(change.changer))) shows change \(change.number), never made"))
        }
        let patience = Nanoseconds.seconds(options.measuring.patience)
        if now - lastProgress >= patience { try? timeOut() }
        let silent = phase == .catchingUp && !dialect.keepsNewest ? lastProgress + Self.silence : nil
        return [nextBurstDue, phaseEnd, entrance.ramp.next(now: now), silent, progress.due].compactMap { $0 }
            .reduce(lastProgress + patience, min)
    }

    private func proceed(_ now: Instant) throws(Failure) {
        switch phase {
        case .connecting:
            entrance.dial(now)
            guard entrance.isComplete else { return }
            burst(intended: now, now)
            phase = .warmingUp
        case .warmingUp: if isThrough { try begin(.allRead) }
        case .allRead:
            changeWhenDue(now)
            guard let end = phaseEnd, now >= end else { return }
            try endPhase()
            phase = .through
        case .through where isThrough:
            for watcher in slow { engine.pause(entrance.connections[crowd.subjects + watcher]!) }
            try begin(.someDoNot)
        case .someDoNot:
            changeWhenDue(now)
            guard let end = phaseEnd, now >= end else { return }
            try endPhase()
            readAgain(now)
        case .catchingUp:
            let isSilent = !dialect.keepsNewest && now - lastProgress >= Self.silence
            if behind.isEmpty && readersAreUpToDate || isSilent { try finishMeasuring(now) }
        case .through, .settled: break
        }
    }

    private var readersAreUpToDate: Bool { (0..<slow.lowerBound).allSatisfy(broadcast.isUpToDate) }
    private var isThrough: Bool { broadcast.awaited == 0 && broadcast.unanswered == 0 }

    private func begin(_ phase: Phase) throws(Failure) {
        self.phase = phase
        bursts = 0
        measurement.phases.append(SlowPhase(began: try gauges.read()))
        lastProgress = .now()
    }

    private func endPhase() throws(Failure) {
        measurement.phases[measurement.phases.count - 1].ended = try gauges.read()
    }

    /// The end of the phase that lasts a fixed time.
    private var phaseEnd: Instant? {
        guard phase == .allRead || phase == .someDoNot else { return nil }
        return measurement.phases.last.map { $0.began.at + .seconds(options.seconds) }
    }

    private var nextBurstDue: Instant? {
        guard let end = phaseEnd, let phase = measurement.phases.last else { return nil }
        let due = phase.began.at + .seconds(Double(bursts * options.people) / options.rate)
        return due < end ? due : nil
    }

    private func changeWhenDue(_ now: Instant) {
        while let due = nextBurstDue, due <= now {
            bursts += 1
            burst(intended: due, now)
            measurement.phases[measurement.phases.count - 1].lateness.record(.now() - due)
        }
    }

    private func burst(intended: Instant, _ now: Instant) {
        for changer in 0..<crowd.subjects {
            let change = broadcast.change(of: changer, intended: intended)
            engine.send(dialect.message(change, by: crowd.subject(changer)), on: entrance.connections[changer]!)
        }
        lastProgress = now
    }

    private func readAgain(_ now: Instant) {
        phase = .catchingUp
        resumed = now
        lastProgress = now
        for watcher in slow where !broadcast.isUpToDate(watcher) { behind.insert(watcher) }
        measurement.upToDate = slow.count - behind.count
        for watcher in slow { engine.resume(entrance.connections[crowd.subjects + watcher]!) }
    }

    private func finishMeasuring(_ now: Instant) throws(Failure) {
        measurement.catchingUp = lastProgress - resumed
        measurement.older = broadcast.older
        if dialect.keepsNewest, !behind.isEmpty {
            measurement.failures.append(
                "\(formatted(behind.count)) slow readers never received the newest change of everyone")
        }
        phase = .settled
        engine.stop()
    }

    private func timeOut() throws(Failure) {
        switch phase {
        case .connecting: engine.stop(entrance.stuck(patience: options.measuring.patience))
        case .catchingUp: try finishMeasuring(lastProgress)
        default:
            let lacking = formatted(broadcast.awaited)
            engine.stop(
                Failure("no more messages arrived, with \(lacking) changes on their way to watchers who were reading"))
        }
    }

    private func describe() -> String {
        switch phase {
        case .connecting: entrance.description
        case .warmingUp: "warming up"
        case .allRead, .through: "all read, \(formatted(bursts)) bursts"
        case .someDoNot: "\(formatted(options.slow)) do not read, \(formatted(bursts)) bursts"
        case .catchingUp, .settled: "\(formatted(behind.count)) still behind"
        }
    }
}
