import PresenceProtocol

/// The replay scenario: performs every action at its time, waits for quiet, and compares.
///
///     playing → settling → asking → checking → done
final class ReplayRun: Scenario {
    enum Phase { case playing, settling, asking, checking, done }

    let options: ReplayCommand
    let cast: Cast
    let engine: Engine
    var phase = Phase.playing
    var players: [Player]
    var truths: [Truth]
    var measurement = ReplayMeasurement()
    /// When each person's newest change was due; `nil` if it is not to be timed.
    var changed: [Moments]
    /// The answer of the fresh `get`, by place.
    var asked: [Shown]
    var unanswered = 0
    /// The true state of each conversation, by its id.
    var chatTruths: [String: ChatTruth] = [:]
    /// When each message was due, by its id.
    var written: [String: Instant] = [:]
    /// Members for whom a connection must still ask at the end, and the asking connections, by their tags.
    var unchecked: [Int] = []
    var checkers: [Int: Checker] = [:]
    /// The earliest quiet time: people whose connection was dropped go offline only then.
    var quietNotBefore = Instant(nanoseconds: 0)
    var lastReceived = Instant.now()
    private var lastPlayed = Instant.now()
    var linger: Milliseconds = 0
    var cache = EventCache()

    private let mint: TokenMint
    private let deeds: [Deed]
    private var nextDeed = 0
    private var start: Instant?
    private var ownUsed: Nanoseconds = 0
    private var seconds = 0.0
    private var typists: Set<Int> = []
    private var progress: Progress

    /// When a person's last connection and last visible changes were due.
    struct Moments {
        var dialled: Instant?
        var came: Instant?
        var went: Instant?
        var renamed: Instant?
        var typed: Instant?
    }

    /// No message may arrive for this long before the screens are compared.
    static let quiet: Nanoseconds = .seconds(2)
    /// People repeat that they type: for the server it lasts 6 s.
    static let typingInterval: Nanoseconds = .seconds(3)

    init(_ options: ReplayCommand, trace: Trace, cast: Cast, engine: Engine, mint: TokenMint) {
        self.options = options
        self.cast = cast
        self.engine = engine
        self.mint = mint
        deeds = Screenplay.deeds(of: trace, speed: options.speed)
        players = (0..<cast.players).map { Player(device: [.phone, .desktop, .web][$0 % 3]) }
        truths = Array(repeating: Truth(), count: cast.users.count)
        changed = Array(repeating: Moments(), count: cast.players)
        asked = Array(repeating: Shown(), count: cast.users.count)
        progress = Progress(always: options.reporting.progress)
    }

    func finish() { progress.clear() }

    func report() -> ReplayReport {
        ReplayReport(
            options, measurement, people: cast.players, watched: cast.watched.reduce(0) { $0 + $1.count },
            seconds: seconds, ownCPUShare: ownUsed.inSeconds / max(seconds, 1e-9))
    }

    // MARK: - The clock

    func tick(now: Instant) -> Instant? {
        if start == nil {
            start = now
            ownUsed = -ProcessorTime.own()
        }
        progress.show(now: now, describe)
        switch phase {
        case .playing: play(now)
        case .settling: compareOnceQuiet(now)
        case .asking, .checking, .done: break
        }
        if phase != .playing || isBehind, now > patienceEnds {
            timeOut()
        }
        return nextWake(now)
    }

    private func nextWake(_ now: Instant) -> Instant? {
        var wakes = typists.compactMap { players[$0].typingAgain }
        wakes.append(patienceEnds + 1)
        if phase == .settling { wakes.append(quietAt) }
        if phase == .playing, nextDeed < deeds.count { wakes.append(start! + deeds[nextDeed].time) }
        if let due = progress.due { wakes.append(due) }
        // An overdue action that waits for an answer must not make the loop spin.
        return wakes.filter { $0 > now }.min()
    }

