import Expectations
import Foundation
import PresenceCore
import PresenceServer
import Testing

@testable import presenced

/// Warnings for operators: one list, which the server logs at its start and the doctor prints.
@Suite struct StartWarningTests {
    private func warnings(_ text: String, mode: mode_t = 0o600) throws -> [StartWarning] {
        let file = FileManager.default.temporaryDirectory.path + "/warned-\(UUID().uuidString).yaml"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try text.write(toFile: file, atomically: false, encoding: .utf8)
        chmod(file, mode)
        let sources = ConfigurationSources(flags: ["dataDirectory": file + ".data"], file: file)
        return sources.warnings(of: try sources.read())
    }

    private static let mail =
        "accounts:\n  enabled: true\n  linkBase: LINK\nmail:\n  url: smtp://relay.example\n  from: FROM\n"

    @Test(
        arguments: [
            ("", []), ("accounts:\n  enabled: true\n", []),
            (mail, []),
            (
                mail.replacing("LINK", with: "''"),
                ["accounts.linkBase is empty: links in mails begin with http://127.0.0.1:4040"]
            ),
            (mail.replacing("LINK", with: "http://chat.example"), ["accounts.linkBase is http://chat.example"]),
            (mail.replacing("LINK", with: "https://localhost:8443"), ["accounts.linkBase is https://localhost:8443"]),
            (mail.replacing("FROM", with: "no-reply@localhost"), ["mail.from is an address at localhost"]),
            ("accounts:\n  enabled: true\n  password:\n    minimum: 6\n", ["accounts.password.minimum is below 8"]),
            ("accounts:\n  enabled: true\ntrustedProxies: [127.0.0.1]\n", ["photos.publicURL is empty"]),
            ("accounts:\n  enabled: true\ntrustedProxies: [127.0.0.1]\nphotos:\n  publicURL: https://a.example\n", []),
            ("auth:\n  jwksFile: /nowhere\n", ["auth.jwksFile without auth.issuer and auth.audience"]),
            ("auth:\n  jwksFile: /nowhere\n  issuer: a\n", []), ("auth:\n  jwksFile: /nowhere\n  audience: a\n", []),
            ("app:\n  enabled: true\n", ["app.enabled is on and accounts.enabled is off"]),
        ] as [(String, [String])])
    func `weak settings cause a warning`(text: String, parts: [String]) throws {
        let text = text.replacing("LINK", with: "https://chat.example").replacing(
            "FROM", with: "Chat <chat@chat.example>")
        let found = try warnings(text).map(\.text)
        expect(found.count, equals: parts.count, "\(found)")
        for part in parts { expect(found.contains { $0.contains(part) }, "\(part): \(found)") }
    }

    @Test(arguments: [
        ("mail:\n  url: smtp://user:hunter2@relay.example\n", true),
        ("redis:\n  url: redis://:hunter2@redis.example\n", true),
        ("redis:\n  url: redis://redis.example/2\n", false), ("mail:\n  url: smtp://relay.example\n", false),
        ("", false),
    ])
    func `passwords in a file that others can read cause a warning`(text: String, hasPassword: Bool)
        throws
    {
        for (mode, isExposed) in [(0o600, false), (0o640, false), (0o644, true), (0o604, true)] as [(mode_t, Bool)] {
            let found = try warnings(text, mode: mode)
            expect(found.contains { $0.text.contains("passwords") && $0.file != nil }, equals: isExposed && hasPassword)
            expect(!found.contains { $0.text.contains("hunter2") })
        }
    }

    @Test func `a password in the environment does not count as one in the file`() throws {
        let file = FileManager.default.temporaryDirectory.path + "/warned-\(UUID().uuidString).yaml"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try "port: 1\n".write(toFile: file, atomically: false, encoding: .utf8)
        chmod(file, 0o644)
        let sources = ConfigurationSources(
            flags: ["dataDirectory": file + ".data"],
            environment: ["PRESENCE_MAIL_URL": "smtp://user:hunter2@relay.example"],
            file: file)
        expect(sources.warnings(of: try sources.read()).isEmpty)
    }
}
