/// Connects a crowd: dials its people, sends their greetings and subscriptions, and reports when each is ready.
///
/// Both are sent in one packet, so that as many packets are exchanged as with a server without a greeting. A client
/// that watches more people than every server accepts in a message first waits for the server's limit.
final class Entrance {
    let crowd: Crowd
    let dialect: any Dialect
    private let engine: Engine
    private(set) var ramp: Ramp
    /// The number of ready clients.
    private(set) var ready = 0
    /// By tag.
    private(set) var connections: [ConnectionID?]
    /// When each was due to be dialled, by tag.
    private(set) var intended: [Instant]
    /// Subscription messages without an answer, by tag.
    private var unanswered: [Int32]
    private var batch = Entrance.surelyAllowed
    /// A server with default settings allows a subscription to this many.
    private static let surelyAllowed = 1_000
    /// Made with their tokens before the first dial, so that the tool does not become the bottleneck; dropped once
    /// sent.
    private var greetings: [[[UInt8]]]
    private let watched: (Int) -> [String]
    /// The socket's receive buffer, by tag; `nil` leaves it to the kernel.
    var receiveBuffer: (Int) -> Int32? = { _ in nil }

    /// - Parameter watched: the people that a tag watches from the beginning.
    init(
        _ crowd: Crowd, _ dialect: any Dialect, _ engine: Engine, rate: Double, atOnce: Int = Ramp.atOnce,
        watched: @escaping (Int) -> [String]
    ) {
        self.crowd = crowd
        self.dialect = dialect
        self.engine = engine
        self.watched = watched
        ramp = Ramp(total: crowd.total, rate: rate, atOnce: atOnce)
        connections = Array(repeating: nil, count: crowd.total)
        intended = Array(repeating: Instant(nanoseconds: 0), count: crowd.total)
        unanswered = Array(repeating: 0, count: crowd.total)
        greetings = (0..<crowd.total).map { dialect.greeting(of: crowd.user($0)) }
    }

    var isComplete: Bool { ready == crowd.total }

    /// Dials the clients that are due, up to `limit`; a failure stops the engine.
    func dial(_ now: Instant, upTo limit: Int = .max) {
        do {
            for tag in ramp.due(now: now, ready: ready, upTo: limit) {
                intended[tag] = ramp.intended(tag) ?? now
                connections[tag] = try engine.dial(tag: tag, receiveBuffer: receiveBuffer(tag))
            }
        } catch {
            engine.stop(error)
        }
    }

    /// Restarts the clock for the rate of dialling.
    func restart(_ now: Instant) { ramp.restart(now: now) }

    /// Returns whether this made `tag` ready.
    func opened(_ connection: ConnectionID, tag: Int) -> Bool {
        let greeting = greetings[tag]
        greetings[tag] = []
        let people = watched(tag)
        let isAhead = dialect.subscribesAhead && (people.count <= Self.surelyAllowed || !dialect.answersGreetings)
        let subscription = isAhead ? dialect.subscription(to: people, batch: batch) : []
        engine.send(greeting + subscription, on: connection)
        unanswered[tag] = dialect.answersSubscriptions ? Int32(subscription.count) : 0
        guard !dialect.answersGreetings, unanswered[tag] == 0 else { return false }
        ready += 1
        return true
    }

    /// Handles a message about connecting, and returns whether this made `tag` ready.
    func receive(_ incoming: Incoming, on connection: ConnectionID, tag: Int) -> Bool {
        switch incoming {
        case .connected(let subscriptions, let batch):
            self.batch = batch
            let people = watched(tag)
            guard people.count <= subscriptions else {
                engine.stop(Failure("the server allows subscriptions to at most \(subscriptions) people"))
                return false
            }
            return unanswered[tag] > 0 ? false : subscribe(tag, to: people)
        case .subscribed:
            unanswered[tag] -= 1
            if unanswered[tag] == 0 { ready += 1 }
            return unanswered[tag] == 0
        case .asked(let answer): engine.send(answer, on: connection)
        case .refused(let what): engine.stop(Failure("the server refused \(crowd.user(tag)) \(what)"))
        case .change, .acknowledged: break
        }
        return false
    }

    /// Subscribes a ready client to more people; it is not ready until that is answered. Returns whether that was
    /// immediate.
    func subscribe(tag: Int, toMore people: [String]) -> Bool {
        ready -= 1
        return subscribe(tag, to: people)
    }

    /// Handles the end of a client's connection.
    func closed(_ tag: Int, _ closing: Closing) {
        if case .refused(let why) = closing { return engine.stop(Failure(why)) }
        engine.stop(Failure("the connection of \(crowd.user(tag)) ended: \(closing)"))
    }

    /// The failure of a run in which no further client becomes ready.
    func stuck(patience: Double) -> Failure {
        Failure(
            """
            the server stopped answering: \(formatted(ready)) of \(formatted(crowd.total)) clients were in, \
            then nothing for \(formatted(patience, digits: 0)) s
            """)
    }

    var description: String { "\(formatted(ready)) of \(formatted(crowd.total)) clients connected" }

    private func subscribe(_ tag: Int, to people: [String]) -> Bool {
        let messages = dialect.subscription(to: people, batch: batch)
        for message in messages { engine.send(message, on: connections[tag]!) }
        if !messages.isEmpty, dialect.answersSubscriptions {
            unanswered[tag] = Int32(messages.count)
            return false
        }
        ready += 1
        return true
    }
}
