import Foundation
import Installation
import Logging
import PresenceCore
import PresenceServer
import Tokens

/// A server with its environment: data directory, tokens, and a Redis of its own if none is configured.
///
/// It starts and stops these in order: Redis is started first and stopped last.
actor Daemon {
    private let configuration: ServerConfiguration
    private let warnings: [StartWarning]
    private let logger: Logger
    private var redis: RedisServerProcess?
    private var server: Server?
    private var keys: KeyFiles
    private var secret: TokenSecret?
    private var keyWatch: Task<Void, Never>?
    private var isStopping = false
    private lazy var reloads = ReloadQueue { [weak self] in await self?.reload($0) }

    /// - Parameter warnings: Logged once the configuration is known to be valid.
    init(configuration: ServerConfiguration, warnings: [StartWarning] = [], logger: Logger) {
        self.configuration = configuration
        self.warnings = warnings
        self.logger = logger
        keys = KeyFiles(configuration.auth)
    }

    /// Starts everything and returns the port once it is served; `nil` if `stop()` was called meanwhile.
    ///
    /// - Throws: ``StartFailure`` or ``InvalidConfiguration``; nothing is left running.
    func start() async throws -> Int? {
        do {
            try configuration.validateListening()
            let directory = try DataDirectory(configuration.dataDirectory ?? DataDirectory.standardPath())
            secret = try directory.secret()
            _ = keys.haveChanged()
            let authenticator = try await readKeys()
            for warning in warnings {
                logger.warning("\(warning.text)", metadata: warning.file.map { ["file": "\($0)"] })
            }
            // `stop()` may have been called meanwhile, when there was no Redis to stop yet.
            if isStopping { return nil }
            let url = try await redisURL(directory)
            guard !isStopping else {
                await redis?.stop()
                return nil
            }
            let server = Server(configuration: configuration, authenticator: authenticator, redis: url, logger: logger)
            // From here on `stop()` also stops the server, even while it starts.
            self.server = server
            let port = try await server.start()
            guard !isStopping else {
                await stop()
                return nil
            }
            watchKeys()
            return port
        } catch {
            await redis?.stop()
            if isStopping { return nil }
            throw error
        }
    }

    private func readKeys() async throws -> Authenticator {
        let authenticator = try await Authenticator(configuration: configuration.auth, secret: secret)
        for reason in authenticator.passedOver {
            logger.warning("a key is passed over", metadata: ["reason": "\(reason)"])
        }
        return authenticator
    }

    /// Asks all clients to reconnect later, stops the shards, then Redis. Returns once everything has stopped.
    func stop() async {
        isStopping = true
        keyWatch?.cancel()
        await server?.stop()
        await redis?.stop()
    }

    /// Returns once each loop has answered.
    func ping() async { await server?.ping() }

    /// Reads again what may change at run time: the certificate, the keys of tokens, and the files of
    /// features. Returns before that is done.
    func reload() async {
        logger.notice("reloading")
        await reloads.want(.certificate, .keys, .files)
    }

    private func watchKeys() {
        guard configuration.auth.keyCheck > 0, !keys.isEmpty || configuration.hasChangingFiles else { return }
        keyWatch = Task { [reloads, interval = configuration.auth.keyCheck] in
            while (try? await Task.sleep(for: .milliseconds(interval))) != nil {
                await reloads.want(.changedKeys, .files)
            }
        }
    }

    private func reload(_ kind: ReloadQueue.Kind) async {
        switch kind {
        case .certificate: await server?.reloadCertificate()
        case .keys: await reloadKeys(always: true)
        case .changedKeys: await reloadKeys(always: false)
        case .files: await server?.reloadFiles()
        }
    }

    /// Reads the keys again. An invalid file is logged once after each change of the file, and the previous keys stay
    /// in use.
    private func reloadKeys(always: Bool) async {
        guard let server, !keys.isEmpty else { return }
        // Checking a file may take as long as reading it. ReloadQueue run one at a time, so no other check runs meanwhile.
        let looked = await PlainFile.apart { [keys] in
            var keys = keys
            return (hasChanged: keys.haveChanged(), keys: keys)
        }
        keys = looked.keys
        guard always || looked.hasChanged else { return }
        do {
            await server.use(try await readKeys())
            logger.notice("keys read anew")
        } catch {
            logger.error("keys not read anew: the old ones stay", metadata: ["reason": "\(error)"])
        }
    }

    private func redisURL(_ directory: DataDirectory) async throws -> String {
        if let url = configuration.redis.url { return url }
        let redis = try RedisServerProcess(
            directory: directory, appendfsync: configuration.redis.appendfsync, logger: logger)
        self.redis = redis
        try await redis.start()
        return redis.url
    }
}
