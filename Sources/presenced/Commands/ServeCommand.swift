import ArgumentParser
import Foundation
import Installation
import Logging
import PresenceCore
import PresenceServer
import ProcessSignals

/// Runs the server until it is told to stop.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the server.",
        discussion: """
            Settings come from flags, else from environment variables (PRESENCE_PORT, PRESENCE_HEARTBEAT_INTERVAL …), \
            else from the file, else they are built in. config/presenced.yaml explains each of them.

            Once it serves, it prints one line, "listening on ws://HOST:PORT/v1/ws" (wss:// with TLS), on standard \
            output. Logs go to standard error. SIGTERM and SIGINT end it in order, a second one at once; SIGHUP reads \
            the certificate and the keys of tokens anew, unless it says that the terminal is gone.

            EXAMPLES
              presenced serve
              presenced serve --accounts --app --console --data-dir ./data
              presenced serve --config /etc/presence/presenced.yaml
            """)

    @Option(help: ArgumentHelp("A configuration file (YAML).", valueName: "file"))
    var config: String?

    @Option(help: ArgumentHelp("The address to listen on (default: 127.0.0.1).", valueName: "host"))
    var host: String?

    @Option(help: ArgumentHelp("The port to listen on; 0 picks a free one (default: 4040).", valueName: "port"))
    var port: Int?

    @Option(
        help: ArgumentHelp(
            "The Redis to use: redis://…, unix://…, redis+sentinel://… or redis+cluster://…, rediss… over TLS (default: one of its own).",
            valueName: "url"))
    var redis: String?

    @Option(
        help: ArgumentHelp(
            "Where the secret and the data are kept (default: \(DataDirectory.standardPath())).", valueName: "dir"))
    var dataDir: String?

    @Option(help: ArgumentHelp("Threads that serve (default: one for each core).", valueName: "n"))
    var shards: Int?

    @Flag(help: "Let another server listen on the same port; the kernel spreads the connections.")
    var sharePort = false

    @Flag(help: "Let people sign up and sign in here, by e-mail and password.")
    var accounts = false

    @Flag(help: "Serve the app: pages at /app on which people sign up, sign in and see each other.")
    var app = false

    @Flag(help: "Serve the console: pages for operators at /console, for this machine or on api.port.")
    var console = false

    @Option(help: ArgumentHelp("trace, debug, info, notice, warning, error or critical.", valueName: "level"))
    var logLevel: String?

    /// What was said on the command line, by the keys of the configuration.
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
        // 0 in the file leaves the choice to the server; a flag is a choice already.
        if let shards, shards < 1 { throw ValidationError("--shards must be at least 1") }
    }

    func run() async throws {
        let sources = ConfigurationSources(
            flags: flags, environment: ProcessInfo.processInfo.environment, file: config)
        let configuration = try await Self.explainingFailure { try sources.read() }
        signal(SIGPIPE, SIG_IGN)
        OpenFileLimit.raise()
        let terminal = Terminal()
        let (requests, request) = AsyncStream<Int32>.makeStream()
        // To stop by SIGTERM and SIGINT; to reload by SIGHUP, or to stop (see `Terminal`).
        let signals = ProcessSignals([SIGTERM, SIGINT, SIGHUP]) { request.yield($0) }
        let logger = Logger(label: "presenced") { _ in LineLogHandler(level: configuration.logLevel) }
        let daemon = Daemon(
            configuration: configuration, warnings: sources.warnings(of: configuration), logger: logger)
        let manager = try await Self.explainingFailure { try ServiceManager() }
        // Not for the children.
        for variable in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] { unsetenv(variable) }

        let starting = Task {
            guard let port = try await daemon.start() else { return }
            let scheme = configuration.tls.isOn ? "wss" : "ws"
            let line = "listening on \(scheme)://\(Self.urlHost(configuration.host)):\(port)/v1/ws"
            manager?.ready(status: line)
            // Until the process ends: the loops answer until then.
            Task { await manager?.keepAlive { await daemon.answer() } }
            // It serves all the same: the caller may not care for the line.
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
                // (A terminal that goes may say so more than once.)
                for await number in requests where number != SIGHUP { _exit(128 + number) }
            }
            await daemon.stop()
            impatience.cancel()
        }
        try await Self.explainingFailure { try await starting.value }
        await stopping.value
        withExtendedLifetime(signals) {}
        logger.notice("stopped")
    }

    /// An IPv6 address stands in brackets in a URL.
    private static func urlHost(_ host: String) -> String {
        host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    }

    /// Ends the command with a sentence on standard error and the status that belongs to it.
    private static func explainingFailure<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            StandardError.print("\(error)")
            throw ExitCode(error is InvalidConfiguration ? ExitStatus.badConfiguration : ExitStatus.failure)
        }
    }
}
