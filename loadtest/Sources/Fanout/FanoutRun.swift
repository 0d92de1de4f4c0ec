import PresenceProtocol

/// The fan-out scenario: everyone connects, some changes warm everything up, then every delivery is timed.
///
///     connecting → warming up → measuring → settled
final class FanoutRun: Scenario {
    private enum Phase { case connecting, warmingUp, measuring, settled }

    private let options: FanoutCommand
    private let engine: Engine
    private let mint: TokenMint
    private let name = String(UInt32.random(in: .min ... .max), radix: 36)

    private var phase = Phase.connecting
    private var ramp: Ramp
    private var ready = 0
    private var changers: [Changer]
    private var changerIndex: [UserID: Int] = [:]
    private var watcherConnections: [ConnectionID?]
    private var sightings: Sightings
    private var cache = EventCache()
    private var nextChanger = 0
    /// Changes made in this phase.
    private var made = 0
    /// Pairs of a watcher and a changer whose newest change has not come; the phase's changes are through at 0.
    private var awaited = 0
    /// Changes that the server has not answered.
    private var unanswered = 0
    private var lastProgress = Instant.now()
    private var progress: Progress
    private var measurement: FanoutMeasurement
    private let processor: ProcessorTime

    init(_ options: FanoutCommand, engine: Engine, mint: TokenMint, processor: ProcessorTime) {
        self.options = options
        self.engine = engine
        self.mint = mint
        self.processor = processor
        ramp = Ramp(total: options.people + options.watchers, rate: options.connectRate)
        let prefix = "load-\(name)"
        changers = (0..<options.people).map { Changer(user: "\(prefix)-p\($0)") }
        watcherConnections = Array(repeating: nil, count: options.watchers)
        sightings = Sightings(watchers: options.watchers, changers: options.people)
        progress = Progress(always: options.reporting.progress)
        measurement = FanoutMeasurement()
        if unanswered > 0 { measurement.failures.append("\(formatted(unanswered)) changes were never answered") }
        for (index, changer) in changers.enumerated() { changerIndex[UserID(changer.user)!] = index }
    }

    func finish() { progress.clear() }

    func report() -> FanoutReport {
        FanoutReport(options, measurement, connections: ramp.total, server: engine.endpoint.url)
    }

    // MARK: - Coming in

    // Tags count the changers first, then the watchers: whoever watches finds everyone there.
    private func user(_ tag: Int) -> String {
        tag < changers.count ? changers[tag].user : "load-\(name)-w\(tag - changers.count)"
    }

    func opened(_ connection: ConnectionID, tag: Int) {
        let connect = ClientMessage.Connect(token: mint.token(user: user(tag)), device: Device(kind: .bot))
        engine.send(ClientMessage(id: 1, .connect(connect)).encoded(), on: connection)
    }

    private func connected(_ connection: ConnectionID, tag: Int, _ welcome: ServerMessage.Connected) {
        guard tag >= changers.count else {
            changers[tag].connection = connection
            return becomeReady()
        }
        watcherConnections[tag - changers.count] = connection
        guard changers.count <= welcome.limits.subscriptions else {
            return engine.stop(Failure("the server lets nobody watch more than \(welcome.limits.subscriptions) people"))
        }
        // Each batch has the number of those that follow it as its id, so that the answer to the last has 1.
        var batches = Batches(Array(changerIndex.keys), size: welcome.limits.subscribeBatch)
        while let (users, left) = batches.next() {
            let subscribe = ClientMessage.Subscribe(users: users)
            engine.send(ClientMessage(id: Int64(left + 1), .subscribe(subscribe)).encoded(), on: connection)
        }
    }

    private func becomeReady() {
        ready += 1
        lastProgress = .now()
        if ready == ramp.total { begin(options.warmUp > 0 ? .warmingUp : .measuring) }
    }

    // MARK: - Receiving

    func received(_ message: UnsafeRawBufferPointer, on connection: ConnectionID, tag: Int, at: Instant) {
        do {
            switch try cache.decode(message) {
            case .presence(let user, let presence, _):
                see(user, NumberedText.number(in: presence.text), watcher: tag - changers.count, at: at)
            case .profile(let user, .profile(let profile), _):
                see(user, NumberedText.number(in: profile.displayName), watcher: tag - changers.count, at: at)
            case .connected(_, let welcome): connected(connection, tag: tag, welcome)
            case .subscribed(let id, _, _, let more): if id == 1, !more { becomeReady() }
            case .ok(let id), .profileUpdated(let id?, _): acknowledge(Int(id), by: tag, at: at)
            case .error(let error): refuse(error, tag: tag)
            default: break
            }
        } catch {
            engine.stop(Failure("the server sent something that cannot be read: \(error)"))
        }
    }

    private func see(_ user: UserID, _ number: Int, watcher: Int, at: Instant) {
        guard let index = changerIndex[user], watcher >= 0, number > 0 else { return }
        switch sightings.see(number, of: index, by: watcher) {
        case .again: break
        case .older: measurement.older += 1
        case .new(let conflated):
            guard number <= changers[index].newest else {
                return engine.stop(Failure("\(user) shows change \(number), which was never made"))
            }
            lastProgress = at
            if phase == .measuring {
                measurement.delivered(after: at - changers[index].intended[number - 1], conflated: conflated, at: at)
            }
            guard number == changers[index].newest else { return }
            changers[index].reached()
            awaited -= 1
        }
    }

