import Foundation
import Installation
import OutgoingHTTP
import PresenceCore
import PresenceProtocol

/// Where mails go: to a mail server (`mail.url`), or into files.
struct MailSender: Sendable {
    private enum Target: Sendable {
        case folder(String)
        case server(url: String, OutgoingMail.Credentials?)
    }

    private let target: Target
    private let sender: String
    /// By which name the mail server is greeted.
    let clientName: String

    /// What became of a mail.
    enum Outcome: Sendable, Equatable {
        case sent
        /// This mail never, not now, or none now, since nobody takes any: with a reason that names nobody.
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

    /// Mail servers look at it, and many take none but a full name: that of the app's pages, else of the sender, else this host's.
    private static func clientName(_ configuration: ServerConfiguration) -> String {
        let page = URLComponents(string: configuration[Accounts.linkBase])?.host ?? ""
        let sender =
            Mail.address(in: configuration[Accounts.mailFrom]).split(separator: "@").last.map(String.init) ?? ""
        return [page, sender].first(where: HostName.isFull) ?? HostName.own
    }

    /// - Returns: `nil` if too much waits for a thread that writes files.
    func send(_ mail: Mail, on shard: ShardLogic) async -> Outcome? {
        let message = mail.message(from: sender, at: shard.clock.redisNow)
        switch target {
        case .folder(let path):
            return try? await shard.work(MailQueue.pool) { write(message, to: path, as: mail.id + ".eml") }
        case .server(let url, let credentials): return await hand(message, for: mail, to: url, credentials)
        }
    }

    // MARK: Files

    /// The file is there whole or not at all; written twice, it is the same file.
    private func write(_ message: [UInt8], to folder: String, as name: String) -> Outcome {
        func failed(_ what: String) -> Outcome { .unreachable("\(what): \(String(cString: strerror(errno)))") }
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { return failed("the outbox cannot be made") }
        guard DiskRoom(of: folder)?.hasRoomForMails != false else {
            return .unreachable("the outbox takes none: what is left of the disk is kept for Redis")
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
        outgoing.limits.total = MailQueue.patienceOfServers
        // On this machine nobody listens, and such servers have no certificate.
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

    /// What a server says of one mail concerns no other. Some codes are about its address or its text alone: it is refused for good.
    /// What it says before it has taken the sender, or of credentials, concerns all of them.
    static func outcome(of refusal: MailRefusal) -> Outcome {
        let reason = "the mail server did not take it: \(refusal)"
        switch refusal.code {
        case _ where !refusal.isOfMail, 530...538: return .unreachable(reason)
        case 550...553, 555...556: return .refused(reason)
        // Also a server that closes (421): if it is not about this mail, the next one meets it at the greeting.
        default: return .later(reason)
        }
    }
}
