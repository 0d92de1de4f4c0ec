import EventLoops
import Expectations
import Testing

@testable import OutgoingHTTP

@Suite struct MailTests {
    private let text = "Subject: hello\r\nTo: ana@example.org\r\n\r\nFirst\r\n.\r\n.dot\r\n..two\r\nlast\r\n"

    private func mail(_ servers: Servers, _ server: String, to: [String] = ["ana@example.org"]) -> OutgoingMail {
        let scheme = server == "smtps" ? "smtps" : "smtp"
        var mail = OutgoingMail(
            "\(scheme)://127.0.0.1:\(servers.port(server))", from: "app@example.org", to: to, message: Array(text.utf8))
        mail.tls.authorities = servers.file("authority.pem")
        mail.limits.total = 20
        return mail
    }

    private func failure(_ client: OutgoingClient, _ mail: OutgoingMail) async -> OutgoingFailure? {
        do throws(OutgoingFailure) {
            _ = try await client.send(mail)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a mail is sent over STARTTLS with its envelope, its text and the credentials`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        var mail = mail(servers, "starttls", to: ["ana@example.org", "bob@example.org"])
        mail.credentials = .init(user: "app", password: "letmein")
        mail.clientName = "presence.example.org"
        try await expect(client.send(mail).status, equals: 250)
        let taken = try #require(try await servers.mails.first)
        expect(taken.from == "app@example.org" && taken.to == ["ana@example.org", "bob@example.org"])
        expect(taken.tls && taken.user.contains("app") && taken.name == "presence.example.org")
        expect(taken.text, equals: text)
    }

    @Test func `a server without STARTTLS gets nothing, unless it may`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        var mail = mail(servers, "smtp")
        mail.credentials = .init(user: "app", password: "letmein")
        await expect(failure(client, mail), equals: .untrusted)
        try await expect(servers.mails.isEmpty)
        mail.startTLS = .never
        mail.credentials = nil
        try await expect(client.send(mail).status, equals: 250)
        let taken = try await servers.mails
        expect(taken.map(\.text) == [text] && taken.first?.tls == false)
    }

    @Test func `smtps is TLS from the start, and its server is verified too`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        var mail = mail(servers, "smtps")
        try await expect(client.send(mail).status, equals: 250)
        try await expect(servers.mails.first?.text, equals: text)
        for server in ["smtps", "starttls"] {
            mail = self.mail(servers, server)
            mail.tls.authorities = servers.file("other.pem")
            await expect(failure(client, mail), equals: .untrusted)
        }
        try await expect(servers.mails.count, equals: 1)
    }

    private func rejected(_ code: Int, _ sentence: String, isOfMail: Bool = false) -> OutgoingFailure {
        .rejected(MailRefusal(code: code, sentence: sentence, isOfMail: isOfMail))
    }

    @Test func `a rejected recipient and rejected credentials give their code and sentence`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        var mail = mail(servers, "starttls", to: ["ana@example.org", "nobody@example.org"])
        mail.credentials = .init(user: "app", password: "letmein")
        await expect(failure(client, mail), equals: rejected(550, "no such user", isOfMail: true))
        mail.credentials = .init(user: "app", password: "wrong")
        await expect(failure(client, mail), equals: rejected(535, "5.7.8 Authentication credentials invalid"))
        mail.credentials = nil
        await expect(failure(client, mail), equals: rejected(530, "5.7.0 Authentication required"))
        try await expect(servers.mails.isEmpty)
        expect(client.numbers.failed, equals: ["rejected": 3])
    }

    @Test func `a mail server that does not answer at the end delays no others`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient(mostRunning: 1)
        var mail = mail(servers, "mute")
        mail.startTLS = .never
        try await expect(client.send(mail).status, equals: 250)
        // libcurl would send QUIT at the end, and wait for the reply.
        await servers.heard("left mail without a word")
        try await expect(client.send(servers.request("/status/204")).status, equals: 204)
        try await expect(client.send(mail).status, equals: 250)
        client.stop()
        await servers.heard("left mail without a word", 2)
    }

    @Test func `a mail server that lets wait for its last answer holds up no call and no stop`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        var mail = mail(servers, "patient")
        mail.startTLS = .never
        mail.limits.total = 60
        async let first = failure(client, mail)
        await servers.heard("holding mail")
        try await expect(client.send(servers.request("/status/204", within: 10)).status, equals: 204)
        let before = MonotonicClock.microseconds
        client.stop()
        await expect(first, equals: .stopped)
        // libcurl checks each second; the server would have answered after the mail's time limit.
        expect(MonotonicClock.microseconds - before < 20_000_000)
    }

    @Test func `a mail that is cancelled while its server lets wait makes room for the next`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient(mostRunning: 1)
        var mail = mail(servers, "patient")
        mail.startTLS = .never
        mail.limits.total = 60
        let first = Task { [mail] in await failure(client, mail) }
        await servers.heard("holding mail")
        first.cancel()
        await expect(first.value, equals: .cancelled)
        var next = self.mail(servers, "smtp")
        next.startTLS = .never
        try await expect(client.send(next).status, equals: 250)
        expect(client.numbers.cancelled, equals: 1)
    }

    @Test func `a mail server that stops answering after a rejection delays no others`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient(mostRunning: 1)
        var mail = mail(servers, "patient", to: ["nobody@example.org"])
        mail.startTLS = .never
        async let refused = failure(client, mail)
        await servers.heard("refused mail")
        try await expect(client.send(servers.request("/status/204", within: 10)).status, equals: 204)
        await expect(refused, equals: rejected(550, "no such user", isOfMail: true))
        await servers.heard("left refused mail")
        var next = self.mail(servers, "smtp")
        next.startTLS = .never
        try await expect(client.send(next).status, equals: 250)
    }

    @Test(arguments: [
        (["550 5.1.1 <ana@example.org>: no such user"], "5.1.1 <…>: no such user"),
        (["550-one\r\n", "550-\r\n", "550 two\r\n"], "one two"), (["550"], ""), (["550 "], ""),
        (["421 ANA is unknown, or \"ana@Example.org\""], "… is unknown, or \"…\""),
        (["421 anathema and banana"], "anathema and banana"),
        (["421 \u{1B}[31m red \u{7F} gr\u{FC}n"], "[31m red gr n"),
        (["421 " + String(repeating: "x", count: 999)], String(repeating: "x", count: MailRefusal.longest)),
    ])
    func `a mail server's sentence contains no address`(lines: [String], sentence: String) {
        let mail = OutgoingMail("smtp://127.0.0.1:1", from: "a@example.org", to: ["ana@example.org"], message: [])
        expect(MailRefusal(code: 550, lines: lines, of: mail, isOfMail: true).sentence, equals: sentence)
    }

    @Test func `a text with a CR or LF that ends no line is not sent`() async throws {
        let client = OutgoingClient()
        for text in ["a\nb\r\n", "a\r.\r\nb", "\n.\r\n", "a\r\r\n", "a\r\n\n", "a\r"] {
            let mail = OutgoingMail(
                "smtp://127.0.0.1:1", from: "a@example.org", to: ["b@example.org"], message: Array(text.utf8))
            await expect(failure(client, mail)?.reason, equals: "invalid", "\(text.debugDescription)")
        }
        let mail = OutgoingMail(
            "smtp://127.0.0.1:1", from: "a@example.org", to: ["b@example.org"], message: Array("a\r\n\r\nb".utf8))
        await expect(failure(client, mail), equals: .unreachable)
    }

    @Test func `an envelope or a name that holds more than itself is not sent`() async throws {
        let client = OutgoingClient()
        for address in [
            "", "a b@example.org", "a@example.org\r\nRCPT TO:<b@example.org>", "a>@example.org", "é@example.org",
        ] {
            let to = OutgoingMail("smtp://127.0.0.1:1", from: "a@example.org", to: [address], message: [])
            await expect(failure(client, to)?.reason, equals: "invalid", "\(address)")
            let from = OutgoingMail("smtp://127.0.0.1:1", from: address, to: ["a@example.org"], message: [])
            await expect(failure(client, from)?.reason, equals: "invalid", "\(address)")
        }
        var mail = OutgoingMail("http://127.0.0.1:1", from: "a@example.org", to: ["b@example.org"], message: [])
        await expect(failure(client, mail)?.reason, equals: "invalid")
        mail.url = "smtp://127.0.0.1:1"
        mail.clientName = "a\r\nMAIL"
        await expect(failure(client, mail)?.reason, equals: "invalid")
        mail.clientName = "a"
        mail.recipients = []
        await expect(failure(client, mail)?.reason, equals: "invalid")
    }
}
