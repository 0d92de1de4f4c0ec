import ArgumentParser
import Foundation
import PresenceServer

/// What waits for webhooks, from the console.
struct WebhooksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks",
        abstract: "List the endpoints that are told of events; have what waits for one tried again, or drop it.",
        discussion: """
            It works on the Redis that the server with the same settings uses: the configured one, else the one that a server \
            runs for itself in its data directory, while it runs.

            Exit status: 0 if it was done, 1 if not, 74 if the answer could not be printed.

            EXAMPLES
              presenced webhooks
              presenced webhooks retry https://app.example.org/events
              presenced webhooks drop https://old.example.org/events --yes
            """,
        subcommands: [List.self, Retry.self, Drop.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List endpoints: what waits, what was sent, dropped and given up, and the last failure.")

        @OptionGroup var place: AccountPlace
        @Flag(help: "One JSON object a line.") var json = false

        func run() async throws {
            try await place.webhooks { console in
                let endpoints = try console.list()
                if endpoints.isEmpty { StandardError.print("no endpoint is told of events (setting webhooks)") }
                for endpoint in endpoints {
                    try StandardOutput.print(json ? OneLine.json(endpoint) : endpoint.text)
                }
            }
        }
    }

    struct Retry: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Try all that waits for an endpoint now, also if it has answered 410.")

        @OptionGroup var place: AccountPlace
        @Argument(help: "The endpoint's url, as the configuration has it.") var url: String

        func run() async throws { try await place.webhooks { try StandardOutput.print("\($0.retry(url)) events") } }
    }

    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forget all that waits for an endpoint. This cannot be undone.")

        @OptionGroup var place: AccountPlace
        @Argument(help: "The endpoint's url, as the configuration has it or had it.") var url: String
        @Flag(help: "Do it.") var yes = false

        func validate() throws {
            guard yes else { throw ValidationError("events that are dropped are gone for ever: say --yes") }
        }

        func run() async throws { try await place.webhooks { try StandardOutput.print("\($0.drop(url)) events") } }
    }
}

extension AccountPlace {
    /// - Throws: what ends the command, which is told on standard error.
    fileprivate func webhooks(_ work: (WebhookConsole) throws -> Void) async throws {
        try await Self.telling {
            let configuration = try configuration()
            try work(WebhookConsole(url: Doctor.place(of: configuration), configuration: configuration))
        }
    }
}

extension WebhookConsole.Endpoint {
    fileprivate var text: String {
        var text =
            "\(url)\n    \(queued) wait, \(sent) sent, \(failed) tries failed, \(givenUp) given up, \(dropped) dropped"
        if let oldest { text += "\n    the oldest is of \(Self.date(oldest))" }
        if let lastFailure, let lastFailureAt {
            text += "\n    last failure at \(Self.date(lastFailureAt)): \(lastFailure)"
        }
        if let offSince { text += "\n    off since \(Self.date(offSince)): it answered 410" }
        return text
    }

    private static func date(_ time: Int64) -> String {
        Date(timeIntervalSince1970: Double(time / 1_000)).formatted(.iso8601)
    }
}
