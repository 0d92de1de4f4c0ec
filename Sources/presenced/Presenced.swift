import ArgumentParser
import Foundation
import Installation

/// The server's command.
@main
struct Presenced: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "presenced",
        abstract: "A presence and real-time notification server.",
        version: "presenced \(ServerVersion.current)",
        subcommands: [
            ServeCommand.self, TokenCommand.self, KeyCommand.self, UserCommand.self, MailCommand.self,
            WebhooksCommand.self, DoctorCommand.self, TopCommand.self,
        ])

    /// Does the same as ArgumentParser's `main`, but fails if help cannot be printed.
    static func main() async {
        StandardOutput.reservePlaces()
        signal(SIGPIPE, SIG_IGN)
        if let mistake = MistypedCommand(CommandLine.arguments.dropFirst(), of: Self.self) {
            StandardError.print(mistake.sentence)
            exit(withError: ExitCode(EX_USAGE))
        }
        do {
            var command = try parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch {
            guard exitCode(for: error) == .success else { exit(withError: error) }
            let text = fullMessage(for: error)
            exit(withError: text.isEmpty || StandardOutput.write(text + "\n") ? nil : ExitCode(ExitStatus.outputLost))
        }
    }
}

/// Exit statuses besides 0, and besides 64 (EX_USAGE), which ArgumentParser returns for a wrong command line.
enum ExitStatus {
    /// The server cannot start, or the doctor has found errors.
    static let failure: Int32 = 1
    /// The doctor could not check.
    static let couldNotLook: Int32 = 2
    /// The output could not be printed (EX_IOERR of sysexits.h).
    static let outputLost: Int32 = 74
    /// The configuration is invalid (EX_CONFIG of sysexits.h).
    static let badConfiguration: Int32 = 78
}
