import Expectations
import Foundation
import FoundationNetworking
import Testing

@testable import presenced

/// `presenced user` and `presenced mail` from outside, on the Redis of a running server.
@Suite(.serialized) struct AccountCommandTests {
    private struct Answer {
        let status: Int32
        let output: String
        let errors: String
        var json: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(output.utf8))) as? [String: Any] ?? [:]
        }
    }

    private static let password = "correct horse battery"

    private func run(
        _ scratch: DataScratch, _ words: [String], password: String? = nil, environment: [String: String] = [:]
    ) throws -> Answer {
        let file = FileManager.default.temporaryDirectory.path + "/password-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try (password.map { $0 + "\n" } ?? "").write(toFile: file, atomically: true, encoding: .utf8)
        let command = try PresencedProcess(words + ["--data-dir", scratch.path], environment: environment, input: file)
        let (status, output, errors) = command.end()
        return Answer(status: status, output: output, errors: errors)
    }

    private func call(
        _ method: String, _ path: String, _ body: [String: String], port: Int, token: String? = nil
    ) async throws -> (status: Int, json: [String: Any]) {
        var request = URLRequest(url: URL(string: "http://127.0.0.1:\(port)\(path)")!)
        request.httpMethod = method
        if method != "GET" { request.httpBody = try JSONSerialization.data(withJSONObject: body) }
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        let (data, response) = try await URLSession.shared.data(for: request)
        let json = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any] ?? [:]
        return ((response as? HTTPURLResponse)?.statusCode ?? 0, json)
    }

    private func signIn(_ name: String, _ password: String, port: Int) async throws -> (Int, String) {
        let answer = try await call("POST", "/v1/sessions", ["email": name, "password": password], port: port)
        return (answer.status, answer.json["accessToken"] as? String ?? "")
    }

    @Test func `an account is created, shown, disabled, enabled, given a password and deleted`() async throws {
        let scratch = try DataScratch()
        let server = try PresencedProcess([
            "serve", "--port", "0", "--shards", "1", "--accounts", "--data-dir", scratch.path,
        ])
        let line = try #require(server.line())
        let port = try #require(line.firstMatch(of: /:([0-9]+)\//).flatMap { Int($0.1) })

        try expect(run(scratch, ["user", "list"]).output, equals: "")
        let made = try run(
            scratch, ["user", "create", "Ana@example.org", "--display-name", "Ana"], password: Self.password)
        expect(made.status == 0 && made.errors == "", "\(made)")
        let user = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
        let again = try run(scratch, ["user", "create", "ana@example.org"], password: Self.password)
        expect(again.status == 1 && again.errors.contains("has an account already"))
        for (address, password) in [("none", Self.password), ("bob@example.org", "short"), ("bob@example.org", nil)] {
            let refused = try run(scratch, ["user", "create", address], password: password)
            expect(refused.status == 1 && refused.errors.hasPrefix("presenced: ") && refused.output == "")
        }

        var (status, token) = try await signIn("ana@example.org", Self.password, port: port)
        expect(status, equals: 200)
        let named = try await call("PUT", "/v1/me/username", ["username": "Ana.B"], port: port, token: token)
        expect(named.status, equals: 200)
        for who in [user, "ANA@example.org", "ana.b"] {
            let shown = try run(scratch, ["user", "show", who])
            expect(shown.json["user"] as? String == user && shown.json["username"] as? String == "Ana.B")
            expect(shown.json["email"] as? String == "ana@example.org" && shown.json["disabled"] as? Bool == false)
        }
        try expect(run(scratch, ["user", "list"]).output, equals: "\(user) ana@example.org Ana.B unverified\n")
        try expect(run(scratch, ["user", "list", "--json"]).json["user"] as? String, equals: user)
        try expect(run(scratch, ["user", "show", "nobody"]).status, equals: 1)

        try expect(run(scratch, ["user", "disable", "ana.b"]).status, equals: 0)
        try await expect(call("GET", "/v1/me", [:], port: port, token: token).status, equals: 401)
        try await expect(signIn("ana@example.org", Self.password, port: port).0, equals: 401)
        try expect(run(scratch, ["user", "enable", "ana.b"]).status, equals: 0)
        (status, token) = try await signIn("ana@example.org", Self.password, port: port)
        expect(status, equals: 200)

        let weak = try run(scratch, ["user", "set-password", user], password: "my ana.b password")
        expect(weak.status == 1 && weak.errors.contains("the password"))
        try expect(run(scratch, ["user", "set-password", user], password: "another password").status, equals: 0)
        try await expect(call("GET", "/v1/me", [:], port: port, token: token).status, equals: 401)
        try await expect(signIn("ana.b", "another password", port: port).0, equals: 200)

        // The console's command leaves nothing behind, and the doctor has no findings.
        try expect(run(scratch, ["doctor"]).status, equals: 0)
        let doubted = try run(scratch, ["user", "delete", user])
        expect(doubted.status == 64 && doubted.errors.contains("--yes"))
        try expect(run(scratch, ["user", "delete", user, "--yes"]).status, equals: 0)
        try expect(run(scratch, ["user", "list"]).output, equals: "")
        try expect(run(scratch, ["user", "delete", user, "--yes"]).status, equals: 1)
        try expect(run(scratch, ["user", "create", "ana@example.org"], password: Self.password).status, equals: 0)
        server.signal(SIGTERM)
        expect(server.end().status, equals: 0)
        let late = try run(scratch, ["user", "list"])
        expect(late.status == 1 && late.errors.contains("no server runs"))
    }

    @Test(arguments: [true, false])
    func `a password set by an operator can sign in, whatever failed before`(hides: Bool) async throws {
        let scratch = try DataScratch()
        let server = try PresencedProcess(
            ["serve", "--port", "0", "--shards", "1", "--accounts", "--data-dir", scratch.path],
            environment: ["PRESENCE_ACCOUNTS_HIDE_EXISTING": "\(hides)"])
        let line = try #require(server.line())
        let port = try #require(line.firstMatch(of: /:([0-9]+)\//).flatMap { Int($0.1) })
        func run(_ words: String..., password: String) throws -> Answer {
            let settings = [
                "PRESENCE_ACCOUNTS_HIDE_EXISTING": "\(hides)", "PRESENCE_ACCOUNTS_DEFAULT_DISPLAY_NAME": "neutral",
            ]
            return try self.run(scratch, words, password: password, environment: settings)
        }
        let made = try run("user", "create", "ana.secret@example.org", password: Self.password)
        expect(made.status == 0 && made.errors == "", "\(made)")
        let (status, token) = try await signIn("ana.secret@example.org", Self.password, port: port)
        expect(status, equals: 200)
        let own = try await call("GET", "/v1/me", [:], port: port, token: token)
        expect((own.json["account"] as? [String: Any])?["emailVerified"] as? Bool, equals: hides)
        expect((own.json["profile"] as? [String: Any])?["displayName"] as? String, equals: "User", "\(own.json)")

        var slowed = 0
        for _ in 0..<12 where slowed != 429 {
            slowed = try await signIn("ana.secret@example.org", "wrong password", port: port).0
        }
        expect(slowed, equals: 429)
        try expect(
            run("user", "set-password", "ana.secret@example.org", password: "another password").status, equals: 0)
        try await expect(signIn("ana.secret@example.org", "another password", port: port).0, equals: 200)
        server.signal(SIGTERM)
        expect(server.end().status, equals: 0)
    }

    @Test func `the outbox is listed, with links that have the server's port`() async throws {
        let scratch = try DataScratch()
        try expect(run(scratch, ["mail"]).output, equals: "")
        let server = try PresencedProcess([
            "serve", "--port", "0", "--shards", "1", "--accounts", "--data-dir", scratch.path,
        ])
        let line = try #require(server.line())
        let port = try #require(line.firstMatch(of: /:([0-9]+)\//).flatMap { Int($0.1) })
        let body = ["email": "ana@example.org", "password": Self.password]
        try await expect(call("POST", "/v1/accounts", body, port: port).status, equals: 201)
        var answer = try run(scratch, ["mail", "--json"])
        for _ in 0..<200 where answer.output.isEmpty {
            try await Task.sleep(for: .milliseconds(20))
            answer = try run(scratch, ["mail", "--json"])
        }
        expect(answer.json["to"] as? String == "ana@example.org" && answer.json["subject"] != nil)
        let link = try #require(answer.json["link"] as? String)
        expect(link.hasPrefix("http://127.0.0.1:\(port)/verify#token="))
        try expect(run(scratch, ["mail"]).output.contains(link))
        server.signal(SIGTERM)
        _ = server.end()
    }
}
