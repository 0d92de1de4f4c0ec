import ArgumentParser
import Foundation
import PresenceServer

/// Lists the mails in the outbox, which were not sent.
struct MailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mail",
        abstract: "List the mails in the outbox.",
        discussion: """
            While no mail server is set (mail.url), each mail is a file in the data directory's outbox. The oldest come first. \
            Their links have tokens that let the reader sign in: keep them secret.

            EXAMPLES
              presenced mail
              presenced mail --data-dir ./data --json
            """)

    @OptionGroup var files: ServerFiles

    @Flag(help: "One JSON object a line.")
    var json = false

    func run() async throws {
        try await StandardError.explaining {
            for mail in try Outbox(files.sources().read()).entries() {
                try StandardOutput.print(json ? OneLine.json(mail) : mail.text)
            }
        }
    }
}

extension Outbox.Entry {
    fileprivate var text: String {
        "\(date)  \(to)  \(subject)" + (link.map { "\n    \($0)" } ?? "") + "\n    \(file)"
    }
}
