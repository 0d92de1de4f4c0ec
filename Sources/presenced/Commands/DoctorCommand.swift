import ArgumentParser
import Foundation
import Installation
import PresenceCore
import PresenceServer

/// Compares what Redis holds with the live leases.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look for what is wrong in Redis: ghosts, orphans, leases nobody reaps.",
        discussion: """
            It looks at the Redis that the server with the same settings would use: the configured one, else the one that \
            a server runs for itself in its data directory. Servers may run meanwhile. It takes a few seconds where \
            something looks wrong, since that is looked at twice. While slots of a cluster move it gives up after some tries.

            Exit status: 0 if all is well, 1 if something is wrong (with --repair: still wrong), 2 if it could not look, 74 \
            if the report could not be printed.

            EXAMPLES
              presenced doctor --config /etc/presence/presenced.yaml
              presenced doctor --data-dir ./data --repair
              presenced doctor --redis redis://127.0.0.1 --json
            """)

    @Option(help: ArgumentHelp("A configuration file (YAML), as the server has it.", valueName: "file"))
    var config: String?

    @Option(
        help: ArgumentHelp(
            "The Redis to look at: redis://…, unix://…, redis+sentinel://… or redis+cluster://…, rediss… over TLS.",
            valueName: "url"))
    var redis: String?

    @Option(help: ArgumentHelp("The data directory of a server with a Redis of its own.", valueName: "dir"))
    var dataDir: String?

    @Flag(help: "Clear what is safely wrong.")
    var repair = false

    @Flag(help: "Report in JSON.")
    var json = false

    func run() async throws {
        signal(SIGPIPE, SIG_IGN)
        let report: DoctorReport
        do {
            var flags: [String: String] = [:]
            flags["redis.url"] = redis
            flags["dataDirectory"] = dataDir
            let sources = ConfigurationSources(
                flags: flags, environment: ProcessInfo.processInfo.environment, file: config)
            let configuration = try sources.read()
            for warning in sources.warnings(of: configuration) { warn(of: warning) }
            let doctor = try Doctor(url: try Doctor.place(of: configuration), configuration: configuration)
            report = repair ? try doctor.repair() : try doctor.examine()
        } catch {
            StandardError.print("\(error)")
            throw ExitCode(ExitStatus.couldNotLook)
        }
        try StandardOutput.print(json ? report.json : report.text)
        if !report.isHealthy { throw ExitCode(ExitStatus.failure) }
    }

    /// They are no matter of Redis, and so no findings; but an administrator wants to know.
    private func warn(of warning: StartWarning) {
        let text = [warning.text, warning.file].compactMap(\.self).joined(separator: ": ")
        StandardError.print(text)
    }
}
