import Glibc
import Installation
public import Logging
import PresenceCore
import Redis
import Tokens
import WebSockets

/// A server: one shard per core, all on one port. Shards meet only in Redis.
public actor Server {
    private let configuration: ServerConfiguration
    private var authenticator: Authenticator
    private let features: [any Feature.Type]
    private let redis: String
    private let logger: Logger
    private var shards: [Shard] = []
    private let objects = SharedObjects()
    private var workers: WorkerPools?
    private var port: ListeningPort?
    private var apiPort: ListeningPort?
    /// The latest call of `stop`, for which later calls wait. Once it is set, nothing more is started.
    private var stopping: Task<Void, Never>?

    /// - Parameter redis: The URL of the Redis to use: the configured Redis, or the server's own.
    public init(
        configuration: ServerConfiguration, authenticator: Authenticator, redis: String, logger: Logger
    ) {
        self.init(
            configuration: configuration, authenticator: authenticator, redis: redis, logger: logger,
            features: Features.all)
    }

    /// For a server with other features than the product's.
    package init(
        configuration: ServerConfiguration, authenticator: Authenticator, redis: String, logger: Logger,
        features: [any Feature.Type]
    ) {
        self.features = features
        self.configuration = configuration
        self.authenticator = authenticator
        self.redis = redis
        self.logger = logger
    }

    /// Starts the shards and returns the port once the server can serve clients.
    ///
    /// - Throws: ``StartFailure`` if the port is taken, the URL is invalid, Redis holds another installation's data, or
    ///   `stop()` was called; ``InvalidConfiguration`` if files that `validateListening()` checks have changed since.
    public func start() async throws -> Int {
        if stopping != nil { throw StartFailure.stopped }
        do {
            return try await startShards()
        } catch {
            await stop()
            throw error is InvalidConfiguration ? error : error as? StartFailure ?? StartFailure("\(error)")
        }
    }

    private func startShards() async throws -> Int {
        LibraryErrors.log(to: logger)
        let location = try configuration.redis.location(redis)
        TimeZones.load()
        try configuration.validateListening()
        let identity = try configuration.tls.identity()
        if let identity { logExpiry(of: identity, isNew: false) }
        let port = try ListeningPort(
            host: configuration.host, port: configuration.port, share: configuration.sharePort)
        self.port = port
        if let number = configuration.api.port {
            apiPort = try ListeningPort(host: configuration.api.host, port: number, share: configuration.sharePort)
        }
        let count = configuration.shards ?? max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let room = DescriptorRoom(of: DescriptorRoom.limit, shards: count, limits: configuration.limits)
        if let most = configuration.limits.maxConnections, most > room.webSockets {
            logger.warning(
                "limits.maxConnections is more than the limit of open files has room for",
                metadata: ["connections": "\(most)", "room": "\(room.webSockets)"])
        }
        let places = ConnectionPlaces(configuration.limits.maxConnections ?? room.webSockets)
        var shared = configuration
        shared.limits.handshakes = room.handshakes
        shared.port = port.port
        let addresses = AddressLimits(configuration.limits)
        let failedTokens = FailedTokens(configuration.limits)
        let outboxes = OutboxBudget(
            configuration.limits.outboxBytes, shards: count, countsLoopback: configuration.limits.limitLoopback)
        let inbox = AddressBudget(configuration.limits)
        let workers = WorkerPools(WorkerPlan.all(of: configuration.enabled(features)), configuration)
        self.workers = workers
        let transfers = Transfers(configuration.limits)
        for index in 0..<count {
            let shard = try Shard(
                .init(
                    configuration: shared, authenticator: authenticator, redis: location, places: places,
                    addresses: addresses, failedTokens: failedTokens, outboxes: outboxes, inbox: inbox,
                    workers: workers, transfers: transfers, shared: objects,
                    isAlone: configuration.redis.url == nil, logger: logger,
                    name: "shard-\(index)", place: (index, count), identity: identity, features: features))
            shard.loop.start()
            shards.append(shard)
        }
        let shards = shards
        try await withThrowingTaskGroup(of: Void.self) { group in
            for shard in shards { group.addTask { try await shard.start(family: shards) } }
            try await group.waitForAll()
        }
        for shard in shards {
            await shard.listen(on: try port.socket(), as: ListenerKind(isSecure: identity != nil, tag: publicTag))
            if let apiPort {
                let kind = ListenerKind(isSecure: configuration.isAPISecure, tag: ListenerRole.back.rawValue)
                await shard.listen(on: try apiPort.socket(), as: kind)
            }
        }
        if let apiPort {
            logger.notice("api", metadata: ["address": "\(apiPort.host)", "port": "\(apiPort.port)"])
        }
        return port.port
    }

    /// Verifies tokens with the keys of this authenticator from now on.
    public func use(_ authenticator: Authenticator) async {
        self.authenticator = authenticator
        for shard in shards { await shard.use(authenticator) }
    }

    /// Returns once the loop of each shard has completed a turn; does not return while one of them hangs.
    public func ping() async {
        for shard in shards { await shard.ping() }
    }

    /// Reads the features' files again that may change at run time.
    public func reloadFiles() async {
        for feature in configuration.enabled(features) {
            await feature.plan.reload?(configuration, objects, logger)
        }
    }

    private var publicTag: UInt8 { (configuration.api.port == nil ? ListenerRole.only : .front).rawValue }

    // MARK: Certificates

    /// Reads the certificate and its key again and uses them for new connections; existing connections continue. If the files
    /// are invalid, the error is logged and nothing changes.
    public func reloadCertificate() async {
        let tls = configuration.tls
        // A blocked read of these files must not block the server: it can still be stopped.
        let result = await PlainFile.apart { Result { try tls.identity() } }
        do {
            guard let identity = try result.get() else { return }
            for shard in shards { await shard.use(identity) }
            logExpiry(of: identity, isNew: true)
        } catch {
            logger.error("certificate not reloaded", metadata: ["reason": "\(error)"])
        }
    }

    /// - Parameter isNew: Whether this is a reload. At the start, `startWarnings` already reports exposed key files.
    private func logExpiry(of identity: TLSIdentity, isNew: Bool) {
        let left = identity.expiry - Int64(time(nil))
        logger.notice("certificate", metadata: ["days": "\(left / 86_400)"])
        if left <= 0 { logger.warning("the certificate has expired: clients will refuse it") }
        if isNew, identity.isKeyExposed {
            let file = configuration.tls.keyFile ?? ""
            logger.warning("other users can read the certificate's key", metadata: ["file": "\(file)"])
        }
    }

    /// Asks all clients to reconnect later, then stops. May be called at any time and repeatedly.
    public func stop() async {
        // Calls run one after the other, so that a second `stop` does not interfere with the first.
        let before = stopping
        let task = Task {
            await before?.value
            await end()
        }
        stopping = task
        await task.value
    }

    private func end() async {
        let shards = shards
        self.shards = []
        await withTaskGroup(of: Void.self) { group in
            for shard in shards { group.addTask { await shard.drain() } }
        }
        // The pools stop before the loops, because running jobs still deliver their results to them.
        let workers = workers
        self.workers = nil
        let late = await workers?.stop(within: ServerConfiguration.Drain.timeout) ?? []
        if !late.isEmpty {
            logger.error("jobs did not end in time", metadata: ["pools": "\(late.joined(separator: ", "))"])
        }
        for shard in shards {
            await shard.stop()
            shard.loop.stop()
            shard.loop.join()
        }
        port = nil
        apiPort = nil
    }
}
