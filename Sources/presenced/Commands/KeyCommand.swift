import ArgumentParser
import Foundation
import PresenceCore
import PresenceServer

/// Manages the keys of backends from the command line.
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Make, list, rotate and revoke the keys with which backends call the server.",
        discussion: """
            A key is a bearer token for calls over HTTP, within its scopes. Its text is printed once: only a digest of it is \
            stored. Every server reads the key at each call, so a change has effect everywhere at once.

            It uses the Redis of a server with the same settings: the configured one, else the one that a running server \
            has in its data directory.

            Exit status: 0 on success, 1 on failure, 74 if the result could not be printed.

            EXAMPLES
              presenced key create --name shop --scopes users:read,notifications:write --expires 90d
              presenced key list
              presenced key rotate shop --overlap 1h
              presenced key revoke shop
            """,
        subcommands: [Create.self, List.self, Rotate.self, Revoke.self], defaultSubcommand: List.self)

    private static let which: ArgumentHelp = "The key's name or id."

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Make a key and print it.", example: "key create --name shop --scopes users:read,notifications:write")

        @OptionGroup var place: ServerPlace
        @Option(help: "Its name: a to z, 0 to 9, - . and _.") var name: String
        @Option(
            help: ArgumentHelp("Its scopes, with commas: \(KeyConsole.scopes.joined(separator: ", ")).")
        )
        var scopes: String
        @Option(
            help: ArgumentHelp("How long it is valid: 24h, 90d (default: until it is revoked).", valueName: "duration"),
            transform: KeyCommand.duration)
        var expires: Int64?

        func run() async throws {
            try await place.act(KeyConsole.init) { console in
                let words = scopes.split(separator: ",", omittingEmptySubsequences: false).map {
                    $0.trimmingCharacters(in: .whitespaces)
                }
                try StandardOutput.print(console.make(name, scopes: words, lifetime: expires))
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "List all keys: id, name, scopes and times, without the keys' texts.", example: "key list --json")

        @OptionGroup var place: ServerPlace
        @Flag(help: "One JSON object a line.") var json = false

        func run() async throws {
            try await place.act(KeyConsole.init) { console in
                let keys = try console.list()
                if keys.isEmpty, !json { StandardError.print("there is no key") }
                for key in keys { try StandardOutput.print(json ? OneLine.json(key) : key.line) }
            }
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Give a key another secret and print the new text.", example: "key rotate shop --overlap 1h")

        @OptionGroup var place: ServerPlace
        @Argument(help: KeyCommand.which) var key: String
        @Option(
            help: ArgumentHelp(
                "How long the present text works as well, at most 30d (default: it ends at once).",
                valueName: "duration"),
            transform: KeyCommand.duration)
        var overlap: Int64?

        func run() async throws {
            try await place.act(KeyConsole.init) { try StandardOutput.print($0.rotate(key, overlap: overlap ?? 0)) }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "End a key at once, on all servers.", example: "key revoke shop")

        @OptionGroup var place: ServerPlace
        @Argument(help: KeyCommand.which) var key: String

        func run() async throws { try await place.act(KeyConsole.init) { try $0.revoke(key) } }
    }

    private static func duration(_ text: String) throws -> Int64 {
        guard let duration = DurationText.parse(text), duration > 0 else {
            throw ValidationError("\"\(text)\" must be \(DurationText.form)")
        }
        return duration
    }
}

extension KeyConsole.Key {
    fileprivate var line: String {
        var words = [id, name, scopes.joined(separator: ","), "created \(OneLine.date(createdAt))"]
        if let expiresAt { words.append("expires \(OneLine.date(expiresAt))") }
        if let rotatedAt { words.append("rotated \(OneLine.date(rotatedAt))") }
        if let oldUntil { words.append("old until \(OneLine.date(oldUntil))") }
        return words.joined(separator: " ")
    }
}
