import ArgumentParser
import Foundation
import Installation

/// The server's command.
@main
struct Presenced: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "presenced",
        abstract: "A presence server: who is here, who is typing, and who they are.",
        version: "presenced \(ServerVersion.current)",
        subcommands: [
            ServeCommand.self, TokenCommand.self, UserCommand.self, MailCommand.self, WebhooksCommand.self,
            DoctorCommand.self, TopCommand.self,
        ])

    /// As ArgumentParser's own, but that help which cannot be printed is no success.
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

/// Exit statuses beside 0, and 64 (EX_USAGE) for a wrong command line, which ArgumentParser gives.
enum ExitStatus {
    /// The server cannot start; of the doctor: something is wrong.
    static let failure: Int32 = 1
    /// The doctor could not look.
    static let couldNotLook: Int32 = 2
    /// What was to be printed is lost (EX_IOERR of sysexits.h).
    static let outputLost: Int32 = 74
    /// The configuration is wrong (EX_CONFIG of sysexits.h).
    static let badConfiguration: Int32 = 78
}
