import ArgumentParser
import Foundation
import Installation
import Logging
import PresenceCore
import PresenceServer
import ProcessSignals

/// Runs the server until a signal stops it.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the server.",
        discussion: """
            Settings come from flags, else environment variables (PRESENCE_PORT, PRESENCE_HEARTBEAT_INTERVAL …), \
            else the file, else built-in defaults. config/presenced.yaml explains each of them.

            Once it serves, it prints one line, "listening on ws://HOST:PORT/v1/ws" (wss:// with TLS), on standard \
            output. Logs go to standard error. SIGTERM and SIGINT stop it gracefully, a second one at once; SIGHUP reads \
            the certificate and the keys of tokens again, unless it means that the terminal was closed.

            EXAMPLES
              presenced serve
              presenced serve --accounts --app --console --data-dir ./data
              presenced serve --config /etc/presence/presenced.yaml
            """)

    @Option(help: ArgumentHelp("A configuration file (YAML).", valueName: "file"))
    var config: String?

    @Option(help: .setting("host", "host"))
    var host: String?

    @Option(help: .setting("port", "port"))
    var port: Int?

    @Option(
        help: .setting(
            "redis.url", "url",
            standard: "a built-in one; else redis://…, unix://…, redis+sentinel://… or redis+cluster://…, with rediss "
                + "for TLS"))
    var redis: String?

    @Option(help: .setting("dataDirectory", "dir", standard: DataDirectory.standardPath()))
    var dataDir: String?

    @Option(help: .setting("shards", "n", standard: "one for each core"))
    var shards: Int?

    @Flag(help: .setting("sharePort"))
    var sharePort = false

    @Flag(help: .setting("accounts.enabled"))
    var accounts = false

    @Flag(help: .setting("app.enabled"))
    var app = false

    @Flag(help: .setting("console.enabled"))
    var console = false

    @Option(help: .setting("logLevel", "level"))
    var logLevel: String?

    /// The settings of the command line, by their keys in the configuration.
    var flags: [String: String] {
        var flags: [String: String] = [:]
        flags["host"] = host
        flags["port"] = port.map { "\($0)" }
        flags["redis.url"] = redis
        flags["dataDirectory"] = dataDir
        flags["shards"] = shards.map { "\($0)" }
        if sharePort { flags["sharePort"] = "true" }
        if accounts { flags["accounts.enabled"] = "true" }
        if app { flags["app.enabled"] = "true" }
        if console { flags["console.enabled"] = "true" }
        flags["logLevel"] = logLevel
        return flags
    }

    func validate() throws {
        // In the file, 0 leaves the number to the server; a flag must name one.
        if let shards, shards < 1 { throw ValidationError("--shards must be at least 1") }
    }

    func run() async throws {
        let sources = ConfigurationSources(
            flags: flags, environment: ProcessInfo.processInfo.environment, file: config)
        let configuration = try await StandardError.explaining(as: Self.status) { try sources.read() }
        OpenFileLimit.raise()
        let terminal = Terminal()
        let (requests, request) = AsyncStream<Int32>.makeStream()
        // SIGTERM and SIGINT stop the server. SIGHUP reloads, or also stops it (see `Terminal`).
        let signals = ProcessSignals([SIGTERM, SIGINT, SIGHUP]) { request.yield($0) }
        let logger = Logger(label: "presenced") { _ in LineLogHandler(level: configuration.logLevel) }
        let daemon = Daemon(
            configuration: configuration, warnings: sources.warnings(of: configuration), logger: logger)
        let manager = try await StandardError.explaining(as: Self.status) { try ServiceManager() }
        // Child processes must not inherit these.
        for variable in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] { unsetenv(variable) }

        let starting = Task {
            guard let port = try await daemon.start() else { return }
            let scheme = configuration.tls.isOn ? "wss" : "ws"
            let line = "listening on \(scheme)://\(Self.urlHost(configuration.host)):\(port)/v1/ws"
            manager?.ready(status: line)
            // Runs until the process ends, because the loops answer until then.
            Task { await manager?.keepAlive { await daemon.ping() } }
            // The server runs anyway, because the caller may not need the line.
            if !StandardOutput.write(line + "\n") {
                logger.warning("standard output cannot be written", metadata: ["line": "\(line)"])
            }
        }
        let stopping = Task {
            for await number in requests {
                if number == SIGHUP, !terminal.isGone {
                    manager?.reloading()
                    await daemon.reload()
                    manager?.reloaded()
                    continue
                }
                logger.notice("stopping", metadata: ["signal": "\(number)"])
                manager?.stopping()
                break
            }
            let impatience = Task {
                // A terminal may send SIGHUP more than once when it closes.
                for await number in requests where number != SIGHUP { _exit(128 + number) }
            }
            await daemon.stop()
            impatience.cancel()
        }
        try await StandardError.explaining(as: Self.status) { try await starting.value }
        await stopping.value
        withExtendedLifetime(signals) {}
        logger.notice("stopped")
    }

    private static func status(_ error: any Error) -> Int32 {
        error is InvalidConfiguration ? ExitStatus.badConfiguration : ExitStatus.failure
    }

    /// In a URL, an IPv6 address is in brackets.
    private static func urlHost(_ host: String) -> String {
        host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    }
}

extension ArgumentHelp {
    /// The explanation of the setting that a flag sets.
    ///
    /// - Parameter standard: The default, if the server chooses it.
    fileprivate static func setting(_ key: String, _ valueName: String? = nil, standard: String? = nil) -> Self {
        let setting = ServerConfiguration.settings.first { $0.key == key }!
        let standard = standard ?? setting.write(ServerConfiguration())[0]
        return Self(
            valueName == nil ? setting.about : "\(setting.about) (default: \(standard))", valueName: valueName)
    }
}
