/// The idle scenario.
///
/// pool connects → clients connect → settling → quiet → further subscriptions → settling → settled
final class IdleRun: Scenario {
    private enum Phase { case pool, clients, settling, quiet, subscribing, resting, settled }

    /// The readings: before the clients, at both ends of the quiet time, and after the further subscriptions.
    struct Readings {
        var empty: IdleReading?
        var quietBegan: IdleReading?
        var quietEnded: IdleReading?
        var watchingMore: IdleReading?
    }

    private let options: IdleCommand
    private let engine: Engine
    private let crowd: Crowd
    private let dialect: any Dialect
    private let entrance: Entrance
    private let gauges: IdleGauges
    private var cache = ChangeCache()
    private var phase = Phase.pool
    /// The end of a phase that only waits.
    private var due: Instant?
    /// Clients that were told to watch more.
    private var asked = 0
    private(set) var readings = Readings()
    private var lastProgress = Instant.now()
    private var progress: Progress

    /// Subscriptions in flight at a time. Bytes that wait in the server's buffers do not belong to a subscription's
    /// cost.
    private static let subscribingAtOnce = 16

    init(_ options: IdleCommand, engine: Engine, crowd: Crowd, dialect: any Dialect, gauges: IdleGauges) {
        self.options = options
        self.engine = engine
        self.crowd = crowd
        self.dialect = dialect
        self.gauges = gauges
        let gathering = options.gathering
        entrance = Entrance(crowd, dialect, engine, rate: gathering.rate, atOnce: gathering.atOnce) { tag in
            guard tag >= crowd.subjects else { return [] }
            return gathering.watched(by: tag - crowd.subjects, in: crowd, count: gathering.watching)
        }
        progress = Progress(always: options.reporting.progress)
    }

    func finish() { progress.clear() }

    // MARK: - Receiving

    func opened(_ connection: ConnectionID, tag: Int) { enter(if: entrance.opened(connection, tag: tag)) }

    func received(_ message: UnsafeRawBufferPointer, on connection: ConnectionID, tag: Int, at: Instant) {
        guard cache.find(message) == nil else { return }
        let meanings = dialect.read(message)
        if meanings.isEmpty { cache.remember(message, as: ChangeCache.nothing) }
        for meaning in meanings { enter(if: entrance.receive(meaning, on: connection, tag: tag)) }
    }

    func closed(_ connection: ConnectionID, tag: Int, _ closing: Closing) { entrance.closed(tag, closing) }

    private func enter(if isIn: Bool) {
        if isIn { lastProgress = .now() }
    }

    // MARK: - The phases

    func tick(now: Instant) -> Instant? {
        do throws(Failure) {
            try proceed(now)
        } catch {
            engine.stop(error)
        }
        progress.show(now: now, describe)
        let patience = Nanoseconds.seconds(options.measuring.patience)
        if due == nil, now - lastProgress >= patience {
            engine.stop(entrance.stuck(patience: options.measuring.patience))
        }
        let latest = due ?? lastProgress + patience
        return [entrance.ramp.next(now: now), progress.due].compactMap { $0 }.reduce(latest, min)
    }

    private func proceed(_ now: Instant) throws(Failure) {
        switch phase {
        case .pool:
            entrance.dial(now, upTo: crowd.subjects)
            guard entrance.ready == crowd.subjects else { return }
            readings.empty = try gauges.read()
            phase = .clients
            entrance.restart(now)
            entrance.dial(now)
        case .clients:
            entrance.dial(now)
            if entrance.isComplete { wait(.settling, now + .seconds(options.settling)) }
        case .settling where now >= due!:
            readings.quietBegan = try gauges.read()
            wait(.quiet, .now() + .seconds(options.seconds))
        case .quiet where now >= due!:
            readings.quietEnded = try gauges.read()
            due = nil
            phase = .subscribing
            lastProgress = now
            subscribeMore()
        case .subscribing: subscribeMore()
        case .resting where now >= due!:
            readings.watchingMore = try gauges.read()
            phase = .settled
            engine.stop()
        case .settling, .quiet, .resting, .settled: break
        }
    }

    private func wait(_ phase: Phase, _ until: Instant) {
        self.phase = phase
        due = until
    }

    private func subscribeMore() {
        let gathering = options.gathering
        while asked < crowd.watchers, crowd.total - entrance.ready < Self.subscribingAtOnce {
            let people = gathering.watched(
                by: asked, in: crowd, skipping: gathering.watching, count: options.further)
            enter(if: entrance.subscribe(tag: crowd.subjects + asked, toMore: people))
            asked += 1
        }
        if asked == crowd.watchers, entrance.isComplete { wait(.resting, .now() + .seconds(options.settling)) }
    }

    private func describe() -> String {
        switch phase {
        case .pool, .clients: entrance.description
        case .settling, .quiet: "quiet"
        case .subscribing, .resting, .settled: "\(formatted(asked)) of \(formatted(crowd.watchers)) watch more"
        }
    }
}