    private func play(_ now: Instant) {
        while nextDeed < deeds.count, start! + deeds[nextDeed].time <= now {
            let deed = deeds[nextDeed]
            nextDeed += 1
            measurement.lateness.record(.now() - (start! + deed.time))
            players[deed.person].deeds.append(deed)
            advance(deed.person)
            // A trace may be silent for long: the patience begins with the wait.
            lastPlayed = now
        }
        sendTypingAgain(now)
        if nextDeed == deeds.count, !isBehind { phase = .settling }
    }

    private func sendTypingAgain(_ now: Instant) {
        for person in typists {
            guard let due = players[person].typingAgain else {
                typists.remove(person)
                continue
            }
            guard due <= now, case .made(let conversation) = players[person].stage else { continue }
            request(.typing(conversation: conversation, typing: true), of: person)
            players[person].typingAgain = now + Self.typingInterval
        }
    }

    /// Whether a person still has an action to perform or an answer to get.
    private var isBehind: Bool {
        players.contains { !$0.deeds.isEmpty || $0.unanswered > 0 || $0.typingAgain != nil }
    }

    private var patienceEnds: Instant {
        max(lastReceived, lastPlayed, quietNotBefore) + .seconds(options.patience)
    }

    private var quietAt: Instant { max(quietNotBefore, lastReceived + Self.quiet) }

    private func compareOnceQuiet(_ now: Instant) {
        guard now >= quietAt else { return }
        seconds = (lastReceived - start!).inSeconds
        ownUsed += ProcessorTime.own()
        phase = .asking
        dial(tag: players.count)
    }

    private func timeOut() {
        let waiting = players.indices.filter { !players[$0].deeds.isEmpty || players[$0].unanswered > 0 }
        let who = waiting.first.map { "\(cast.users[$0]) among \(waiting.count) clients" } ?? "the get at the end"
        engine.stop(
            Failure(
                "the server stopped answering: nothing for \(formatted(options.patience, digits: 0)) s, and \(who) waits"
            ))
    }

    // MARK: - Lines

    func due(_ deed: Deed) -> Instant { start! + deed.time }

    /// The one tag without a player belongs to the connection that asks at the end.
    func isAsker(_ tag: Int) -> Bool { tag == players.count }

    /// Larger tags belong to connections that ask for members.
    func isChecker(_ tag: Int) -> Bool { tag > players.count }

    func name(_ tag: Int) -> String {
        if isChecker(tag) { return cast.users[tag - players.count - 1].string }
        return isAsker(tag) ? "\(cast.users[0])-asker" : cast.users[tag].string
    }

    func dial(tag: Int) {
        do {
            let connection = try engine.dial(tag: tag)
            if tag < players.count { players[tag].line = .opening(connection) }
        } catch {
            engine.stop(error)
        }
    }

    func opened(_ connection: ConnectionID, tag: Int) {
        let device = Device.only(
            of: name(tag) + (isChecker(tag) ? "-asker" : ""), kind: tag < players.count ? players[tag].device : .bot)
        let connect = ClientMessage.Connect(token: mint.token(user: name(tag)), device: device)
        engine.send(ClientMessage(id: 1, .connect(connect)).encoded(), on: connection)
    }

    func closed(_ connection: ConnectionID, tag: Int, _ closing: Closing) {
        if case .refused(let why) = closing { return engine.stop(Failure(why)) }
        engine.stop(Failure("the connection of \(name(tag)) ended: \(closing)"))
    }

    /// Sends a request on the connection of a player who has one; its answer is then pending.
    func request(_ body: ClientMessage.Body, of person: Int) {
        guard let connection = players[person].connection else { return }
        engine.send(ClientMessage(id: players[person].nextRequest(), body).encoded(), on: connection)
    }

    func begins(typing person: Int) { typists.insert(person) }

    private func describe() -> String {
        let here = players.count { $0.line != .none }
        let what =
            switch phase {
            case .playing: "\(formatted(nextDeed)) of \(formatted(deeds.count)) deeds"
            case .settling: "waiting for quiet"
            case .asking, .checking, .done: "comparing"
            }
        let events = formatted(measurement.events)
        return "\(what), \(formatted(here)) of \(formatted(players.count)) people here, \(events) events received"
    }
}
