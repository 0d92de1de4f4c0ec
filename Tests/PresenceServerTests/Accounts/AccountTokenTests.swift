import Expectations
import PresenceProtocol
import Testing

@testable import PresenceServer

@Suite struct AccountTokenTests {
    private let user = UserID("u-abc")!
    private let key = [UInt8](repeating: 7, count: 16)
    private var token: RefreshToken { RefreshToken(user: user, grant: Identifier("g1")!, counter: 258) }

    @Test func `a refresh token can be decoded, and is genuine with its own key only`() throws {
        let (read, mac) = try #require(RefreshToken.read(token.text(key: key)))
        expect(read, equals: token)
        expect(read.isGenuine(mac, key: key))
        expect(!read.isGenuine(mac, key: [UInt8](repeating: 8, count: 16)))
        expect(!RefreshToken(user: user, grant: read.grant, counter: 259).isGenuine(mac, key: key))
        expect(!RefreshToken(user: UserID("u-abd")!, grant: read.grant, counter: 258).isGenuine(mac, key: key))
    }

    @Test func `a change of any single character makes it invalid`() {
        let text = Array(token.text(key: key))
        for index in text.indices {
            var changed = text
            changed[index] = changed[index] == "A" ? "B" : "A"
            guard let (read, mac) = RefreshToken.read(String(changed)) else { continue }
            expect(!read.isGenuine(mac, key: key), "character \(index)")
        }
    }

    @Test func `a truncated or longer text is no refresh token`() {
        let text = token.text(key: key)
        for count in 0..<text.count { expect(RefreshToken.read(String(text.prefix(count))) == nil) }
        expect(RefreshToken.read(text + "AAAA") == nil && RefreshToken.read(text + "=") == nil)
        expect(RefreshToken.read(RefreshToken(user: user, grant: token.grant, counter: 0).text(key: key)) == nil)
    }

    @Test func `a mail's token can be decoded, and only its digest is stored`() throws {
        let made = MailToken(user: user, purpose: .reset)
        let read = try #require(MailToken(made.text))
        expect(read == made && read.user == user && read.digest == made.digest && made.digest.count == 64)
        expect(MailToken(user: user, purpose: .reset) != made)
        for count in 0..<made.text.count { expect(MailToken(String(made.text.prefix(count))), equals: nil) }
        expect(MailToken(made.text + "AAAA"), equals: nil)
    }

    @Test func `claims can be decoded`() {
        let claim = AccountClaim(user: user, number: 3)
        expect(AccountClaim(claim.text) == claim && claim.text == "u-abc 3")
        for text in ["", "u", "u ", " 1", "u x", "u 1 2", "u  1"] { expect(AccountClaim(text), equals: nil) }
    }
}

@Suite struct MailTests {
    private let mail = Mail(
        id: "1763712000000-abc", to: EmailAddress("ana@example.org")!, subject: "Hello", text: "one\n\ntwo\n")

    @Test func `a mail can be decoded`() {
        expect(Mail(mail.encoded), equals: mail)
    }

    @Test(arguments: [
        "", "a\nb", "1-a\nno address\nSubject\ntext", "../x\nana@example.org\nSubject\ntext",
        "1-a\nana@example.org\r\nSubject\ntext", "1-a\nana@example.org\nBcc:\rx\ntext",
    ])
    func `a mail that could inject headers or paths is rejected`(_ text: String) {
        expect(Mail(text), equals: nil)
    }

    @Test func `a message has the headers of an automatic mail, and lines that end with CR LF`() {
        let message = String(decoding: mail.message(from: "Ann <ann@b.org>", at: 1_763_712_000_000), as: UTF8.self)
        expect(
            message,
            equals: [
                "From: Ann <ann@b.org>", "To: ana@example.org", "Subject: Hello",
                "Date: Fri, 21 Nov 2025 08:00:00 +0000", "Message-ID: <1763712000000-abc@b.org>",
                "Auto-Submitted: auto-generated", "MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8",
                "Content-Transfer-Encoding: 8bit", "", "one", "", "two", "",
            ].joined(separator: "\r\n"))
    }

    @Test func `the mail server's URL is split into address, user and password`() {
        let server = MailSender.server("smtps://ann%40b.org:p%3Aw@mail.example.org:465")
        expect(server?.url, equals: "smtps://mail.example.org:465")
        expect(server?.1?.user == "ann@b.org" && server?.1?.password == "p:w")
        for text in ["", "mail.example.org", "http://mail.example.org", "smtp://", "smtp://host/path", "smtp://host?x"]
        {
            expect(MailSender.server(text) == nil, "\(text)")
        }
    }
}
