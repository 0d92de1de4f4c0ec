import PresenceProtocol

/// The bystanders' own scenario: all connect, watch each other, and change one after the other by the clock.
///
///     connecting → waiting → changing → settling → settled
final class BystanderRun: Scenario {
    private let plan: Bystanders
    private let engine: Engine
    private var connections: [ConnectionID?]
    private var ready = 0
    private var changers: [Changer]
    private var sightings: Sightings
    private var cache = EventCache()
    private var samples: [Bystanders.Sample] = []
    private var conflated = 0
    private var lateness = Latencies()
    private var isDialled = false
    private var began: Instant?
    private var made = 0
    private var settling: Instant?
    private var isSettled = false

    /// The interval of checks for orders of the other thread.
    private static let attention: Nanoseconds = .milliseconds(50)
    /// The longest time that a last change may take.
    private static let patience: Nanoseconds = .seconds(10)

    init(_ plan: Bystanders, engine: Engine) {
        self.plan = plan
        self.engine = engine
        connections = Array(repeating: nil, count: plan.count)
        changers = (0..<plan.count).map { Changer(user: plan.users.user($0).string) }
        sightings = Sightings(watchers: plan.count, changers: plan.count)
    }

    func tick(now: Instant) -> Instant? {
        if !isDialled { dial() }
        switch plan.now.order {
        case .wait: break
        case .change: keepChanging(now)
        case .settle: waitForLast(now)
        case .leave: engine.stop()
        }
        guard let began, settling == nil else { return now + Self.attention }
        return min(now + Self.attention, began + .seconds(Double(made) / plan.rate))
    }

    private func dial() {
        isDialled = true
        do throws(Failure) {
            for tag in 0..<plan.count { _ = try engine.dial(tag: tag) }
        } catch {
            engine.stop(error)
        }
    }

    private func keepChanging(_ now: Instant) {
        let began = self.began ?? now
        self.began = began
        while began + .seconds(Double(made) / plan.rate) <= now {
            let due = began + .seconds(Double(made) / plan.rate)
            let index = made % plan.count
            made += 1
            let number = changers[index].change(intended: due, watchers: plan.count - 1)
            let change = StatusChange(status: .auto, text: .set(NumberedText.text(number)))
            engine.send(ClientMessage(id: Int64(number), .status(change)).encoded(), on: connections[index]!)
            lateness.record(.now() - due)
        }
    }

    /// Waits until all bystanders have all last changes, and reports that.
    private func waitForLast(_ now: Instant) {
        let since = settling ?? now
        settling = since
        guard !isSettled else { return }
        let lacking = changers.filter { $0.awaited > 0 }
        guard lacking.isEmpty else {
            guard now - since < Self.patience else {
                return engine.stop(
                    Failure("the last change of \(lacking[0].user) never reached \(lacking[0].awaited) bystanders"))
            }
            return
        }
        isSettled = true
        let (samples, newest, conflated) = (samples, changers.map(\.newest), conflated)
        let late = lateness.count > 0 ? lateness.percentile(99) : 0
        plan.update { state in
            state.samples = samples
            state.newest = newest
            state.conflated = conflated
            state.lateness = late
            state.isSettled = true
        }
    }

    // MARK: - Connections

    func opened(_ connection: ConnectionID, tag: Int) {
        connections[tag] = connection
        let token = plan.mint.token(user: changers[tag].user)
        let connect = ClientMessage.Connect(token: token, device: .only(of: changers[tag].user))
        engine.send(ClientMessage(id: 1, .connect(connect)).encoded(), on: connection)
        let others = (0..<plan.count).filter { $0 != tag }.map { plan.users.user($0) }
        engine.send(
            ClientMessage(id: 2, .subscribe(ClientMessage.Subscribe(users: others))).encoded(), on: connection)
    }

    func closed(_ connection: ConnectionID, tag: Int, _ closing: Closing) {
        engine.stop(Failure("a bystander's connection to \(plan.endpoint.url) ended: \(closing)"))
    }

    func received(_ message: UnsafeRawBufferPointer, on connection: ConnectionID, tag: Int, at: Instant) {
        do {
            switch try cache.decode(message) {
            case .subscribed(_, _, _, more: false):
                ready += 1
                if ready == plan.count { plan.update { $0.isReady = true } }
            case .presence(let user, let presence, _):
                see(user, NumberedText.number(in: presence.text), by: tag, at)
            case .error(let error):
                engine.stop(
                    Failure("the server refused a bystander something (\(error.code.rawValue): \(error.message))"))
            default: break
            }
        } catch {
            engine.stop(Failure("the server sent something that cannot be read: \(error)"))
        }
    }

    private func see(_ user: UserID, _ number: Int, by watcher: Int, _ at: Instant) {
        guard let index = plan.users.number(of: user), changers.indices.contains(index), number > 0 else { return }
        guard number <= changers[index].newest else {
            return engine.stop(Failure("\(user) shows change \(number), which was never made"))
        }
        switch sightings.see(number, of: index, by: watcher) {
        case .again: break
        case .older: engine.stop(Failure("a bystander was shown an older change of \(user) after a newer one"))
        case .new(let skipped):
            conflated += skipped
            let intended = changers[index].intended[number - 1]
            samples.append(Bystanders.Sample(intended: intended, latency: at - intended))
            if number == changers[index].newest { changers[index].reached() }
        }
    }
}
