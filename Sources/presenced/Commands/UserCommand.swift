import ArgumentParser
import Foundation
import Installation
import PresenceCore
import PresenceServer

/// Manages accounts from the command line.
struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "Make, list, change and delete accounts.",
        discussion: """
            It uses the Redis of a server with the same settings: the configured one, else the one that a running server \
            has in its data directory. Accounts are named by user id, e-mail address or \
            username.

            Exit status: 0 on success, 1 on failure, 74 if the result could not be printed.

            EXAMPLES
              presenced user list
              presenced user show ana@example.org
              presenced user create ana@example.org < password
              presenced user disable ana.l --data-dir /var/lib/presence
            """,
        subcommands: [
            Create.self, List.self, Show.self, Disable.self, Enable.self, Delete.self, SetPassword.self,
        ])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create an account and print its user id. The password is read from standard input.",
            discussion: "EXAMPLES\n  presenced user create ana@example.org --display-name Ana < password")

        @OptionGroup var place: AccountPlace
        @Argument(help: "The e-mail address.") var email: String
        @Option(help: "The name that others see (default: the address up to the @).") var displayName: String?

        func run() async throws {
            try await place.act { console in
                let password = try PasswordInput.read()
                try StandardOutput.print(console.create(email, password: password, displayName: displayName))
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List all accounts: user id, address, username and state.",
            discussion: "EXAMPLES\n  presenced user list --json | jq -r .email")

        @OptionGroup var place: AccountPlace
        @Flag(help: "One JSON object a line.") var json = false

        func run() async throws {
            try await place.act { console in
                // Programs that read the lines need no heading.
                let isForPeople = !json && isatty(STDOUT_FILENO) == 1
                if isForPeople { try StandardOutput.print(AccountConsole.Account.head) }
                try console.list {
                    try StandardOutput.print(json ? $0.json : isForPeople ? $0.columns : $0.line)
                }
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show an account, as JSON.",
            discussion: "EXAMPLES\n  presenced user show ana@example.org")

        @OptionGroup var place: AccountPlace
        @Argument(help: AccountPlace.who) var who: String

        func run() async throws { try await place.act { try StandardOutput.print($0.find(who).json) } }
    }

    struct Disable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sign an account out everywhere, and refuse sign-ins.",
            discussion: "EXAMPLES\n  presenced user disable ana.l")

        @OptionGroup var place: AccountPlace
        @Argument(help: AccountPlace.who) var who: String

        func run() async throws { try await place.act { try $0.setDisabled(true, $0.find(who)) } }
    }

    struct Enable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Let a disabled account sign in again.",
            discussion: "EXAMPLES\n  presenced user enable ana.l")

        @OptionGroup var place: AccountPlace
        @Argument(help: AccountPlace.who) var who: String

        func run() async throws { try await place.act { try $0.setDisabled(false, $0.find(who)) } }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete an account and all its data. This cannot be undone.",
            discussion: "EXAMPLES\n  presenced user delete ana@example.org --yes")

        @OptionGroup var place: AccountPlace
        @Argument(help: AccountPlace.who) var who: String
        @Flag(help: "Confirm the deletion.") var yes = false

        func validate() throws {
            guard yes else { throw ValidationError("a deleted account cannot be restored: confirm with --yes") }
        }

        func run() async throws { try await place.act { try $0.delete($0.find(who)) } }
    }

    struct SetPassword: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set a password, read from standard input, and sign the account out everywhere.",
            discussion: "EXAMPLES\n  presenced user set-password ana@example.org < password")

        @OptionGroup var place: AccountPlace
        @Argument(help: AccountPlace.who) var who: String

        func run() async throws {
            try await place.act { console in
                let account = try console.find(who)
                try console.setPassword(PasswordInput.read(), account)
            }
        }
    }
}

/// The options that name the accounts' Redis.
struct AccountPlace: ParsableArguments {
    static let who: ArgumentHelp = "A user id, an e-mail address or a username."

    @Option(help: ArgumentHelp("A configuration file (YAML), the same as the server's.", valueName: "file"))
    var config: String?

    @Option(help: ArgumentHelp("The Redis of the servers, in the form of redis.url.", valueName: "url"))
    var redis: String?

    @Option(help: ArgumentHelp("The data directory of a server with a Redis of its own.", valueName: "dir"))
    var dataDir: String?

    func configuration() throws -> ServerConfiguration {
        var flags: [String: String] = [:]
        flags["redis.url"] = redis
        flags["dataDirectory"] = dataDir
        return try ConfigurationSources(
            flags: flags, environment: ProcessInfo.processInfo.environment, file: config
        ).read()
    }

    /// - Throws: The status that ends the command; the error has been printed on standard error.
    func act(_ work: (AccountConsole) throws -> Void) async throws {
        try await Self.telling {
            let configuration = try configuration()
            try work(AccountConsole(url: Doctor.place(of: configuration), configuration: configuration))
        }
    }

    static func telling(_ work: () async throws -> Void) async throws {
        signal(SIGPIPE, SIG_IGN)
        do {
            try await work()
        } catch let error as ExitCode {
            throw error
        } catch {
            StandardError.print("\(error)")
            throw ExitCode(ExitStatus.failure)
        }
    }
}

extension AccountConsole.Account {
    fileprivate var json: String { OneLine.json(self) }

    private var fields: [String] {
        [user, email ?? "-", username ?? "-"]
            + [disabled ? "disabled" : nil, email == nil ? "guest" : emailVerified ? nil : "unverified"].compactMap(
                \.self)
    }

    fileprivate var line: String { fields.joined(separator: " ") }

    // Accounts are printed as they are found, so the columns have fixed widths that fit most.
    private static let widths = [24, 32, 20]
    fileprivate static var head: String { aligned(["USER", "E-MAIL", "USERNAME", "STATE"]) }
    fileprivate var columns: String { Self.aligned(fields) }

    private static func aligned(_ fields: [String]) -> String {
        let padded = zip(fields, widths).map { $0 + String(repeating: " ", count: max(0, $1 - $0.count)) }
        return (padded + fields.dropFirst(widths.count)).joined(separator: " ")
    }
}

enum OneLine {
    static func json(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Texts, numbers and booleans can always be encoded.
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
