import ArgumentParser
import Foundation
import PresenceMessages
import TerminalClients

/// The terminal chat.
@main
struct PresenceChat: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "presence-chat",
        abstract: "A conversation on a terminal.",
        discussion: """
            With one user it opens your direct conversation, with several a group; the same users and name open \
            the same group again. The screen shows typing, status, edits and deletions as they change. Messages \
            written without a connection are stored on the disk and sent once there is one, even after a restart.

            Enter sends, arrow up edits your newest message, the page keys scroll and load earlier messages, \
            Ctrl-C quits. /help lists the commands.

            Exit statuses: 0 ended as asked, 64 a wrong command line, 69 no server, 74 no terminal, 77 refused by the \
            server.

            EXAMPLES
              PRESENCE_TOKEN=$(presenced token me) presence-chat ana
              presence-chat --token-file token --name Trip ana bob
              presence-chat --token-file token --list
            """,
        version: "presence-chat \(ClientVersion.current)")

    @Argument(help: ArgumentHelp("The users to chat with.", valueName: "user"))
    var users: [String] = []

    @Option(help: "The name of the group; with a name, a chat with one user is a group, too.")
    var name: String?

    @Option(help: ArgumentHelp("Open this conversation.", valueName: "id"))
    var conversation: String?

    @Flag(help: "Print the conversations and exit.")
    var list = false

    @Option(
        help: ArgumentHelp(
            "The server's address (default: PRESENCE_URL, or \(ServerAddress.standard)).", valueName: "ws://…"))
    var url: String?

    @Option(
        help: ArgumentHelp(
            "Your token; other users of this machine can see it here, so prefer PRESENCE_TOKEN or a file."))
    var token: String?

    @Option(help: ArgumentHelp("A file with the token, read whenever one is needed.", valueName: "file"))
    var tokenFile: String?

    @Option(
        help: ArgumentHelp(
            "The directory for unsent messages (default: one for each server and user in "
                + "$XDG_STATE_HOME or ~/.local/state).", valueName: "directory"))
    var storage: String?

    func run() async throws {
        let status = await Outcome.status(of: "presence-chat") { () async throws(Failure) in try await chat() }
        if status != 0 { throw ExitCode(status) }
    }

    private func chat() async throws(Failure) -> Outcome {
        let environment = ProcessInfo.processInfo.environment
        let place = try Place(users: users, name: name, conversation: conversation, lists: list)
        let chat = try Chat(
            address: ServerAddress(url ?? environment["PRESENCE_URL"] ?? ServerAddress.standard),
            token: TokenSource(token: token, file: tokenFile, environment: environment), storage: storage)
        let outcome: Result<Outcome, Failure>
        do throws(Failure) {
            outcome = .success(try await chat.run(place))
        } catch {
            outcome = .failure(error)
        }
        // Disconnects, so that the user is not shown as lingering.
        await chat.client.disconnect()
        return try outcome.get()
    }
}
