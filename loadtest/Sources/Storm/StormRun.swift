import PresenceProtocol

/// The storm scenario.
///
///     connecting → calm → restarting → returning → after → settling → done
///                          └ the command runs ┘
final class StormRun: Scenario {
    enum Phase { case connecting, calm, restarting, returning, after, settling, done }

    let options: StormCommand
    let engine: Engine
    let bystanders: Bystanders
    let mint: TokenMint
    private(set) var phase = Phase.connecting
    var clients: [StormClient]
    var screens: StormScreens
    var agenda = Agenda<Task>()
    var cache = EventCache()
    var random: SeededRandom
    var counters = StormMeasurement.Counters()
    var measurement = StormMeasurement()
    /// Clients that are connected and subscribed.
    var back = 0
    private var ramp: Ramp
    private var command: RestartCommand?
    private var phaseEnds = Instant.now()
    private var beforeRestart = StormMeasurement.Counters()
    private var progress: Progress

    /// A client's action when it is due.
    enum Task {
        case dial(Int)
        case subscribe(Int, ConnectionID)
    }

    /// The interval of checks whether the command has ended, or the bystanders have settled.
    private static let attention: Nanoseconds = .milliseconds(10)
    /// The longest time that the last changes may take to reach all clients.
    private static let settlingPatience: Nanoseconds = .seconds(20)

    init(
        _ options: StormCommand, name: String, engine: Engine, bystanders: Bystanders, mint: TokenMint
    ) throws(Failure) {
        self.options = options
        self.engine = engine
        self.bystanders = bystanders
        self.mint = mint
        clients = Array(repeating: StormClient(), count: options.clients)
        screens = StormScreens(
            ring: Ring(total: options.clients, watching: options.watch),
            clients: NumberedUsers(prefix: "storm-\(name)-c"), bystanders: bystanders.users,
            bystandersWatched: options.watchBystanders, bystanderCount: options.bystanders)
        random = SeededRandom(seed: options.seed)
        ramp = Ramp(total: options.clients, rate: options.connectRate)
        progress = Progress(always: options.reporting.progress)
        _ = try readMetrics()
        bystanders.start()
    }

    func finish() {
        bystanders.order(.leave)
        progress.clear()
    }

    func report() throws(Failure) -> StormReport { StormReport(options, measurement, bystanders.now) }

    // MARK: - The clock

    func tick(now: Instant) -> Instant? {
        if let failure = bystanders.now.failure { engine.stop(failure) }
        while let (due, task) = agenda.next(now: now) { perform(task, due: due, now) }
        do {
            try advance(now)
        } catch {
            engine.stop(error)
        }
        progress.show(now: now, describe)
        let wakes = [ramp.next(now: now), agenda.first, progress.due].compactMap { $0 }
        return wakes.reduce(now + Self.attention, min)
    }

    private func advance(_ now: Instant) throws(Failure) {
        switch phase {
        case .connecting:
            for tag in ramp.due(now: now, ready: back) { dial(tag, due: now, now) }
            guard back == clients.count, screens.wrong == 0, bystanders.now.isReady else { break }
            bystanders.order(.change)
            begin(.calm, until: now + .seconds(options.calm))
        case .calm: if now >= phaseEnds { try restart() }
        case .restarting: try awaitServing(now)
        case .returning:
            guard back == clients.count, screens.wrong == 0 || now >= phaseEnds else {
                if now >= phaseEnds { try timeOut(now) }
                break
            }
            try endStorm(now)
        case .after:
            guard now >= phaseEnds else { break }
            bystanders.order(.settle)
            begin(.settling, until: now + Self.settlingPatience)
        case .settling: finishOnceRight(now)
        case .done: break
        }
    }

    private func begin(_ phase: Phase, until end: Instant) {
        self.phase = phase
        phaseEnds = end
    }

    // MARK: - The restart

    private func restart() throws(Failure) {
        measurement.before = try readMetrics()
        measurement.restarted = .now()
        beforeRestart = countersNow
        measurement.lateness = Latencies()
        command = try RestartCommand(options.restartCommand)
        begin(.restarting, until: measurement.restarted + .seconds(options.patience))
    }

    private func awaitServing(_ now: Instant) throws(Failure) {
        guard let status = command?.status() else {
            guard now < phaseEnds else {
                throw Failure("the restart command has not returned in \(options.patience) s")
            }
            return
        }
        guard status == 0 else { throw Failure("the restart command ended with status \(status)") }
        guard measurement.lost > 0 else {
            throw Failure("no client lost its connection: does the restart command restart the server at --url?")
        }
        measurement.serving = now
        measurement.atServing = try readMetrics()
        phase = .returning
        guard options.atOnce else { return }
        for tag in clients.indices where clients[tag].stage == .waiting { dial(tag, due: now, now) }
    }

    private func timeOut(_ now: Instant) throws(Failure) {
        measurement.failures.append(
            "\(formatted(clients.count - back)) of \(formatted(clients.count)) clients were not back within "
                + "\(formatted(options.patience, digits: 0)) s")
        try endStorm(now)
    }

    private func endStorm(_ now: Instant) throws(Failure) {
        measurement.counted = countersNow - beforeRestart
        measurement.after = try readMetrics()
        begin(.after, until: now + .seconds(options.calm))
    }

    private func readMetrics() throws(Failure) -> [ServerMetrics] {
        var metrics: [ServerMetrics] = []
        for endpoint in engine.endpoints + [bystanders.endpoint] { metrics.append(try ServerMetrics(of: endpoint)) }
        return metrics
    }

    var countersNow: StormMeasurement.Counters {
        var counters = counters
        counters.reads = engine.reads
        counters.used = ProcessorTime.own()
        return counters
    }

    // MARK: - The end

    private func finishOnceRight(_ now: Instant) {
        let bystanders = bystanders.now
        guard bystanders.isSettled else { return }
        let right = clients.indices.count {
            clients[$0].stage == .back && screens.isRight($0, newest: bystanders.newest)
        }
        guard right == clients.count || now >= phaseEnds else { return }
        measurement.right = right
        if right < clients.count {
            measurement.failures.append(
                "\(formatted(clients.count - right)) of \(formatted(clients.count)) clients do not show the truth")
        }
        phase = .done
        engine.stop()
    }

    private func describe() -> String {
        switch phase {
        case .connecting: "\(formatted(back)) of \(formatted(clients.count)) clients connected"
        case .calm: "calm before the restart"
        case .restarting: "restarting; \(formatted(back)) of \(formatted(clients.count)) clients connected"
        case .returning:
            "\(formatted(back)) of \(formatted(clients.count)) clients back, \(formatted(screens.wrong)) facts wrong"
        case .after: "calm after everyone is back"
        case .settling, .done: "comparing"
        }
    }
}
