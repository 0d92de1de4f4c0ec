import Foundation
import Installation
import OutgoingHTTP
import PresenceCore
import PresenceProtocol

/// Where mails go: to a mail server (`mail.url`), or into files. It waits for both, so it is used on a thread of its own.
struct MailSender: Sendable {
    private enum Place: Sendable {
        case folder(String)
        case server(url: String, OutgoingMail.Credentials?)
    }

    private let place: Place
    private let sender: String

    /// What became of a mail.
    enum Outcome: Sendable, Equatable {
        case sent
        /// Not now: with a reason that names nobody.
        case later(String)
    }

    init(_ configuration: ServerConfiguration) {
        sender = configuration[text: .mailFrom]
        if let (url, credentials) = Self.server(configuration[text: .mailURL]) {
            place = .server(url: url, credentials)
        } else {
            place = .folder((configuration.dataDirectory ?? DataDirectory.standardPath()) + "/outbox")
        }
    }

    /// A mail server's URL without its user and password, and these; `nil` if it is none.
    static func server(_ text: String) -> (url: String, OutgoingMail.Credentials?)? {
        guard var url = URLComponents(string: text), let scheme = url.scheme, ["smtp", "smtps"].contains(scheme),
            url.host?.isEmpty == false, url.path.isEmpty || url.path == "/", url.query == nil, url.fragment == nil
        else { return nil }
        let credentials = url.user.map { OutgoingMail.Credentials(user: $0, password: url.password ?? "") }
        url.user = nil
        url.password = nil
        url.path = ""
        return url.string.map { ($0, credentials) }
    }

    func send(_ mail: Mail, at date: Timestamp) -> Outcome {
        let message = mail.message(from: sender, at: date)
        switch place {
        case .folder(let path): return write(message, to: path, as: mail.id + ".eml")
        case .server(let url, let credentials): return hand(message, for: mail, to: url, credentials)
        }
    }

    // MARK: Files

    /// The file is there whole or not at all; written twice, it is the same file.
    private func write(_ message: [UInt8], to folder: String, as name: String) -> Outcome {
        func failed(_ what: String) -> Outcome { .later("\(what): \(String(cString: strerror(errno)))") }
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { return failed("the outbox cannot be made") }
        let draft = "\(folder)/.\(name).\(UInt32.random(in: .min ... .max))"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return failed("the outbox cannot be written") }
        defer { unlink(draft) }
        let isWritten = Glibc.write(descriptor, message, message.count) == message.count
        guard close(descriptor) == 0, isWritten, rename(draft, "\(folder)/\(name)") == 0 else {
            return failed("the outbox cannot be written")
        }
        return .sent
    }

    // MARK: A server

    private static let client = OutgoingClient(name: "mail", mostRunning: 4)

    private func hand(
        _ message: [UInt8], for mail: Mail, to url: String, _ credentials: OutgoingMail.Credentials?
    ) -> Outcome {
        var outgoing = OutgoingMail(url, from: Mail.address(in: sender), to: [mail.to], message: message)
        outgoing.credentials = credentials
        // On this machine nobody listens, and such servers have no certificate.
        if let host = URLComponents(string: url)?.host, ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host) {
            outgoing.startTLS = .never
        }
        let answer = Answer()
        Task { [outgoing] in
            do {
                _ = try await Self.client.send(outgoing)
                answer.give(.sent)
            } catch {
                answer.give(
                    .later("the mail server did not take it: \((error as? OutgoingFailure)?.reason ?? "failed")"))
            }
        }
        return answer.wait()
    }

    /// A thread that is made for waiting waits for a task.
    private final class Answer: @unchecked Sendable {
        // @unchecked: written once before `signal`, read once after `wait`.
        private var outcome = Outcome.sent
        private let isGiven = DispatchSemaphore(value: 0)

        func give(_ outcome: Outcome) {
            self.outcome = outcome
            isGiven.signal()
        }

        func wait() -> Outcome {
            isGiven.wait()
            return outcome
        }
    }
}
