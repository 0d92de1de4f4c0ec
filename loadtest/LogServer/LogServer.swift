import ArgumentParser
import Foundation
import Installation
import Logging
import PresenceCore
import PresenceServer
import ProcessSignals
import Tokens

/// The server with two additional features: logs with computed entries (`Entries`), and jobs that only use a processor
/// (`Labour`).
@main
struct LogServer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "presence-log",
        abstract: "A server with logs and values in its own memory, and jobs that use a processor.",
        subcommands: [Serve.self])

    struct Serve: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Run the server.",
            discussion: """
                It has one shard. Of the settings it takes those that a load test changes, by their environment \
                variables, and refuses others. Once it serves, it prints the line `listening on URL`; it ends on SIGTERM.
                """)

        @Option(help: "The port to listen on; 0 picks a free one.")
        var port = 0

        @Option(help: ArgumentHelp("Where the secret is kept.", valueName: "dir"))
        var dataDir: String

        @Option(help: ArgumentHelp("The Redis of everything but logs and values.", valueName: "url"))
        var redis: String

        @Option(help: "Threads that serve: 1.")
        var shards = 1

        func validate() throws {
            guard shards == 1 else { throw ValidationError("--shards is 1: a log is in the memory of one shard") }
        }

        func run() async throws {
            signal(SIGPIPE, SIG_IGN)
            let (requests, request) = AsyncStream<Int32>.makeStream()
            let signals = ProcessSignals([SIGTERM, SIGINT]) { request.yield($0) }
            var configuration = ServerConfiguration()
            (configuration.port, configuration.shards) = (port, 1)
            try LogSettings.apply(ProcessInfo.processInfo.environment, into: &configuration)
            let secret = try DataDirectory(dataDir).secret()
            let server = Server(
                configuration: configuration,
                authenticator: try await Authenticator(configuration: configuration.auth, secret: secret),
                redis: redis, logger: Logger(label: "presence-log") { StreamLogHandler.standardError(label: $0) },
                features: Features.all + [Entries.self, Labour.self])
            let served = try await server.start()
            print("listening on ws://\(configuration.host):\(served)/v1/ws")
            fflush(nil)
            for await _ in requests { break }
            await server.stop()
            withExtendedLifetime(signals) {}
        }
    }
}

/// The settings that load tests of logs change, by their environment variables.
enum LogSettings {
    /// Applies the environment's settings.
    ///
    /// - Throws: a sentence that names the first server variable that is unknown here, or unreadable.
    static func apply(_ environment: [String: String], into configuration: inout ServerConfiguration) throws {
        for (name, value) in environment.sorted(by: { $0.key < $1.key }) where name.hasPrefix("PRESENCE_") {
            guard try set(name, value, &configuration) else {
                throw ValidationError("\(name)=\(value) is not a setting of this server")
            }
        }
    }

    private static func set(
        _ name: String, _ value: String, _ configuration: inout ServerConfiguration
    ) throws -> Bool {
        switch name.dropFirst("PRESENCE_".count) {
        case "LIMITS_LIMIT_LOOPBACK": configuration.limits.limitLoopback = value == "true"
        case "LIMITS_REQUESTS_PER_SECOND": configuration.limits.requestsPerSecond = try number(value)
        case "LIMITS_USER_REQUESTS_PER_SECOND": configuration.limits.userRequestsPerSecond = try number(value)
        case "HEARTBEAT_INTERVAL": configuration.heartbeat.interval = try seconds(value)
        case "SLOW_CONSUMER_TIMEOUT": configuration.slowConsumer.timeout = try seconds(value)
        default: return false
        }
        return true
    }

    private static func number(_ text: String) throws -> Int {
        guard let number = Int(text), number >= 0 else { throw ValidationError("\(text) is not a number") }
        return number
    }

    /// In milliseconds.
    private static func seconds(_ text: String) throws -> Int64 {
        guard text.hasSuffix("s"), let number = Int64(text.dropLast()), number > 0 else {
            throw ValidationError("\(text) is not a number of seconds, like 60s")
        }
        return number * 1_000
    }
}
