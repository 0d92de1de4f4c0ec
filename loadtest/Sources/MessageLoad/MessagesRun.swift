import PresenceProtocol

/// The messages scenario.
///
///     gathering → writing → settling → done
final class MessagesRun: Scenario {
    enum Phase { case gathering, writing, settling, done }

    /// A message of the run: its number is in its id.
    struct Sent {
        /// When it was due.
        let due: Instant
        let conversation: Int
        /// 0 until it is acknowledged.
        var seq = 0
    }

    let options: MessagesCommand
    let users: NumberedUsers
    let engine: Engine
    let mint: TokenMint
    var phase = Phase.gathering
    var connections: [ConnectionID?]
    /// The last message of each member, by its place in the conversation.
    var newest: [Int]
    /// The last message that each member has marked as delivered, and the members whose mark is not answered.
    var marked: [Int]
    var isMarking: [Bool]
    /// By number, after they are created.
    var conversations: [String?]
    /// Connected members of each conversation that is not created yet.
    var gathered: [Int]
    /// Members who follow their conversation.
    var ready = 0
    var sent: [Sent] = []
    var acknowledged = 0
    var measurement = MessagesMeasurement()
    var cache = EventCache()
    var lastReceived = Instant.now()
    private var random: SeededRandom
    private var ramp: Ramp
    private var began = Instant(nanoseconds: 0)
    private let server: ProcessorTime
    private let redis: ProcessorTime?
    private var progress: Progress
    private let text: String

    init(
        _ options: MessagesCommand, users: NumberedUsers, engine: Engine, mint: TokenMint, server: ProcessorTime,
        redis: ProcessorTime?
    ) {
        self.options = options
        self.users = users
        self.engine = engine
        self.mint = mint
        self.server = server
        self.redis = redis
        let people = options.conversations * options.members
        connections = Array(repeating: nil, count: people)
        newest = Array(repeating: 0, count: people)
        marked = Array(repeating: 0, count: people)
        isMarking = Array(repeating: false, count: people)
        conversations = Array(repeating: nil, count: options.conversations)
        gathered = Array(repeating: 0, count: options.conversations)
        random = SeededRandom(seed: options.seed)
        ramp = Ramp(total: people, rate: options.connectRate)
        progress = Progress(always: options.reporting.progress)
        text = String(repeating: "message ", count: options.characters / 8 + 1).prefix(options.characters).description
        sent.reserveCapacity(Int(options.rate * options.duration) + 1)
    }

    func finish() { progress.clear() }

    func report() -> MessagesReport { MessagesReport(options, measurement) }

    /// The tags of a conversation's members.
    func members(_ conversation: Int) -> Range<Int> {
        conversation * options.members..<(conversation + 1) * options.members
    }

    // MARK: - The clock

    func tick(now: Instant) -> Instant? {
        if phase == .gathering { gather(now) }
        if phase == .writing { write(now) }
        if phase == .settling { finishOnceDelivered(now) }
        progress.show(now: now, describe)
        let patienceEnds = lastReceived + .seconds(options.measuring.patience)
        guard now <= patienceEnds else {
            engine.stop(
                Failure("nothing came for \(formatted(options.measuring.patience, digits: 0)) s: \(describe())"))
            return nil
        }
        let next: Instant? =
            switch phase {
            case .gathering: ramp.next(now: now)
            case .writing: due(sent.count)
            case .settling, .done: nil
            }
        return [next, progress.due].compactMap { $0 }.reduce(patienceEnds + 1, min)
    }

    private func gather(_ now: Instant) {
        do {
            for tag in ramp.due(now: now, ready: gathered.reduce(0, +)) { _ = try engine.dial(tag: tag) }
        } catch {
            engine.stop(error)
        }
        guard ready == connections.count else { return }
        phase = .writing
        began = now
        measurement.ownUsed = -ProcessorTime.own()
        measurement.serverUsed = -server.used()
        measurement.redisUsed = redis.map { -$0.used() }
    }

    private func due(_ number: Int) -> Instant { began + .seconds(Double(number) / options.rate) }

    // MARK: - Writing

    private func write(_ now: Instant) {
        let ends = began + .seconds(options.duration)
        while due(sent.count) <= min(now, ends) { send(due(sent.count)) }
        guard now >= ends else { return }
        phase = .settling
        measurement.writing = (now - began).inSeconds
    }

    private func send(_ due: Instant) {
        let tag = Int(random.next() % UInt64(connections.count))
        let conversation = tag / options.members
        let number = sent.count
        measurement.lateness.record(.now() - due)
        sent.append(Sent(due: due, conversation: conversation))
        engine.send(
            Array(
                #"{"type":"send","id":\#(number + 10),"conversation":"\#(conversations[conversation]!)","#.utf8
            )
                + Array(#""message":{"id":"m\#(number)","text":"\#(text)"},"after":\#(newest[tag])}"#.utf8),
            on: connections[tag]!)
    }

    // MARK: - The end

    private func finishOnceDelivered(_ now: Instant) {
        guard acknowledged == sent.count, measurement.deliveries == sent.count * options.members else { return }
        measurement.seconds = (now - began).inSeconds
        measurement.ownUsed += ProcessorTime.own()
        measurement.serverUsed += server.used()
        if let redis, let used = measurement.redisUsed { measurement.redisUsed = used + redis.used() }
        measurement.sent = sent.count
        compare()
        phase = .done
        engine.stop()
    }

    /// All members must have the same last message, and each place must be used once.
    private func compare() {
        var places = Array(repeating: Set<Int>(), count: options.conversations)
        for message in sent where !places[message.conversation].insert(message.seq).inserted {
            blame("two messages of a conversation were acknowledged as number \(message.seq)")
        }
        for conversation in 0..<options.conversations {
            for tag in members(conversation) where newest[tag] != places[conversation].count {
                blame("\(users.user(tag)) has \(newest[tag]) of \(places[conversation].count) messages")
            }
        }
    }

    func blame(_ what: String) {
        guard measurement.failures.count < 20 else { return }
        measurement.failures.append(what)
    }

    private func describe() -> String {
        switch phase {
        case .gathering: "\(formatted(ready)) of \(formatted(connections.count)) members ready"
        case .writing, .settling, .done:
            "\(formatted(sent.count)) messages, \(formatted(acknowledged)) acknowledged, "
                + "\(formatted(measurement.deliveries)) delivered"
        }
    }
}
