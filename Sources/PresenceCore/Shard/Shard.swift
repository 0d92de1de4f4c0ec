import EventLoops
import Glibc
import Installation
import Logging
import PresenceProtocol
import Redis
import Tokens
import WebSockets

/// One thread with one loop, and everything that runs on it: its sockets, its connections to Redis, its logic.
///
/// Other code calls the actor. Inside, libwebsockets and hiredis call plain synchronous code on the loop's thread:
/// there is no lock, no `await` and no change of threads on the data path.
package actor Shard {
    /// The actor's executor. The actor keeps it alive, as an executor requires.
    package nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let clock: ShardClock
    let store: any ConnectedStore
    let sockets: ShardSockets
    let logic: ShardLogic
    let server: WebSocketServer
    let workers: WorkerPools
    let transfers: Transfers
    private let logger: Logger
    /// Replaced as a whole when the keys change.
    private let tokens: CurrentAuthenticator

    private var wake: LoopTimer!
    private var endOfTurn: EndOfTurnHook!
    /// The shards of this process, including itself, for the metrics page.
    var family: [Shard] = []
    /// In seconds since 1970.
    var certificateExpiry: Int64?
    private var lastTick: Milliseconds = 0
    private var nextClockLog: Milliseconds = .min
    private var onceLive: [CheckedContinuation<Void, any Error>] = []
    /// Nothing new is started.
    private var isStopping = false

    package init(_ parts: Parts) throws {
        let configuration = parts.configuration
        loop = try EventLoop(name: parts.name)
        logger = parts.logger
        workers = parts.workers
        transfers = parts.transfers
        let loop = loop
        clock = ShardClock(now: loop.now)
        var options = RedisOptions()
        options.commandTimeout = configuration.commandTimeout
        store = parts.redis.store(
            loop: loop, options: options, partitions: Partitions(configuration, database: parts.redis.database),
            replicas: configuration.redis.wait, mostBytes: configuration.limits.redisBytes(of: parts.place.of),
            name: "presence")
        let proxies = TrustedProxies(configuration.trustedProxies.compactMap(AddressRange.init))
        sockets = ShardSockets(
            clock: clock, places: parts.places, addresses: parts.addresses, proxies: proxies,
            origins: AllowedOrigins(
                configuration.allowedOrigins, isLoopback: configuration.isLoopback(configuration.host)),
            logger: parts.logger
        ) { loop.now }
        let tokens = CurrentAuthenticator(parts.authenticator)
        self.tokens = tokens
        logic = ShardLogic(
            configuration: configuration, clock: clock, store: store, sockets: sockets,
            workers: ShardWorkers(parts.workers, loop: loop, clock: clock), executor: LoopTaskExecutor(loop),
            isAlone: parts.isAlone,
            random: BatchedRandom(), logger: parts.logger, place: parts.place,
            outboxBudget: parts.outboxes, failedTokens: parts.failedTokens, shared: parts.shared,
            database: parts.redis.database, features: parts.features,
            sign: { user, grant, lifetime, now in
                try? tokens.authenticator.maker?.make(user: user, lifetime: lifetime, grant: grant, now: now)
            }
        ) { tokens.authenticator.begin($0, now: $1) }
        var settings = WebSocketServerConfiguration()
        settings.subprotocols = ["presence.v1"]
        settings.maxMessageBytes = configuration.limits.maxMessageBytes
        settings.maxFirstMessageBytes = min(configuration.limits.maxMessageBytes, ShardLogic.mostOfConnect)
        settings.errorResponse = { status, message in
            switch status {
            case 413: .error(status, .init(code: .tooLarge, message: message))
            case 503: .error(status, .init(code: .unavailable, message: message, retryAfter: 1_000))
            default: .error(status, .init(code: .badRequest, message: message))
            }
        }
        settings.handshakeTimeout = configuration.handshakeTimeout
        settings.maxBodyBytes = RouteLimits.mostCollected
        settings.maxHandshakes = max(1, configuration.limits.handshakes / parts.place.of)
        settings.inbox = parts.inbox
        settings.answers = parts.outboxes.answers
        settings.proxies = proxies
        settings.servesTLS = parts.identity != nil
        // `ConnectionPlaces` enforces the process' own limit, over all shards.
        settings.maxConnections = 1_000_000
        server = try WebSocketServer(loop: loop, configuration: settings, delegate: sockets)
        sockets.logic = logic
        sockets.server = server
        if let identity = parts.identity { server.use(identity) }
        certificateExpiry = parts.identity?.expiry
    }

    // MARK: Starting

    /// Connects to Redis and returns once the shard is live.
    ///
    /// - Throws: ``StartFailure`` if Redis cannot be used, or if the shard was stopped before or meanwhile.
    package func start(family: [Shard]) async throws {
        if isStopping { throw StartFailure.stopped }
        self.family = family
        let loop = loop
        loop.reserveMemory()
        let clock = clock
        let logic = logic
        sockets.api = HTTPAPI(logic: logic, transfers: transfers) { [server] exchange, response, noted in
            server.respond(exchange, response, noted: noted)
        } acceptsGzip: { [server] exchange in
            server.acceptsGzip(exchange)
        } isAwaited: { [server] exchange in
            server.isAwaited(exchange)
        } settle: { [server] exchange, settlement in
            switch settlement {
            case .success(let admission): server.admit(exchange, grant: admission, sink: admission.sink)
            case .failure(let refusal): server.refuse(exchange, refusal.response)
            }
        } resumeBody: { [server] exchange in
            server.resumeBody(exchange)
        } giveUp: { [weak self] exchange in
            guard let self else { return }
            Task { await self.abortTransfer(exchange) }
        } respondMetrics: { [weak self] exchange in
            guard let self else { return }
            Task { await self.respondMetrics(exchange) }
        }
        store.onChange = { change in
            clock.advance(to: loop.now)
            logic.handle(change)
        }
        store.onEvent = { payload, partition in
            clock.advance(to: loop.now)
            logic.handle(event: payload, partition: partition)
        }
        store.onCanary = { payload in
            clock.advance(to: loop.now)
            logic.link.handle(canary: payload)
        }
        store.onOverheard = { payload in
            clock.advance(to: loop.now)
            logic.handle(overheard: payload)
        }
        store.onRoundTrip = { logic.metrics.redisRoundTrip.record($0) }
        store.onFewReplicas = {
            clock.advance(to: loop.now)
            logic.link.logFewReplicas($0)
        }
        logic.link.onLive = { [weak self] in self?.assumeIsolated { $0.becameLive() } }
        logic.link.onRefusal = { [weak self] reason in self?.assumeIsolated { $0.refuse(reason) } }
        wake = LoopTimer(loop) { [weak self] in self?.assumeIsolated { $0.tick() } }
        endOfTurn = loop.atEndOfTurn { [weak self] in self?.assumeIsolated { $0.endTurn() } }
        store.connect()
        logic.link.start()
        tick()
        try await withCheckedThrowingContinuation { onceLive.append($0) }
    }

    private func becameLive() { resumeWaiting(.success(())) }

    private func refuse(_ reason: String) {
        logger.error("refused", metadata: ["reason": .string(reason)])
        resumeWaiting(.failure(StartFailure(reason)))
    }

    private func resumeWaiting(_ result: Result<Void, any Error>) {
        let waiting = onceLive
        onceLive = []
        waiting.forEach { $0.resume(with: result) }
    }

    package func listen(on socket: ListeningSocket, as kind: ListenerKind) {
        if !isStopping { server.listen(on: socket, as: kind) }
    }

    /// Uses this certificate for new connections.
    package func use(_ identity: TLSIdentity) {
        if isStopping { return }
        server.use(identity)
        certificateExpiry = identity.expiry
    }

    /// Verifies tokens with these keys from now on. Clients stay connected until their token expires.
    package func use(_ authenticator: Authenticator) { tokens.authenticator = authenticator }

    // MARK: The loop

    /// Returns once the loop has processed the call.
    package func ping() {}

    private func tick() {
        clock.advance(to: loop.now)
        lastTick = clock.now
        logic.tick()
        watchClocks()
        logic.metrics.loopTurn.record(loop.takeLag().longestTurn)
    }

    /// Tokens are checked by Redis' clock: if it differs much from this host's, valid tokens are rejected, or expired
    /// tokens accepted. It is unknown which of the two clocks is wrong.
    private func watchClocks() {
        guard clock.now >= nextClockLog, let offset = clockOffset, abs(offset) > Self.tolerableOffset else { return }
        nextClockLog = clock.now + Self.clockLogPause
        logger.warning(
            "Redis' clock differs from this host's", metadata: ["redis_is_ahead_by_ms": "\(offset)"])
    }

    /// How far Redis' clock is ahead of this host's, in ms. Only reported, never used in calculations.
    var clockOffset: Milliseconds? {
        guard clock.redisOffset != nil else { return nil }
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return clock.redisNow - (Milliseconds(time.tv_sec) * 1_000 + Milliseconds(time.tv_nsec) / 1_000_000)
    }

    /// Hosts with synchronised clocks differ by less, and a round trip takes less.
    private static let tolerableOffset: Milliseconds = 2_000
    private static let clockLogPause: Milliseconds = 600_000

    private func endTurn() {
        clock.advance(to: loop.now)
        let began = loop.preciseNow
        let gathering = logic.endTurn()
        logic.socketWriter.turnEnded(after: (loop.preciseNow - began) / 1_000)
        // From the last tick and not from now: otherwise turns in quick succession would postpone it forever.
        let due = min(logic.nextWake, lastTick + ShardLogic.longestSleep)
        wake.set(at: min(max(due, clock.now + 1), clock.now + (gathering ?? ShardLogic.longestSleep)))
    }

    // MARK: Stopping

    /// Closes all connections with advice when to reconnect, and renews the lease once more: the sessions linger until it
    /// expires.
    package func drain() async {
        isStopping = true
        clock.advance(to: loop.now)
        server.stopListening()
        logic.drain()
        // The drain does not wait for clients that have left.
        while logic.departures > 0, server.openCount > 0 { try? await Task.sleep(for: .milliseconds(5)) }
        await withCheckedContinuation { continuation in
            logic.link.renewOnceMore { continuation.resume() }
        }
        let end = loop.now + ServerConfiguration.Drain.timeout
        while server.openCount > 0 || server.isAnswering, loop.now < end {
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    /// May be called before `start`, which then fails.
    package func stop() {
        isStopping = true
        wake?.cancel()
        server.shutdown()
        for feature in logic.features { feature.stop() }
        endOfTurn?.cancel()
        store.close()
        resumeWaiting(.failure(StartFailure.stopped))
        family = []
    }
}

/// A holder for the authenticator, since keys change while the shard runs. Used only on the shard's thread.
final class CurrentAuthenticator {
    var authenticator: Authenticator

    init(_ authenticator: Authenticator) { self.authenticator = authenticator }
}
