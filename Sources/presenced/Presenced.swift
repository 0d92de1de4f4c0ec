import ArgumentParser

/// The server's command.
@main
struct Presenced: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "presenced",
        abstract: "A presence server: who is here, who is typing, and who they are.",
        subcommands: [ServeCommand.self, TokenCommand.self, DoctorCommand.self])
}

/// Exit statuses beside 0, and 64 (EX_USAGE) for a wrong command line, which ArgumentParser gives.
enum ExitStatus {
    /// The server cannot start; of the doctor: something is wrong.
    static let failure: Int32 = 1
    /// The doctor could not look.
    static let couldNotLook: Int32 = 2
    /// The configuration is wrong (EX_CONFIG of sysexits.h).
    static let badConfiguration: Int32 = 78
}
