import Expectations
import Foundation
import Installation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer

@Suite("Templates of mails") struct MailTemplateTests {
    private let link = "Subject\n\n{{link}}\n"

    private func folder(_ files: [String: String]) throws -> String {
        let folder = FileManager.default.temporaryDirectory.path + "/mails-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (name, text) in files {
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/" + name))
        }
        return folder
    }

    private func read(_ folder: String) throws -> MailTemplates {
        var configuration = ServerConfiguration()
        configuration[Accounts.mailTemplates] = folder
        return try MailTemplates.read(configuration)
    }

    @Test(arguments: MailKind.allCases) func `each mail has a built-in text`(kind: MailKind) {
        let (subject, text, html) = kind.builtIn.filled([:])
        expect(Mail.isHeader(subject) && text.hasPrefix("Hello,\n") && html == nil)
    }

    @Test func `the language decides, then its beginning, then English`() throws {
        let files = ["verify-email.de.txt": "de", "verify-email.de-AT.txt": "at", "verify-email.en.txt": "own"]
        let templates = try read(folder(files.mapValues { $0 + link }))
        func subject(_ language: String?) -> String { templates.template(.verifyEmail, for: language).subject }
        expect(subject("de-AT") == "atSubject" && subject("DE-at-x-home") == "atSubject")
        expect(subject("de") == "deSubject" && subject("de-CH") == "deSubject")
        expect(subject(nil) == "ownSubject" && subject("fr") == "ownSubject" && subject("") == "ownSubject")
        expect(templates.template(.newDevice, for: "de"), equals: MailKind.newDevice.builtIn)
    }

    @Test(arguments: [
        ("verify-email.de.txt", "\n\n{{link}}", "no subject"), ("verify-email.de.txt", "Subject\n", "no text"),
        ("verify-email.de.txt", "Subject\n\nlink", "lacks the placeholder {{link}}"),
        ("verify-email.de.txt", "Subject\n\n{{link}} {{code}}", "unknown placeholder {{code}}"),
        ("verify-email.de.txt", "{{x}}\n\n{{link}}", "unknown placeholder {{x}}"),
        ("verify-email.de.txt", "Subject\n\n{{link}} {{link", "unknown placeholder"),
        ("verify-email.de.txt", "Subject\n\n{{link}}\u{7}", "control character"),
        ("verify-email.de.txt", "Subject\rBcc: x\n\n{{link}}", "control character"),
        ("verify-email.de.txt", "Subject\n\n{{link}} " + String(repeating: "x", count: 400), "line of more than"),
        ("verify.de.txt", "Subject\n\n{{link}}", "is not a template"),
        ("verify-email.txt", "Subject\n\n{{link}}", "is not a template"),
        ("verify-email.d.txt", "Subject\n\n{{link}}", "is not a template"),
        ("verify-email.de.md", "Subject\n\n{{link}}", "is not a template"),
        ("verify-email.de.html", "<p>{{link}}</p>", "has no verify-email.de.txt"),
    ]) func `a bad template is refused, with its name and the reason`(name: String, text: String, reason: String) throws
    {
        let folder = try folder([name: text])
        let error = #expect(throws: InvalidConfiguration.self) { try read(folder) }
        expect(error?.key, equals: "mail.templates")
        expect(error?.reason.contains("\(folder)/\(name) ") == true && error?.reason.contains(reason) == true)
    }

    @Test func `a file that is not UTF-8, and a folder that is not there`() throws {
        let folder = try folder([:])
        try Data([0x53, 0xFF, 0x0A]).write(to: URL(fileURLWithPath: folder + "/new-device.de.txt"))
        let error = #expect(throws: InvalidConfiguration.self) { try read(folder) }
        expect(error?.reason.contains("new-device.de.txt is not UTF-8"), equals: true)
        #expect(throws: InvalidConfiguration.self) { try read(folder + "/none") }
    }

    @Test func `values are one line, and escaped in HTML`() throws {
        let template = try MailTemplate(
            .identityAdded, text: "For {{displayName}}\n\n{{provider}}, {{displayName}}!\n",
            html: "<p title=\"{{displayName}}\">{{provider}}</p>")
        let evil = "<b a=\"1\" b='2'>&\r\nBcc: eve@example.org\u{2028}{{provider}}"
        let (subject, text, html) = template.filled(["displayName": evil, "provider": "A&B"])
        let line = "<b a=\"1\" b='2'>&  Bcc: eve@example.org {{provider}}"
        expect(subject == "For \(line)" && text == "A&B, \(line)!\n")
        expect(
            html,
            equals:
                "<p title=\"&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;  Bcc: eve@example.org {{provider}}\">A&amp;B</p>"
        )
    }

    @Test func `no value adds a header, and long ones are folded`() throws {
        for name in ["a\r\nBcc: x@y.z", "ä\nX: y", String(repeating: "ü", count: 300), "=?utf-8?B?QQ==?=", "a\u{0}b"] {
            var mail = Mail(
                id: "1-a", to: EmailAddress("ana@example.org")!, subject: "", text: "one\n")
            let template = try MailTemplate(.accountExists, text: "Hello {{displayName}}\nx", html: "<p>ü</p>\n")
            (mail.subject, mail.text, mail.html) = template.filled(["displayName": name])
            let message = String(decoding: mail.message(from: "Ann <ann@b.org>", at: 1_763_712_000_000), as: UTF8.self)
            let head = message.components(separatedBy: "\r\n\r\n")[0].components(separatedBy: "\r\n")
            let names = head.filter { !$0.hasPrefix(" ") }.map { $0.prefix { $0 != ":" } }
            expect(
                names,
                equals: [
                    "From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version", "Content-Type",
                ])
            expect(head.allSatisfy { $0.utf8.count <= 320 && Mail.isHeader($0) })
        }
    }

    @Test func `no line is too long for mail servers`() {
        var mail = Mail(id: "1-a", to: EmailAddress("ana@example.org")!, subject: "Hello", text: "one\n")
        for count in [998, 999] {
            mail.text = String(repeating: "x", count: count) + "\n"
            let message = String(decoding: mail.message(from: "Ann <ann@b.org>", at: 1_763_712_000_000), as: UTF8.self)
            expect(message.components(separatedBy: "\r\n").allSatisfy { $0.utf8.count <= 998 })
            expect(message.contains("Content-Transfer-Encoding: \(count == 998 ? "8bit" : "quoted-printable")\r\n"))
        }
    }

    @Test func `a header beyond ASCII is read back`() {
        for text in ["Grüße", "plain", String(repeating: "日本", count: 60), "a =?x"] {
            let header = EncodedWords.header(text)
            expect(EncodedWords.decoded(header.replacing("\r\n ", with: " ")), equals: text)
            expect(header.components(separatedBy: "\r\n ").allSatisfy { $0.utf8.count <= 75 })
        }
    }

    @Test func `HTML is quoted-printable`() {
        expect(QuotedPrintable.encoded("a=b \nü\t"), equals: "a=3Db=20\r\n=C3=BC=09")
        let long = QuotedPrintable.encoded(String(repeating: "xü", count: 200))
        expect(long.components(separatedBy: "\r\n").allSatisfy { $0.utf8.count <= 76 })
    }

    @Test func `a mail keeps its order, and one without is as before`() throws {
        let order = MailContents(.newDevice, user: UserID("u-1"), ["device": "x\u{C}\n\"y\""])
        let mail = Mail(
            id: "1-a", to: EmailAddress("ana@example.org")!, subject: "Subject", text: "one\n\ntwo\n", order)
        let read = try #require(Mail(mail.encoded))
        expect(read == mail && read.order == order && read.text == "one\n\ntwo\n")
        expect(Mail("1-a\nana@example.org\nSubject\none\n")?.order, equals: nil)
    }
}
