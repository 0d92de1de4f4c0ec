/// The connect scenario: first the watched people connect, then all others as fast as allowed.
///
/// pool connects → clients connect → settled
final class ConnectRun: Scenario {
    private enum Phase { case pool, clients, settled }

    private let options: ConnectCommand
    private let engine: Engine
    private let crowd: Crowd
    private let dialect: any Dialect
    private let entrance: Entrance
    private let processor: ProcessorTime
    private let redis: ProcessorTime?
    private var cache = ChangeCache()
    private var phase = Phase.pool
    private(set) var measurement: ConnectMeasurement
    private var lastProgress = Instant.now()
    private var progress: Progress

    init(
        _ options: ConnectCommand, engine: Engine, crowd: Crowd, dialect: any Dialect, processor: ProcessorTime,
        redis: ProcessorTime?
    ) {
        self.options = options
        self.engine = engine
        self.crowd = crowd
        self.dialect = dialect
        self.processor = processor
        self.redis = redis
        let gathering = options.gathering
        entrance = Entrance(crowd, dialect, engine, rate: gathering.rate, atOnce: gathering.atOnce) { tag in
            guard tag >= crowd.subjects else { return [] }
            return gathering.watched(by: tag - crowd.subjects, in: crowd, count: gathering.watching)
        }
        measurement = ConnectMeasurement(step: options.step, processor: processor, redis: redis, at: .now())
        progress = Progress(always: options.reporting.progress)
    }

    func finish() { progress.clear() }

    func opened(_ connection: ConnectionID, tag: Int) {
        enter(tag, if: entrance.opened(connection, tag: tag), at: .now())
    }

    func received(_ message: UnsafeRawBufferPointer, on connection: ConnectionID, tag: Int, at: Instant) {
        // Events of people who connect, if the clients watch each other.
        guard cache.find(message) == nil else { return }
        let meanings = dialect.read(message)
        if meanings.isEmpty { cache.remember(message, as: ChangeCache.nothing) }
        for meaning in meanings { enter(tag, if: entrance.receive(meaning, on: connection, tag: tag), at: at) }
    }

    func closed(_ connection: ConnectionID, tag: Int, _ closing: Closing) { entrance.closed(tag, closing) }

    private func enter(_ tag: Int, if isIn: Bool, at: Instant) {
        guard isIn else { return }
        lastProgress = at
        guard phase == .clients else { return }
        measurement.connected(after: at - entrance.intended[tag], at: at, isLast: entrance.isComplete)
        if entrance.isComplete {
            phase = .settled
            engine.stop()
        }
    }

    func tick(now: Instant) -> Instant? {
        if phase == .pool, entrance.ready == crowd.subjects {
            phase = .clients
            entrance.restart(now)
            measurement = ConnectMeasurement(step: options.step, processor: processor, redis: redis, at: now)
        }
        dial(now)
        progress.show(now: now) { entrance.description }
        let patience = Nanoseconds.seconds(options.measuring.patience)
        if now - lastProgress >= patience { engine.stop(entrance.stuck(patience: options.measuring.patience)) }
        return [entrance.ramp.next(now: now), progress.due].compactMap { $0 }.reduce(lastProgress + patience, min)
    }

    private func dial(_ now: Instant) {
        let before = entrance.ramp.begun
        entrance.dial(now, upTo: phase == .pool ? crowd.subjects : .max)
        guard phase == .clients, options.gathering.rate > 0 else { return }
        for tag in before..<entrance.ramp.begun { measurement.lateness.record(now - entrance.intended[tag]) }
    }
}
