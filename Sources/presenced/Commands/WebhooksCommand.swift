import ArgumentParser
import Foundation
import PresenceServer

/// Manages the pending events of webhooks from the command line.
struct WebhooksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks",
        abstract: "List the endpoints of webhooks; retry or drop the pending events of one.",
        discussion: """
            It uses the Redis of a server with the same settings: the configured one, else the one that a running server \
            has in its data directory.

            Exit status: 0 on success, 1 on failure, 74 if the result could not be printed.

            EXAMPLES
              presenced webhooks
              presenced webhooks retry https://app.example.org/events
              presenced webhooks drop https://old.example.org/events --yes
            """,
        subcommands: [List.self, Retry.self, Drop.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "List endpoints: events pending, sent, dropped and given up, and the last failure.",
            example: "webhooks list --json")

        @OptionGroup var place: ServerPlace
        @Flag(help: "One JSON object a line.") var json = false

        func run() async throws {
            try await place.act(WebhookConsole.init) { console in
                let endpoints = try console.list()
                if endpoints.isEmpty { StandardError.print("no endpoint is configured (setting webhooks)") }
                for endpoint in endpoints {
                    try StandardOutput.print(json ? OneLine.json(endpoint) : endpoint.text)
                }
            }
        }
    }

    struct Retry: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Retry all pending events of an endpoint now, even if it answered 410.",
            example: "webhooks retry https://app.example.org/events")

        @OptionGroup var place: ServerPlace
        @Argument(help: "The endpoint's url in the configuration.") var url: String

        func run() async throws {
            try await place.act(WebhookConsole.init) { try StandardOutput.print("\($0.retry(url)) events") }
        }
    }

    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Drop all pending events of an endpoint. This cannot be undone.",
            example: "webhooks drop https://old.example.org/events --yes")

        @OptionGroup var place: ServerPlace
        @Argument(help: "The endpoint's url in the present or a former configuration.") var url: String
        @Flag(help: "Confirm the removal.") var yes = false

        func validate() throws {
            guard yes else { throw ValidationError("dropped events cannot be restored: confirm with --yes") }
        }

        func run() async throws {
            try await place.act(WebhookConsole.init) { try StandardOutput.print("\($0.drop(url)) events") }
        }
    }
}

extension WebhookConsole.Endpoint {
    fileprivate var text: String {
        var text =
            "\(url)\n    \(queued) pending, \(sent) sent, \(failed) attempts failed, \(givenUp) given up, \(dropped) dropped"
        if let oldest { text += "\n    the oldest from \(OneLine.date(oldest))" }
        if let lastFailure, let lastFailureAt {
            text += "\n    last failure at \(OneLine.date(lastFailureAt)): \(lastFailure)"
        }
        if let offSince { text += "\n    off since \(OneLine.date(offSince)): it answered 410" }
        return text
    }
}
