import ArgumentParser
import Foundation
import Installation
import PresenceCore
import PresenceServer

/// Compares the data in Redis with the live leases.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Find errors in Redis, such as ghosts, orphans and leases that no server reaps.",
        discussion: """
            It checks the Redis that a server with the same settings would use: the configured one, else the one that \
            a server runs for itself in its data directory. Servers may keep running. It takes a few seconds if \
            something looks wrong, because it checks that twice. While slots of a cluster move it gives up after a few attempts.

            Exit status: 0 if all is well, 1 if something is wrong (with --repair: still wrong), 2 if the check was \
            not possible, 74 if the report could not be printed.

            EXAMPLES
              presenced doctor --config /etc/presence/presenced.yaml
              presenced doctor --data-dir ./data --repair
              presenced doctor --redis redis://127.0.0.1 --json
            """)

    @OptionGroup var place: ServerPlace

    @Flag(help: "Repair errors where that is safe.")
    var repair = false

    @Flag(help: "Report in JSON.")
    var json = false

    func run() async throws {
        let report = try await StandardError.explaining(as: { _ in ExitStatus.couldNotLook }) {
            let configuration = try place.sources.read()
            for warning in place.sources.warnings(of: configuration) { warn(of: warning) }
            let doctor = try Doctor(url: Doctor.place(of: configuration), configuration: configuration)
            return repair ? try doctor.repair() : try doctor.examine()
        }
        try StandardOutput.print(json ? report.json : report.text)
        if !report.isHealthy { throw ExitCode(ExitStatus.failure) }
    }

    /// Warnings are not about Redis, so they are not findings, but an administrator should see them.
    private func warn(of warning: StartWarning) {
        StandardError.print([warning.text, warning.file].compactMap(\.self).joined(separator: ": "))
    }
}
