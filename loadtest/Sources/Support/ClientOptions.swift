import ArgumentParser
import Foundation

/// The credentials and source addresses of the tool's clients.
struct ClientOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The server's data directory: its secret makes the clients' tokens.", valueName: "dir"))
    var dataDir = Self.standardDataDirectory(environment: ProcessInfo.processInfo.environment)

    @Option(help: ArgumentHelp("The secret itself, instead of the data directory's.", valueName: "file"))
    var secretFile: String?

    @Option(
        help: ArgumentHelp(
            """
            The first address of 127.0.0.0/8 that clients come from; each has one of its own, counted up from it. \
            Processes that run at once do well to have their own.
            """, valueName: "127.x.y.z"))
    var source: String?

    /// The server's default data directory.
    static func standardDataDirectory(environment: [String: String]) -> String {
        if let directory = environment["PRESENCE_DATA_DIRECTORY"], !directory.isEmpty { return directory }
        if geteuid() == 0 { return "/var/lib/presence" }
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return data + "/presence" }
        return (environment["HOME"] ?? NSHomeDirectory()) + "/.local/share/presence"
    }

    func mint() throws(Failure) -> TokenMint { try TokenMint(file: secretFile ?? "\(dataDir)/secret") }
}
