import Foundation
import Glibc
import Installation
import OutgoingHTTP
import PresenceCore
import PresenceProtocol

/// Sends mails to a mail server (`mail.url`), or writes them into files.
struct MailSender: Sendable {
    private enum Target: Sendable {
        case folder(String)
        case server(url: String, OutgoingMail.Credentials?)
    }

    private let target: Target
    private let sender: String
    /// The name with which the mail server is greeted.
    let clientName: String

    /// The outcome for a mail.
    enum Outcome: Sendable, Equatable {
        case sent
        /// The mail failed for good; temporarily; or with all mails, because the server is unreachable. The reason contains no
        /// personal data.
        case refused(String)
        case later(String)
        case unreachable(String)
    }

    init(_ configuration: ServerConfiguration) {
        sender = configuration[Accounts.mailFrom]
        clientName = Self.clientName(configuration)
        if let (url, credentials) = Self.server(configuration[Accounts.mailURL]) {
            target = .server(url: url, credentials)
        } else {
            target = .folder((configuration.dataDirectory ?? DataDirectory.standardPath()) + "/outbox")
        }
    }

    /// A mail server's URL without its user and password, and the user and password; `nil` if the URL is invalid.
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

    /// Many mail servers accept only a full name: the one of the app's pages, else of the sender's domain, else of this
    /// host.
    private static func clientName(_ configuration: ServerConfiguration) -> String {
        let page = URLComponents(string: configuration[Accounts.linkBase])?.host ?? ""
        let sender =
            Mail.address(in: configuration[Accounts.mailFrom]).split(separator: "@").last.map(String.init) ?? ""
        return [page, sender].first(where: HostName.isFull) ?? HostName.own
    }

    /// - Returns: `nil` if too many jobs are queued for the threads that write files.
    func send(_ mail: Mail, on shard: ShardLogic) async -> Outcome? {
        let message = mail.message(from: sender, at: shard.clock.redisNow)
        switch target {
        case .folder(let path):
            return try? await shard.work(MailQueue.pool) { write(message, to: path, as: mail.id + ".eml") }
        case .server(let url, let credentials): return await hand(message, for: mail, to: url, credentials)
        }
    }

    // MARK: Files

    /// Writes the file completely or not at all; a repetition writes the same file.
    private func write(_ message: [UInt8], to folder: String, as name: String) -> Outcome {
        func failed(_ what: String) -> Outcome { .unreachable("\(what): \(String(cString: strerror(errno)))") }
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { return failed("the outbox cannot be made") }
        guard DiskRoom(of: folder)?.hasRoomForMails != false else {
            return .unreachable("the outbox takes no mails: what is left of the disk is kept for Redis")
        }
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
    ) async -> Outcome {
        var outgoing = OutgoingMail(url, from: Mail.address(in: sender), to: [mail.to], message: message)
        outgoing.credentials = credentials
        outgoing.clientName = clientName
        outgoing.limits.total = MailQueue.sendingLimit
        // Local connections cannot be intercepted, and local servers have no certificate.
        if let host = URLComponents(string: url)?.host, ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host) {
            outgoing.startTLS = .never
        }
        do throws(OutgoingFailure) {
            _ = try await Self.client.send(outgoing)
            return .sent
        } catch {
            return Self.outcome(of: error)
        }
    }

    private static func outcome(of failure: OutgoingFailure) -> Outcome {
        if case .rejected(let refusal) = failure { return outcome(of: refusal) }
        return .unreachable("the mail server did not take it: \(failure.reason)")
    }

    /// A server's reply to one mail usually concerns only that mail. Codes that are only about its address or text mean that
    /// the mail fails for good. Replies before the sender is accepted, and replies about credentials, concern all mails.
    static func outcome(of refusal: MailRefusal) -> Outcome {
        let reason = "the mail server did not take it: \(refusal)"
        switch refusal.code {
        case _ where !refusal.isOfMail, 530...538: return .unreachable(reason)
        case 550...553, 555...556: return .refused(reason)
        // This includes a server that closes (421). If its reason is not this mail, the next mail fails at the
        // greeting.
        default: return .later(reason)
        }
    }
}

/// Host names for the greeting of mail servers.
enum HostName {
    /// Whether it is a name with a domain, neither an IP address nor a local name.
    static func isFull(_ name: String) -> Bool {
        let labels = name.lowercased().split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count > 1, name.utf8.count <= 253, let last = labels.last, last != "localhost",
            last.contains(where: { !$0.isNumber })
        else { return false }
        return labels.allSatisfy(isLabel)
    }

    private static func isLabel(_ label: Substring) -> Bool {
        (1...63).contains(label.utf8.count)
            && label.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
    }

    /// This host's name in the system.
    static var own: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "localhost" }
        let text = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return text.lowercased().split(separator: ".").allSatisfy(isLabel) && !text.isEmpty ? text : "localhost"
    }
}
