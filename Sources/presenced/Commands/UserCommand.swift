import ArgumentParser
import Foundation
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
            "Create an account and print its user id. The password is read from standard input.",
            example: "user create ana@example.org --display-name Ana < password")

        @OptionGroup var place: ServerPlace
        @Argument(help: "The e-mail address.") var email: String
        @Option(help: "The name that others see (default: the address up to the @).") var displayName: String?

        func run() async throws {
            try await place.act(AccountConsole.init) { console in
                let password = try PasswordInput.read()
                try StandardOutput.print(console.create(email, password: password, displayName: displayName))
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "List all accounts: user id, address, username and state.", example: "user list --json | jq -r .email")

        @OptionGroup var place: ServerPlace
        @Flag(help: "One JSON object a line.") var json = false

        func run() async throws {
            try await place.act(AccountConsole.init) { console in
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
            "Show an account, as JSON.", example: "user show ana@example.org")

        @OptionGroup var account: OneAccount

        func run() async throws { try await account.act { try StandardOutput.print($1.json) } }
    }

    struct Disable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Sign an account out everywhere, and refuse sign-ins.", example: "user disable ana.l")

        @OptionGroup var account: OneAccount

        func run() async throws { try await account.act { try $0.setDisabled(true, $1) } }
    }

    struct Enable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Let a disabled account sign in again.", example: "user enable ana.l")

        @OptionGroup var account: OneAccount

        func run() async throws { try await account.act { try $0.setDisabled(false, $1) } }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Delete an account and all its data. This cannot be undone.", example: "user delete ana@example.org --yes")

        @OptionGroup var account: OneAccount
        @Flag(help: "Confirm the deletion.") var yes = false

        func validate() throws {
            guard yes else { throw ValidationError("a deleted account cannot be restored: confirm with --yes") }
        }

        func run() async throws { try await account.act { try $0.delete($1) } }
    }

    struct SetPassword: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Set a password, read from standard input, and sign the account out everywhere.",
            example: "user set-password ana@example.org < password")

        @OptionGroup var account: OneAccount

        func run() async throws { try await account.act { try $0.setPassword(PasswordInput.read(), $1) } }
    }
}

/// The account of a command.
struct OneAccount: ParsableArguments {
    @OptionGroup var place: ServerPlace
    @Argument(help: "A user id, an e-mail address or a username.") var who: String

    func act(_ work: (AccountConsole, AccountConsole.Account) throws -> Void) async throws {
        try await place.act(AccountConsole.init) { try work($0, $0.find(who)) }
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
