import ArgumentParser
import Foundation
import TerminalClients

/// The terminal watcher.
@main
struct PresenceWatch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "presence-watch",
        abstract: "Shows who is here, live.",
        discussion: """
            On a terminal it draws a table that follows every change: arrows, j and k, the page keys, home and end scroll \
            it, q or Ctrl-C ends it. Elsewhere, or with NO_COLOR set, it writes one plain line a change.

            A watcher is a user like others: the token says who, and those who may not be seen look offline. It sees \
            typing in the conversations that it is told of and takes part in.

            Exit statuses: 0 ended as asked, 64 a wrong command line, 69 no server, 74 the output cannot be written, 77 \
            refused by the server.
            """,
        version: "presence-watch \(ClientVersion.current)")

    @Argument(help: ArgumentHelp("Whom to watch.", valueName: "user"))
    var users: [String]

    @Option(
        help: ArgumentHelp(
            "The server's address (default: PRESENCE_URL, or \(ServerAddress.standard)).", valueName: "ws://…"))
    var url: String?

    @Option(
        help: ArgumentHelp(
            "The token of the user who watches; others on this machine can see it here, so better in PRESENCE_TOKEN or "
                + "a file."))
    var token: String?

    @Option(help: ArgumentHelp("A file with the token, read anew when one is needed.", valueName: "file"))
    var tokenFile: String?

    @Option(
        name: .customLong("conversation"),
        help: ArgumentHelp("Show who types in this conversation too; may be repeated.", valueName: "id"))
    var conversations: [String] = []

    @Flag(help: "Print one JSON object a change, a line each.")
    var json = false

    @Flag(help: "Print how everybody is now, and end.")
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
        // Says goodbye, so that the watcher is not shown as lingering; waits for the answer, but not for long.
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

    /// Whether standard output is a terminal that shows colours to someone who wants them (no-color.org).
    private static func isColourful(_ environment: [String: String]) -> Bool {
        isatty(STDOUT_FILENO) == 1 && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
    }
}