    private func acknowledge(_ number: Int, by tag: Int, at: Instant) {
        guard tag < changers.count, (1...changers[tag].newest).contains(number) else { return }
        unanswered -= 1
        guard phase == .measuring else { return }
        measurement.acknowledged.record(at - changers[tag].intended[number - 1])
    }

    private func refuse(_ error: ServerMessage.ErrorMessage, tag: Int) {
        let what = "\(error.code.rawValue): \(error.message)"
        if error.code == .unauthorized {
            return engine.stop(
                Failure("the server refused our token (\(what)); is --data-dir or --secret-file that server's?"))
        }
        engine.stop(Failure("the server refused \(user(tag)) something (\(what))"))
    }

    func closed(_ connection: ConnectionID, tag: Int, _ closing: Closing) {
        if case .refused(let why) = closing { return engine.stop(Failure(why)) }
        engine.stop(Failure("the connection of \(user(tag)) ended: \(closing)"))
    }

    // MARK: - Making changes

    func tick(now: Instant) -> Instant? {
        if phase == .connecting { dial(now) }
        if phase == .warmingUp { keepChanging(now, count: options.warmUp, rate: 0) }
        if phase == .measuring { keepChanging(now, count: options.changes, rate: options.rate) }
        progress.show(now: now, describe)
        guard now - lastProgress < .seconds(options.patience) else {
            giveUp()
            return nil
        }
        return [nextChangeDue(now), phase == .connecting ? ramp.next(now: now) : nil, progress.due]
            .compactMap { $0 }.reduce(lastProgress + .seconds(options.patience), min)
    }

    private func dial(_ now: Instant) {
        do {
            for tag in ramp.due(now: now, ready: ready) { _ = try engine.dial(tag: tag) }
        } catch {
            engine.stop(error)
        }
    }

    private func begin(_ phase: Phase) {
        self.phase = phase
        made = 0
        if phase == .measuring { measurement.begin(at: .now(), serverUsed: processor.used()) }
    }

    private func nextChangeDue(_ now: Instant) -> Instant? {
        guard phase == .measuring, options.rate > 0, made < options.changes else { return nil }
        return measurement.began + .seconds(Double(made) / options.rate)
    }

    private func keepChanging(_ now: Instant, count: Int, rate: Double) {
        if rate > 0 {
            while made < count, let due = nextChangeDue(now), due <= now { change(intended: due, now: now) }
        } else {
            // Without a clock: whoever's last change has reached everybody makes the next, `pending` of them at once.
            while made < count, (awaited + options.watchers - 1) / options.watchers < options.pending,
                let index = nextIdle()
            {
                nextChanger = index
                change(intended: now, now: now)
            }
        }
        guard made == count, awaited == 0, unanswered == 0 else { return }
        if phase == .warmingUp { return begin(.measuring) }
        measurement.end(serverUsed: processor.used())
        phase = .settled
        engine.stop()
    }

    private func nextIdle() -> Int? {
        (0..<changers.count).lazy.map { (self.nextChanger + $0) % self.changers.count }
            .first { self.changers[$0].awaited == 0 }
    }

    private func change(intended: Instant, now: Instant) {
        let index = nextChanger
        nextChanger = (index + 1) % changers.count
        made += 1
        unanswered += 1
        awaited += options.watchers - changers[index].awaited
        let number = changers[index].change(intended: intended, watchers: options.watchers)
        let text = NumberedText.text(number)
        let body: ClientMessage.Body =
            switch options.change {
            case .text: .status(StatusChange(status: .auto, text: .set(text)))
            case .name: .updateProfile(ProfileChanges(displayName: .set(text)))
            }
        engine.send(ClientMessage(id: Int64(number), body).encoded(), on: changers[index].connection!)
        if phase == .measuring { measurement.sent(late: .now() - intended) }
        lastProgress = now
    }

    // MARK: - Telling

    private func giveUp() {
        guard phase != .connecting else {
            return engine.stop(
                Failure(
                    """
                    the server stopped answering: \(formatted(ready)) of \(formatted(ramp.total)) clients were in, \
                    then nothing for \(formatted(options.patience, digits: 0)) s
                    """))
        }
        measurement.end(serverUsed: processor.used())
        if unanswered > 0 { measurement.failures.append("\(formatted(unanswered)) changes were never answered") }
        for (index, changer) in changers.enumerated() where changer.awaited > 0 {
            let missing = sightings.missing(changer.newest, of: index)
            measurement.failures.append(
                """
                change \(changer.newest) of \(changer.user) never reached \(formatted(missing.count)) of \
                \(formatted(options.watchers)) watchers, the first being \(user(changers.count + (missing.first ?? 0)))
                """)
        }
        engine.stop()
    }

    private func describe() -> String {
        switch phase {
        case .connecting: "\(formatted(ready)) of \(formatted(ramp.total)) clients connected"
        case .warmingUp: "warming up"
        case .measuring, .settled:
            "\(formatted(made)) of \(formatted(options.changes)) changes, \(formatted(measurement.deliveries)) deliveries"
        }
    }
}
