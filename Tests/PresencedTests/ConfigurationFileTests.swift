import Expectations
import Foundation
import Installation
import PresenceCore
import PresenceServer
import Testing
import Yams

@testable import presenced

/// config/presenced.yaml compared with the built-in defaults, and rejected contents of a file.
@Suite struct ConfigurationFileTests {
    private let shipped = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../config/presenced.yaml").standardizedFileURL.path

    @discardableResult
    private func withFile<Result>(_ text: String, _ body: (String) throws -> Result) throws -> Result {
        let path = FileManager.default.temporaryDirectory.appending(path: "presenced-\(UUID().uuidString).yaml").path
        try Data(text.utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try body(path)
    }

    @Test func `the shipped file has every key, and nothing else`() throws {
        let groups = Set(
            ServerConfiguration.settings.map(\.key).flatMap { key in
                key.indices.filter { key[$0] == "." }.map { String(key[..<$0]) }
            })
        try expect(
            ConfigurationFile.check(shipped).subtracting(groups), equals: Set(ServerConfiguration.settings.map(\.key)))
    }

    @Test func `every value in the shipped file is the built-in default`() throws {
        try expect(ConfigurationSources(file: shipped).read(), equals: ServerConfiguration())
        // Each default is in its place: it is read from the file itself.
        for setting in ServerConfiguration.settings {
            let node = setting.key.split(separator: ".").reduce(
                try compose(yaml: try String(contentsOfFile: shipped, encoding: .utf8))
            ) {
                $0?[String($1)]
            }
            let texts = try #require(
                node?.scalar.map { [$0.string] } ?? node?.sequence?.map { $0.scalar?.string ?? "" })
            var configuration = ServerConfiguration()
            try setting.read(texts, into: &configuration)
            expect(configuration, equals: ServerConfiguration(), "\(setting.key)")
        }
    }

    @Test func `the shipped file has each setting below its explanation`() throws {
        var (path, comment): ([Substring], String) = ([], "")
        var explanations: [String: String] = [:]
        for line in try String(contentsOfFile: shipped, encoding: .utf8).split(separator: "\n") {
            let text = line.drop { $0 == " " }
            if text.hasPrefix("#") {
                comment += text.dropFirst(2) + " "
                continue
            }
            path = path.prefix((line.count - text.count) / 2) + [text.prefix { $0 != ":" }]
            explanations[path.joined(separator: ".")] = comment
            comment = ""
        }
        for setting in ServerConfiguration.settings {
            expect(explanations[setting.key]?.contains(setting.about), equals: true, "\(setting.key)")
        }
    }

    @Test func `every key of the shipped file is explained right above it`() throws {
        let lines = try String(contentsOfFile: shipped, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated()
        where line.contains(":") && !line.trimmingCharacters(in: .whitespaces).hasPrefix("#") {
            let isGroup = line.hasSuffix(":")
            expect(
                isGroup || lines[index - 1].trimmingCharacters(in: .whitespaces).hasPrefix("# "),
                "line \(index + 1): \(line)")
        }
    }

    @Test(arguments: [
        ("lingre: 1s", "lingre: unknown key"), ("Linger: 1s", "is linger meant?"),
        ("heartbeat:\n  intervall: 1s", "heartbeat.intervall: unknown key"),
        ("interval: 1s", "is heartbeat.interval meant?"), ("heartbeat.interval: 1s", "heartbeat.interval: unknown key"),
        ("accounts.enabled: true", "\naccounts:\n  enabled: …"),
        ("photos.s3.bucket: a", "\nphotos:\n  s3:\n    bucket: …"),
        ("photos:\n  s3.bucket: a", "line 2). Write:\n  s3:\n    bucket: …"),
        ("photos.s3: {bucket: a}", "\nphotos:\n  s3: …"),
        ("a.b: 1", "a.b: unknown key ("),
        ("limits:\n  nested:\n    deep: 1", "limits.nested: unknown key"),
        ("heartbeat: 7s", "heartbeat: must be a group"), ("heartbeat: []", "heartbeat: must be a group"),
        ("linger:\n  a: 1s", "linger: must be a single value"), ("linger: [1s]", "linger: must be a single value"),
        ("linger:", "linger: has no value"), ("linger: ~", "linger: has no value"),
        ("linger: null", "linger: has no value"),
        ("auth:\n  keys: a:ES256:f", "auth.keys: must be a list"),
        ("auth:\n  keys: [[a]]", "auth.keys: must be a list"),
        ("linger: 1s\nlinger: 2s", "linger"), ("[]", "must be a YAML mapping"), ("hello", "must be a YAML mapping"),
        ("''", "must be a YAML mapping"), ("a: b: c", "is not YAML"), ("\t", "presenced-"), ("{", "is not YAML"),
        ("linger: 20", "linger: is \"20\", but must be a whole number with a unit"), ("linger: soon", "linger"),
        ("linger: -1s", "linger"), ("linger: 1.5s", "linger"), ("linger: 1 s", "linger"),
        ("linger: 0s", "linger: is 0 ms"),
        ("linger: 99999999999999999999s", "linger"), ("linger: 9999999999999d", "linger"),
        ("port: 4040.0", "port: is \"4040.0\", but must be a whole number"), ("port: 0x10", "port"),
        ("port: 1_000", "port"),
        ("port: +5", "port"), ("port: ''", "port"), ("port: 65536", "port: is 65536"), ("sharePort: yes", "sharePort"),
        ("sharePort: True", "sharePort"), ("logLevel: loud", "one of trace, debug, info"),
        ("redis:\n  appendfsync: sometimes", "one of always, everysec, no"),
        ("redis:\n  url: http://localhost", "redis.url: unknown scheme"),
        ("webhooks:\n- {url: https://a, secretFile: s, events: []}", "has a bad events"),
        ("auth:\n  keys: [main]", "KID:ALG:FILE"), ("auth:\n  keys: ['a:HS256:f']", "must be RS256, ES256 or EdDSA"),
        ("lease:\n  duration: 9s", "lease.duration: is 9000 ms, but must not be shorter than linger"),
    ])
    func `an error about an unknown or misplaced value names it`(text: String, named: String) throws {
        try withFile(text + "\n") { path in
            #expect {
                try ConfigurationSources(file: path).read()
            } throws: {
                expect("\($0)".contains(named))
                return $0 is InvalidConfiguration
            }
        }
    }

