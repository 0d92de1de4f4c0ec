import Expectations
import Foundation
import Installation
import PresenceCore
import PresenceServer
import TestSupport
import Testing

@testable import presenced

@Suite struct ConfigurationSourcesTests {
    @Test func `flags override the environment, which overrides the file`() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "presenced-\(UUID().uuidString).yaml").path
        try Data("host: file\nport: 1\nshards: 1\n".utf8).write(to: URL(filePath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        let sources = ConfigurationSources(
            flags: ["host": "flag"], environment: ["PRESENCE_HOST": "environment", "PRESENCE_PORT": "2"], file: file)
        let configuration = try sources.read()
        expect(configuration.host, equals: "flag")
        expect(configuration.port, equals: 2)
        expect(configuration.shards, equals: 1)
        expect(configuration.linger, equals: ServerConfiguration().linger)
    }

    /// Files with a secret of webhooks, a key for APNs and one for FCM.
    private static func keys(in files: ScratchDirectory) throws -> (secret: String, apns: String, fcm: String) {
        let account = [
            "project_id": "p", "client_email": "a@example.org", "token_uri": "https://example.org",
            "private_key": TestKeys.rsa,
        ]
        let made = (
            try files.write("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", to: "secret"),
            try files.write(TestKeys.ecdsa, to: "apns.p8"),
            try files.write(String(decoding: JSONEncoder().encode(account), as: UTF8.self), to: "fcm.json")
        )
        for file in [made.0, made.1, made.2] { chmod(file, 0o600) }
        return made
    }

    /// Settings that are valid only together with others, by the beginning of their key.
    private static func needs(secret: String, apns: String) -> [String: [String: String]] {
        [
            "photos.s3.": [
                "photos.s3.bucket": "pictures", "photos.s3.endpoint": "https://s3.example.org",
                "photos.s3.accessKey": "key", "photos.s3.secretKeyFile": secret,
            ],
            "push.apns.": [
                "push.apns.keyFile": apns, "push.apns.keyID": "KEY1234567", "push.apns.teamID": "TEAM123456",
                "push.apns.topic": "org.example.app",
            ],
            "hooks.beforeMessage.": [
                "hooks.beforeMessage.url": "https://a", "hooks.beforeMessage.secretFile": secret,
            ],
            "push.web.privateAddresses": ["push.web.hosts": "push.example.org"],
            "accounts.p": ["accounts.enabled": "true"],
        ]
    }

    /// Each key gets a value other than its default, from the environment alone.
    @Test func `every key can be set by its variable`() throws {
        let files = try ScratchDirectory()
        defer { withExtendedLifetime(files) {} }
        let (secret, apns, fcm) = try Self.keys(in: files)
        let needs = Self.needs(secret: secret, apns: apns)
        for setting in ServerConfiguration.settings {
            // Settings that are valid over TLS only are set together with it, and a certificate with its key.
            var base = ServerConfiguration()
            var others: [String: String] = [:]
            if setting.key.hasPrefix("redis.tls.") {
                base.redis.url = "rediss://host"
                others["PRESENCE_REDIS_URL"] = base.redis.url
                if setting.key.hasSuffix("certificateFile") {
                    base.redis.tls.keyFile = "k"
                    others["PRESENCE_REDIS_TLS_KEY_FILE"] = "k"
                } else if setting.key.hasSuffix("keyFile") {
                    base.redis.tls.certificateFile = "c"
                    others["PRESENCE_REDIS_TLS_CERTIFICATE_FILE"] = "c"
                }
            }
            for (prefix, keys) in needs where setting.key.hasPrefix(prefix) {
                for (key, text) in keys where key != setting.key {
                    let other = try #require(ServerConfiguration.settings.first { $0.key == key })
                    try other.read([text], into: &base)
                    others[other.variable] = text
                }
            }
            var changed = base
            for text in [
                "always", "debug", "true", "a:ES256:f,b:EdDSA:g", "unix:///s", "4s", "1s", "20s", "7", "8192", "20000",
                "https://a,https://b", "10.0.0.0/8,::1", "typing", "neutral", "sender", "refuse", "2000h", "/folder",
                "https://a", "https://a \(secret) message.created,http://127.0.0.1:8 \(secret)", secret,
                apns, fcm, "KEY7654321", "name=a kind=google clientIds=b,name=c kind=apple clientIds=d button=By%20c",
            ] {
                let texts = setting.isList ? text.split(separator: ",").map(String.init) : [text]
                var candidate = base
                guard (try? setting.read(texts, into: &candidate)) != nil, (try? candidate.validate()) != nil,
                    candidate != base
                else { continue }
                let environment = [setting.variable: text, "PATH": "/bin", "port": "9", "HOST": "x"]
                    .merging(others) { own, _ in own }
                try expect(
                    ConfigurationSources(environment: environment).read(), equals: candidate, "\(setting.variable)")
                changed = candidate
                break
            }
            expect(changed != base, "no text was found to try \(setting.key) with")
        }
    }

    @Test func `a list in a variable may have spaces between its texts`() throws {
        let environment = ["PRESENCE_AUTH_KEYS": " a:ES256:/f, b:EdDSA:/g\n"]
        try expect(ConfigurationSources(environment: environment).read().auth.keys.map(\.file), equals: ["/f", "/g"])
    }

    @Test func `names of variables follow from the keys`() {
        let names = Dictionary(uniqueKeysWithValues: ServerConfiguration.settings.map { ($0.key, $0.variable) })
        expect(names["heartbeat.interval"], equals: "PRESENCE_HEARTBEAT_INTERVAL")
        expect(names["redis.url"], equals: "PRESENCE_REDIS_URL")
        expect(names["limits.maxMessageBytes"], equals: "PRESENCE_LIMITS_MAX_MESSAGE_BYTES")
        expect(names["auth.jwksFile"], equals: "PRESENCE_AUTH_JWKS_FILE")
        expect(Set(names.values).count, equals: names.count)
    }

    @Test(arguments: ["PRESENCE_LINGRE", "PRESENCE_", "presence_port", "PRESENCE_heartbeat_interval", "Presence_Port"])
    func `an error about an unknown variable names it`(name: String) {
        #expect {
            try ConfigurationSources(environment: [name: "1"]).read()
        } throws: {
            "\($0)".contains(name) && $0 is InvalidConfiguration
        }
    }

    @Test func `variables of the project's tools and of other programs are ignored`() throws {
        let environment = [
            "PRESENCE_TOKEN": "x", "PRESENCE_URL": "y", "PRESENCED": "z", "PORT": "9", "MYPRESENCE_X": "1",
        ]
        try expect(ConfigurationSources(environment: environment).read(), equals: ServerConfiguration())
    }

    @Test(
        arguments: [
            (["port": "x"], [:], "--port"), ([:], ["PRESENCE_PORT": "x"], "environment variable PRESENCE_PORT"),
            (["port": "70000"], [:], "--port"), (["redis.url": "http://x"], [:], "--redis"),
            ([:], ["PRESENCE_LINGER": "20"], "environment variable PRESENCE_LINGER"),
            ([:], ["PRESENCE_AUTH_KEYS": "a:b"], "environment variable PRESENCE_AUTH_KEYS"),
            (["logLevel": "loud"], ["PRESENCE_LOG_LEVEL": "info"], "--log-level"),
        ] as [([String: String], [String: String], String)])
    func `a bad value's error names its source`(
        flags: [String: String], environment: [String: String], named: String
    ) {
        #expect {
            try ConfigurationSources(flags: flags, environment: environment).read()
        } throws: {
            expect("\($0)".contains(named))
            return $0 is InvalidConfiguration
        }
    }

    @Test func `every setting reads its own output`() throws {
        for setting in ServerConfiguration.settings {
            var configuration = ServerConfiguration()
            configuration.host = "changed"
            configuration.shards = 3
            try setting.read(setting.write(ServerConfiguration()), into: &configuration)
            expect(setting.write(configuration), equals: setting.write(ServerConfiguration()), "\(setting.key)")
        }
    }

    // MARK: Durations

    @Test(
        arguments: [
            ("500ms", 500), ("20s", 20_000), ("5m", 300_000), ("24h", 86_400_000), ("7d", 604_800_000), ("0s", 0),
            ("007s", 7_000), ("9223372036854775807ms", Int64.max),
        ] as [(String, Int64)])
    func `a duration is a number and its unit`(text: String, milliseconds: Int64) {
        expect(DurationText.parse(text), equals: milliseconds)
    }

    @Test(arguments: [
        "", "20", "s", "ms", "-1s", "+1s", "1.5s", "1 s", " 1s", "1s ", "1S", "1sec", "1s1s", "1h30m", "１s",
        "1\u{301}s",
        "9223372036854775808ms", "9223372036854775807s", "1e3s", "0x1s", "1w", "1µs",
    ])
    func `anything else is not a duration`(text: String) {
        expect(DurationText.parse(text), equals: nil)
    }

    @Test(arguments: [0, 1, 999, 1_000, 1_500, 59_999, 60_000, 90_000, 3_600_000, 86_400_000, 604_800_000] as [Int64])
    func `a formatted duration is parsed as the same`(milliseconds: Int64) {
        expect(DurationText.parse(DurationText.format(milliseconds)), equals: milliseconds)
    }
}
