import PresenceProtocol

/// The typing scenario.
///
///     gathering → typing → stopping → asking → done
final class TypingRun: Scenario {
    enum Phase { case gathering, typing, stopping, asking, done }

    /// A planned action.
    enum Task {
        case start(Int)
        case again(Int, time: Int)
        case stop(Int)
    }

    let options: TypingCommand
    let users: NumberedUsers
    let engine: Engine
    let mint: TokenMint
    var phase = Phase.gathering
    /// By conversation, then by place in it.
    var typists: [Typist]
    /// By number, after they are created.
    var conversations: [ConversationID?]
    var numbers: [ConversationID: Int] = [:]
    /// Connected participants of each conversation that is not created yet.
    var gathered: [Int]
    /// Participants who watch their conversation.
    var ready = 0
    /// Pending answers at the end.
    var unanswered = 0
    var agenda = Agenda<Task>()
    var random: SeededRandom
    var measurement = TypingMeasurement()
    var cache = EventCache()
    var lastReceived = Instant.now()
    private var ramp: Ramp
    private var began = Instant(nanoseconds: 0)
    private var ends = Instant(nanoseconds: 0)
    private let processor: ProcessorTime
    private var progress: Progress

    /// People repeat that they type: for the server it lasts 6 s.
    private static let interval: Nanoseconds = .seconds(3)
    /// No message may arrive for this long before the final check.
    private static let quiet: Nanoseconds = .seconds(1)

    init(
        _ options: TypingCommand, users: NumberedUsers, engine: Engine, mint: TokenMint, processor: ProcessorTime
    ) {
        self.options = options
        self.users = users
        self.engine = engine
        self.mint = mint
        self.processor = processor
        typists = Array(repeating: Typist(), count: options.conversations * options.participants)
        conversations = Array(repeating: nil, count: options.conversations)
        gathered = Array(repeating: 0, count: options.conversations)
        random = SeededRandom(seed: options.seed)
        ramp = Ramp(total: typists.count, rate: options.connectRate)
        progress = Progress(always: options.reporting.progress)
    }

    func finish() { progress.clear() }

    func report() -> TypingReport { TypingReport(options, measurement) }

    /// The tags of a conversation's participants.
    func members(_ conversation: Int) -> Range<Int> {
        conversation * options.participants..<(conversation + 1) * options.participants
    }

    // MARK: - The clock

    func tick(now: Instant) -> Instant? {
        if phase == .gathering { gather(now) }
        while let (due, task) = agenda.next(now: now) { perform(task, due) }
        if phase == .typing, now >= ends { stopAll(now) }
        if phase == .stopping, now >= lastReceived + Self.quiet { subscribeAgain() }
        progress.show(now: now, describe)
        guard now <= patienceEnds else {
            engine.stop(
                Failure("the server stopped answering: nothing for \(formatted(options.patience, digits: 0)) s"))
            return nil
        }
        let next: Instant? =
            switch phase {
            case .gathering: ramp.next(now: now)
            case .typing: ends
            case .stopping: lastReceived + Self.quiet
            case .asking, .done: nil
            }
        return [next, agenda.first, progress.due].compactMap { $0 }.reduce(patienceEnds + 1, min)
    }

    private var patienceEnds: Instant { max(lastReceived, ends) + .seconds(options.patience) }

    private func gather(_ now: Instant) {
        do {
            for tag in ramp.due(now: now, ready: gathered.reduce(0, +)) { _ = try engine.dial(tag: tag) }
        } catch {
            engine.stop(error)
        }
        guard ready == typists.count else { return }
        phase = .typing
        began = now
        ends = now + .seconds(options.duration)
        measurement.ownUsed = -ProcessorTime.own()
        measurement.serverUsed = -processor.used()
        // As if all had been thinking for long: the first thoughts end evenly over a mean.
        for tag in typists.indices {
            agenda.add(.start(tag), at: now + .seconds(options.think * random.unit()))
        }
    }

    // MARK: - Typing

    private func perform(_ task: Task, _ due: Instant) {
        guard phase == .typing else { return }
        measurement.lateness.record(.now() - due)
        switch task {
        case .start(let tag):
            measurement.starts += 1
            typists[tag].isTyping = true
            typists[tag].time += 1
            typists[tag].started = due
            typists[tag].seenBy = 0
            sendTyping(true, tag)
            agenda.add(.again(tag, time: typists[tag].time), at: due + Self.interval)
            agenda.add(.stop(tag), at: due + .seconds(random.exponential(mean: options.typing)))
        case .again(let tag, let time):
            guard typists[tag].isTyping, typists[tag].time == time else { return }
            measurement.repetitions += 1
            sendTyping(true, tag)
            agenda.add(.again(tag, time: time), at: due + Self.interval)
        case .stop(let tag):
            stop(tag, due)
            let thinking = 1 + (options.think > 1 ? random.exponential(mean: options.think - 1) : 0)
            agenda.add(.start(tag), at: due + .seconds(thinking))
        }
    }

    private func stop(_ tag: Int, _ due: Instant) {
        measurement.stops += 1
        typists[tag].isTyping = false
        typists[tag].stopped = due
        sendTyping(false, tag)
    }

    private func sendTyping(_ typing: Bool, _ tag: Int) {
        let conversation = conversations[tag / options.participants]!
        engine.send(
            ClientMessage(.typing(conversation: conversation, typing: typing)).encoded(), on: typists[tag].connection!)
    }

    // MARK: - The end

    private func stopAll(_ now: Instant) {
        measurement.seconds = (now - began).inSeconds
        measurement.ownUsed += ProcessorTime.own()
        measurement.serverUsed += processor.used()
        phase = .stopping
        lastReceived = now
        for tag in typists.indices where typists[tag].isTyping { stop(tag, now) }
    }

    /// One participant of each conversation subscribes again, and so receives the present typists.
    private func subscribeAgain() {
        phase = .asking
        for (number, id) in conversations.enumerated() {
            unanswered += 1
            let subscribe = ClientMessage.Subscribe(conversations: [id!])
            engine.send(
                ClientMessage(id: 3, .subscribe(subscribe)).encoded(),
                on: typists[members(number).lowerBound].connection!)
        }
    }

    func answered(_ entry: ServerMessage.ConversationSnapshot) {
        unanswered -= 1
        if !entry.typing.isEmpty { blame("for the server, \(entry.typing[0]) types forever") }
        guard unanswered == 0 else { return }
        for tag in typists.indices where typists[tag].shown != 0 {
            blame("\(users.user(tag)) shows a person typing forever")
        }
        phase = .done
        engine.stop()
    }

    private func blame(_ what: String) {
        guard measurement.failures.count < 20 else { return }
        measurement.failures.append(what)
    }

    private func describe() -> String {
        switch phase {
        case .gathering: "\(formatted(ready)) of \(formatted(typists.count)) participants ready"
        case .typing: "\(formatted(measurement.starts)) starts, \(formatted(measurement.events)) events"
        case .stopping, .asking, .done: "waiting for quiet"
        }
    }
}