    /// Typical slips around a password.
    @Test(arguments: [
        "mail:\n  url: smtp://user:hunter2: x@mail\n", "mail:\n  url: \"smtp://user:hunter2@mail\n",
        "redis:\n  url: 'redis://:hunter2@host\nport: 1\n", "redis:\n  url: redis://:hunter2@host\n   port: 1\n",
        "redis:\n  redis://:hunter2@host: 1\n", "redis:\n  redis://:hunter2@host\n", "redis://:hunter2@host: 1\n",
        "redis: {url: redis://:hunter2@host, url: redis://:hunter2@host}\n",
        "mail:\n  url: [smtp://user:hunter2@mail]\n",
        "mail:\n  url: {smtp://user:hunter2@mail: 1}\n",
        "mail:\n  url: http://user:hunter2@mail\naccounts:\n  enabled: true\n",
        "redis:\n  url: smtp://user:hunter2@mail\n", "{mail: {url: smtp://user:hunter2@mail}\n",
        "mail:\n\turl: hunter2\n",
        "webhooks:\n- {hunter2!: 1}\n", "mail:\n  url: *hunter2\n", "mail:\n  url: !hunter2 x\n  url: hunter2\n",
        "mail:\n  url: @hunter2\n", "mail:\n  url: %hunter2\n", "mail:\n  url: `hunter2`\n",
    ])
    func `no error has a password`(text: String) throws {
        try withFile(text) { path in
            #expect {
                try ConfigurationSources(file: path).read()
            } throws: {
                expect(!"\($0)".contains("hunter2"), "\($0)")
                return $0 is InvalidConfiguration
            }
        }
    }

    @Test(arguments: [
        "", "# limits:\n#   subscriptions: 5", "---", "~", "limits:", "limits:\n  # subscriptions: 5\nphotos: ~",
        "photos:\n  s3:\n  # bucket: a",
    ])
    func `a file with comments only means the defaults`(text: String) throws {
        try withFile(text) { path in
            let read = try ConfigurationSources(file: path).read()
            expect(read, equals: ServerConfiguration())
        }
    }

    @Test func `an error about an unreadable file has the reason`() {
        for (path, reason) in [("/nowhere.yaml", "No such file or directory"), ("/", "Is a directory")] {
            #expect {
                try ConfigurationFile.check(path)
            } throws: {
                "\($0)" == "\(path): the configuration file cannot be read: \(reason)"
            }
        }
    }

    @Test func `an error has the file and the line`() throws {
        try withFile("# one\nport: 1\nlingre: 1s\n") { path in
            #expect {
                try ConfigurationSources(file: path).read()
            } throws: {
                "\($0)" == "lingre: unknown key (\(path), line 3)"
            }
        }
    }

    @Test func `a file with a few keys changes only those`() throws {
        let text = """
            port: 0
            linger: 5s
            lease: {duration: 8s, renewal: 500ms}
            limits:
              maxConnections: 100
            auth:
              keys:
                - one:ES256:/etc/presence/one.pem
                - two:EdDSA:C:/keys/two.pem
              issuer: "https://app.example"
            """
        var expected = ServerConfiguration()
        expected.port = 0
        expected.linger = 5_000
        expected.lease.duration = 8_000
        expected.lease.renewal = 500
        expected.limits.maxConnections = 100
        expected.auth.keys = [
            .init(kid: "one", alg: "ES256", file: "/etc/presence/one.pem"),
            .init(kid: "two", alg: "EdDSA", file: "C:/keys/two.pem"),
        ]
        expected.auth.issuer = "https://app.example"
        let read = try withFile(text) { try ConfigurationSources(file: $0).read() }
        expect(read, equals: expected)
    }

    @Test func `an error about a missing file names it`() {
        #expect {
            try ConfigurationSources(file: "/nowhere/at-all.yaml").read()
        } throws: {
            "\($0)".contains("/nowhere/at-all.yaml")
        }
    }
}
