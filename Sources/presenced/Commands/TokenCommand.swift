import ArgumentParser
import Foundation
import Installation
import PresenceCore
import PresenceProtocol
import PresenceServer
import Tokens

/// Prints only a token on standard output.
struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Make a token for a user.",
        discussion: """
            It is signed with the data directory's secret, so all servers with that data directory accept it. \
            If there is no secret yet, it is created, as at the first start of a server.

            EXAMPLES
              presenced token ana --expires 7d
              presenced token console --role backend --expires 1h --data-dir /var/lib/presence
              PRESENCE_TOKEN=$(presenced token ana) presence-watch bob cy
            """)

    @Argument(
        help: "The user's id: 1 to 128 characters of printable ASCII without space.", transform: TokenCommand.userID)
    var user: UserID

    @Option(
        help: ArgumentHelp(
            "The server's data directory (default: PRESENCE_DATA_DIRECTORY, or \(DataDirectory.standardPath())).",
            valueName: "dir"))
    var dataDir: String?

    @Option(
        help: ArgumentHelp("How long it is valid: 500ms, 3s, 24h, 7d.", valueName: "duration"),
        transform: TokenCommand.lifetime)
    var expires: Milliseconds = 24 * 3_600_000

    @Option(help: "The rights of the token: user or backend.")
    var role: TokenMaker.Role = .user

    func run() async throws {
        try await StandardError.explaining {
            let path =
                dataDir
                ?? ProcessInfo.processInfo.environment["PRESENCE_DATA_DIRECTORY"].flatMap { $0.isEmpty ? nil : $0 }
            let directory = try DataDirectory(path ?? DataDirectory.standardPath())
            let isNew = !directory.hasSecret
            let maker = TokenMaker(secret: try directory.secret())
            if isNew {
                // The directory may be mistyped: such a directory has no secret.
                StandardError.print(
                    "made a new secret, \(directory.secretFile); only servers with this data directory know it")
            }
            if directory.isSecretExposed {
                StandardError.print("other users can read the secret: \(directory.secretFile)")
            }
            let now = Timestamp(Date().timeIntervalSince1970 * 1_000)
            try StandardOutput.print(try maker.make(user: user, lifetime: expires, role: role, now: now))
        }
    }

    private static func userID(_ text: String) throws -> UserID {
        guard let user = Identifier(text) else {
            throw ValidationError("a user's id is 1 to 128 characters of printable ASCII without space")
        }
        return user
    }

    private static func lifetime(_ text: String) throws -> Milliseconds {
        guard let lifetime = DurationText.parse(text), (1...100 * 365 * 86_400_000).contains(lifetime) else {
            throw ValidationError("\"\(text)\" must be \(DurationText.form), from 1ms to 36500d")
        }
        return lifetime
    }
}

extension TokenMaker.Role: ExpressibleByArgument {}
