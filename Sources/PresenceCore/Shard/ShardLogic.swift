import Logging
import PresenceProtocol
import Redis
import Tokens
import WebSockets

/// All decisions of a shard, between its ports: inputs are messages, replies, events and the time; outputs are calls of
/// `Sockets`, `Store` and `WorkerThreads`. It does no I/O, uses no threads and reads no clock, so the same code runs in
/// the server and in the simulator. Everything is synchronous: one input is handled completely before the next.
package final class ShardLogic {
    package let configuration: ServerConfiguration
    package let clock: ShardClock
    package let partitions: Partitions
    /// Where past statuses are kept; `nil` if no feature keeps any.
    package let past: PastStatuses?
    package let store: any Store
    let sockets: any Sockets
    package let jobs: Jobs
    package let tasks: ShardTasks
    package let metrics = Metrics()
    package let outboxes: Outboxes
    /// The rate limit of one connection; `nil` if there is none.
    let connectionRate: RateLimit?
    package var userRates: Rates<UserID>
    /// For calls without a token.
    var addressRates: Rates<AddressBlock>
    package let failedTokens: FailedTokens
    package let shared: SharedObjects
    package var deadlines = Deadlines()
    package let watchers: Watchers
    /// `nil` if every shard receives all events.
    package let interests: Interests?
    package let socketWriter: SocketWriter
    package let replies: Replies
    private(set) var longAnswers: LongAnswers!
    let awaitedProfiles = AwaitedProfiles()
    var pendingShares: PendingShares
    /// A fault for tests, which have to find it: requests of a connection overtake each other.
    var letsRequestsPass = false
    package var catchUps: CatchUps { socketWriter.catchUps }
    package var logReader: LogReader { socketWriter.logReader }
    package private(set) var link: ShardMembership!
    package private(set) var sessions: Sessions!
    package private(set) var loader: TopicLoader!
    private(set) var reaper: Reaper!
    package private(set) var policies: VisibilityPolicies!
    package private(set) var intents: Intents!
    private(set) var features: [any Feature] = [] {
        didSet {
            featuresByType = Dictionary(uniqueKeysWithValues: features.map { (ObjectIdentifier(type(of: $0)), $0) })
        }
    }
    private var featuresByType: [ObjectIdentifier: any Feature] = [:]
    private(set) var registry = Registry()
    let verify: (_ token: String, _ now: Timestamp) -> Authenticator.Verification
    package let sign: TokenSigner
    package var random: any RandomNumberGenerator
    /// Called with the kind and partition of each event, for a feature that tracks activity by partition.
    package var overhear: ((_ kind: UInt8, _ partition: Int) -> Void)?
    /// As `overhear`, but with the event itself, valid during the call, while an operator observes a user.
    var observe: ((StoreEvent) -> Void)?
    /// `nil` at the log levels above debug.
    let trace: RequestTrace?
    private let logger: Logger
    /// The shard's number in the process, and their count.
    package let place: (number: Milliseconds, of: Milliseconds)
    package var bodyMark: BodyMark?
    /// The server's settings in each `connected`, encoded once.
    lazy var settingsOfConnected = ServerMessageWriter.settings(
        heartbeatInterval: configuration.heartbeat.interval, heartbeatTimeout: configuration.heartbeat.timeout,
        linger: configuration.linger, limits: connectionLimits)
    /// Each asks a feature to drop this many bytes of pending data that the feature can read again, and returns how
    /// many bytes were dropped.
    package var onExcess: [(Int) -> Int] = []
    var isDraining = false
    private var nextDamageLog: Milliseconds = .min
    private var sparseLog = SparseLog()
    var standstills = 0
    /// Connections that are still to be closed by a drain.
    var departures = 0

    package init(
        configuration: ServerConfiguration, clock: ShardClock, store: any Store, sockets: any Sockets,
        workers: any WorkerThreads, executor: any TaskExecutor, isAlone: Bool, random: any RandomNumberGenerator,
        logger: Logger,
        place: (number: Int, of: Int) = (0, 1), outboxBudget: OutboxBudget? = nil, failedTokens: FailedTokens? = nil,
        shared: SharedObjects = SharedObjects(), database: Int = 0, features: [any Feature.Type],
        sign: @escaping TokenSigner = { _, _, _, _ in nil },
        verify: @escaping (String, Timestamp) -> Authenticator.Verification
    ) {
        self.configuration = configuration
        self.clock = clock
        let trace = logger.logLevel <= .debug ? RequestTrace() : nil
        self.trace = trace
        let hasOffers = configuration.needsOffers(for: features)
        self.store = hasOffers || trace != nil ? KeyAddingStore(store, hasOffers: hasOffers, trace) : store
        self.sockets = sockets
        jobs = Jobs(workers)
        tasks = ShardTasks(on: executor, trace)
        self.random = random
        self.logger = logger
        self.place = (Milliseconds(place.number), Milliseconds(place.of))
        self.verify = verify
        self.sign = sign
        partitions = Partitions(configuration, database: database)
        past = configuration.past(of: features)
        let limits = configuration.limits
        outboxes = Outboxes(outboxBudget ?? OutboxBudget(limits.outboxBytes))
        connectionRate = RateLimit(perSecond: limits.requestsPerSecond, burst: limits.requestBurst)
        self.failedTokens = failedTokens ?? FailedTokens(limits)
        self.shared = shared
        userRates = Rates(RateLimit(perSecond: limits.userRequestsPerSecond, burst: limits.userRequestBurst))
        pendingShares = PendingShares(of: limits.redisBytes(of: place.of))
        addressRates = Rates(RateLimit(perSecond: limits.userRequestsPerSecond, burst: limits.userRequestBurst))
        watchers = Watchers(metrics: metrics)
        let interests =
            partitions.space.hasInterests
            ? Interests(store: self.store, partitions: partitions, clock: clock) : nil
        self.interests = interests
        if let interests {
            watchers.onMake = { interests.want($0) }
            watchers.onGone = { interests.release($0) }
        }
        socketWriter = SocketWriter(
            watchers: watchers, sockets: sockets, clock: clock, metrics: metrics, outboxes: outboxes)
        replies = Replies(watchers: watchers, sockets: sockets, limits: limits, metrics: metrics, outboxes: outboxes)
        longAnswers = LongAnswers(self)
        link = ShardMembership(self, isAlone: isAlone)
        sessions = Sessions(self)
        loader = TopicLoader(self)
        reaper = Reaper(self)
        policies = VisibilityPolicies(self)
        intents = Intents(self)
        watchers.onDiscard = { [unowned self] in policies.forgetIfUnused($0) }
        clock.onPause = { [unowned self] in stoodStill(for: $0) }
        socketWriter.onCongestion = { [unowned self] in
            deadlines.set(.congestion($0.socket), at: self.clock.now + configuration.slowConsumer.timeout)
        }
        plug(in: features)
    }

    private func plug(in types: [any Feature.Type]) {
        features = configuration.enabled(types).map { $0.init(self) }
        for feature in features { feature.register(in: &registry) }
        watchers.register(registry.topicKinds)
        intents.add(registry.intents)
        socketWriter.ownMessages = registry.ownMessages
    }

    /// A feature by its type; `nil` if it is disabled.
    package func feature<Wanted: Feature>(_ type: Wanted.Type) -> Wanted? {
        featuresByType[ObjectIdentifier(type)] as? Wanted
    }

    // MARK: Inputs: sockets

    /// `address`: the block for which failed tokens are counted.
    package func opened(_ socket: SocketID, headerToken: String?, address: AddressBlock = .none) {
        let connection = Connection(
            socket: socket, headerToken: headerToken, address: address, now: clock.now, firstPing: nextPing)
        watchers.add(connection)
        metrics.connectionsOpened += 1
        scheduleCheck(of: connection, clock.now + min(configuration.connectTimeout, configuration.heartbeat.interval))
    }

    package func heard(_ socket: SocketID) {
        watchers[socket]?.lastHeard = clock.now
    }

    func writable(_ socket: SocketID) {
        guard let connection = watchers[socket] else { return }
        connection.congestedSince = nil
        outboxes.change(by: -Int(connection.unsent))
        connection.unsent = 0
        watchers.set(.congested, false, on: connection)
        replies.adjustReading(of: connection)
    }

    /// `code`: the close code of the peer or of this server; `nil` if the connection was lost without one.
    /// `hadCloseFrame`: also true without a code.
    func closed(_ socket: SocketID, code: UInt16?, hadCloseFrame: Bool) {
        guard let connection = watchers[socket] else { return }
        let code = connection.closedWith?.rawValue ?? code ?? (hadCloseFrame ? 1005 : 1006)
        metrics.countClose(code)
        // A client's close frame is the last thing that was received from it.
        if hadCloseFrame, connection.closedWith == nil { connection.lastHeard = clock.now }
        jobs.cancel(of: socket)
        dropHeld(of: connection)
        outboxes.release(connection)
        watchers.close(connection)
        watchers.remove(connection)
        replies.abandon(connection)
        guard let session = connection.session else { return }
        sessions.lost(session, lastHeard: connection.lastHeard, CloseCode(rawValue: code))
    }

    // MARK: Inputs: Redis

    package func handle(_ change: StoreChange) { link.handle(change) }

    // MARK: Inputs: time

    /// Handles what is due. Called at `nextWake`, and at least every `longestSleep`.
    func tick() {
        link.tick()
        userRates.expire(now: clock.now)
        catchUps.tick()
        logReader.tick()
        while let subject = deadlines.popDue(clock.now) { due(subject) }
    }

    var nextWake: Milliseconds { min(deadlines.next ?? .max, link.nextWake) }

    /// The end of the loop's turn: writes pending data, or returns how long the data may wait at most.
    func endTurn() -> Milliseconds? {
        let before = metrics.deliveries
        let wait = socketWriter.flush(commandsPending: store.pending)
        // (Deferred changes are written with the next flush.)
        if trace != nil, wait == nil || metrics.deliveries > before { logDeliveries(metrics.deliveries - before) }
        boundOutboxes()
        interests?.tick()
        return wait
    }

    private func due(_ subject: Deadlines.Subject) {
        switch subject {
        case .heartbeat(let socket):
            if let connection = watchers[socket] { heartbeat(connection) }
        case .beat(let time):
            for socket in deadlines.takeBeat(time) {
                if let connection = watchers[socket] { heartbeat(connection) }
            }
        case .congestion(let socket):
            guard let connection = watchers[socket], let since = connection.congestedSince else { return }
            let end = since + configuration.slowConsumer.timeout
            if clock.now >= end { close(connection, .tooSlow) } else { deadlines.set(subject, at: end) }
        case .linger(let number): sessions.lingerOver(number)
        case .lapse(let user): sessions.lapse(user)
        case .report(let session): sessions.storeAgain(session)
        case .renumber(let user): loader.renumberAgain(user)
        case .departure(let socket, let wait):
            departures -= 1
            if let connection = watchers[socket] { sendAway(connection, reconnectAfter: wait) }
        case .policy(let user): policies.retry(user)
        case .intents: intents.sweep()
        case .feature(let kind), .onlyFeature(let kind): registry.deadlines[Int(kind.index)](.none)
        case .featureNumber(let kind, let number): registry.deadlines[Int(kind.index)](.number(number))
        case .featureID(let kind, let id): registry.deadlines[Int(kind.index)](.id(id))
        }
    }

    // MARK: Helpers of the parts

    /// Closes with a code; the consequences for the session follow with `closed`.
    package func close(_ connection: Connection, _ code: CloseCode, reason: String = "") {
        guard !connection.isClosed else { return }
        // Replies before the close are still written.
        socketWriter.flush(now: connection)
        jobs.cancel(of: connection.socket)
        dropHeld(of: connection)
        outboxes.release(connection)
        watchers.close(connection)
        connection.closedWith = code
        // The session's end does not wait until the peer answers the close.
        if let session = connection.session {
            sessions.lost(session, lastHeard: connection.lastHeard, code, reason: reason)
        }
        sockets.close(connection.socket, code: code, reason: reason)
    }

    /// The store rejects this session: the client may try again. While Redis rejects writes, all new sessions are
    /// affected.
    package func refuse(_ connection: Connection, _ message: String) {
        logSparsely("session refused", ["reason": message], level: .warning)
        close(connection, .tryAgainLater, reason: reconnectAdvice())
    }

    /// Redis has a record that no server has written: clients do not get it, and `presenced doctor` finds it. Once a
    /// minute the log names the partition, since ids must not appear in logs.
    package func recordDamage(_ what: String, of id: Identifier) {
        metrics.damagedRecords += 1
        guard clock.now >= nextDamageLog else { return }
        nextDamageLog = clock.now + 60_000
        log("damaged record", ["what": what, "partition": "\(partitions.index(of: id))"], level: .error)
    }

    package func log(_ event: String, _ fields: [String: String] = [:], level: Logger.Level = .info) {
        logger.log(level: level, "\(event)", metadata: fields.mapValues { .string($0) })
    }

    /// Logs events that clients can cause: at most once a second, with the number of events.
    package func logSparsely(_ event: String, _ fields: [String: String] = [:], level: Logger.Level) {
        guard let count = sparseLog.count(event, at: clock.now) else { return }
        log(event, fields.merging(["count": "\(count)"]) { $1 }, level: level)
    }
}
