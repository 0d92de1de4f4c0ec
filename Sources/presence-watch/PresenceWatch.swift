import ArgumentParser
import Foundation
import TerminalClients

/// The terminal watcher.
@main
struct PresenceWatch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "presence-watch",
        abstract: "Shows who is online, live.",
        discussion: """
            On a terminal it draws a table that follows every change: arrows, j and k, the page keys, home and end scroll \
            it, q or Ctrl-C quits. Elsewhere, or with NO_COLOR set, it prints one line for each change.

            The watcher is the user of the token; users whom that user may not see look offline. Typing is shown for \
            the given conversations in which the user takes part.

            Exit statuses: 0 ended as asked, 64 a wrong command line, 69 no server, 74 the output cannot be written, 77 \
            refused by the server.

            EXAMPLES
              PRESENCE_TOKEN=$(presenced token me) presence-watch ana bob
              presence-watch --url wss://presence.example.org/v1/ws --token-file token ana --once
              presence-watch --token-file token ana --json | jq .
            """,
        version: "presence-watch \(ClientVersion.current)")

    @Argument(help: ArgumentHelp("The users to watch.", valueName: "user"))
    var users: [String]

    @Option(
        help: ArgumentHelp(
            "The server's address (default: PRESENCE_URL, or \(ServerAddress.standard)).", valueName: "ws://…"))
    var url: String?

    @Option(
        help: ArgumentHelp(
            "Your token; other users of this machine can see it here, so prefer PRESENCE_TOKEN or "
                + "a file."))
    var token: String?

    @Option(help: ArgumentHelp("A file with the token, read whenever one is needed.", valueName: "file"))
    var tokenFile: String?

    @Option(
        name: .customLong("conversation"),
        help: ArgumentHelp("Also show who is typing in this conversation; may be repeated.", valueName: "id"))
    var conversations: [String] = []

    @Flag(help: "Print one JSON object for each change, one on a line.")
    var json = false

    @Flag(help: "Print the current status of all users and exit.")
    var once = false

    func run() async throws {
        let status = await Outcome.status(of: "presence-watch") { () async throws(Failure) in try await watch() }
        if status != 0 { throw ExitCode(status) }
    }

    private func watch() async throws(Failure) -> Outcome {
        let environment = ProcessInfo.processInfo.environment
        let subject = try Subject(
            users: users, conversations: conversations,
            address: ServerAddress(url ?? environment["PRESENCE_URL"] ?? ServerAddress.standard),
            token: TokenSource(token: token, file: tokenFile, environment: environment))
        let watching = Watching(subject)
        let outcome = await watch(watching, isColoured: Self.isColourful(environment))
        // Disconnects, so that the watcher is not shown as lingering. Waits for the reply, but not for long.
        await watching.client.disconnect()
        return outcome
    }

    @MainActor
    private func watch(_ watching: Watching, isColoured: Bool) async -> Outcome {
        if !json, !once, isColoured, let terminal = Terminal() {
            return await LiveTable.run(watching, on: terminal)
        }
        let signals = TerminalEvents(reading: nil)
        let audience: any Audience =
            once
            ? Glance(watching, to: .standard, as: json ? .json : .table(isColoured: isColoured))
            : Feed(watching, to: .standard, isJSON: json)
        return await watching.run(audience, terminal: signals.events)
    }

    /// Whether standard output is a terminal, and the user wants colours (no-color.org).
    private static func isColourful(_ environment: [String: String]) -> Bool {
        isatty(STDOUT_FILENO) == 1 && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
    }
}
