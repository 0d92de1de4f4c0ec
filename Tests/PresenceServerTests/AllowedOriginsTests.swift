import Expectations
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

@Suite struct AllowedOriginsTests {
    @Test(
        arguments: [
            (nil, "presence.example.org", true), (nil, nil, true),
            ("https://presence.example.org", "presence.example.org", true),
            ("https://presence.example.org", "Presence.Example.org:443", true),
            ("http://localhost:3000", "localhost:4040", true), ("http://[::1]:3000", "[::1]:4040", true),
            ("https://example.org", "presence.example.org", false),
            ("https://evil.org", "presence.example.org", false), ("null", "presence.example.org", false),
            ("https://presence.example.org.evil.org", "presence.example.org", false),
            ("https://evil.org/presence.example.org", "presence.example.org", false),
            ("https://presence.example.org@evil.org", "presence.example.org", false),
            ("presence.example.org", "presence.example.org", false), ("", "presence.example.org", false),
            ("https://presence.example.org", nil, false), ("https://", "", false),
        ] as [(String?, String?, Bool)])
    func `without a list a page may connect to its own host`(origin: String?, host: String?, allowed: Bool) {
        expect(AllowedOrigins([]).allows(origin, host: host), equals: allowed)
    }

    @Test(
        arguments: [
            (nil, true), ("https://app.example.org", true), ("https://APP.example.org:443", true),
            ("http://localhost:3000", true), ("http://localhost", false), ("http://app.example.org", false),
            ("https://app.example.org:8443", false), ("https://presence.example.org", false), ("null", false),
            ("*", false), ("nonsense", false),
        ] as [(String?, Bool)])
    func `with a list only its origins may connect`(origin: String?, allowed: Bool) {
        let origins = AllowedOrigins(["https://app.example.org", "http://localhost:3000"])
        expect(origins.allows(origin, host: "presence.example.org"), equals: allowed)
    }

    @Test func `a star allows every page, and null those without an origin`() {
        expect(AllowedOrigins(["*"]).allows("https://evil.org", host: "a"))
        expect(AllowedOrigins(["*"]).allows("null", host: "a"))
        expect(AllowedOrigins(["null"]).allows("null", host: "a"))
        expect(!AllowedOrigins(["null"]).allows("https://a", host: "a"))
    }

    @Test func `pages opened from files can be allowed`() {
        expect(AllowedOrigins(["file://"]).allows("file://", host: "a"))
        expect(!AllowedOrigins(["file://"]).allows("null", host: "a"))
        expect(
            !AllowedOrigins([]).allows("file://", host: "a") && !AllowedOrigins(["null"]).allows("file://", host: "a"))
    }

    @Test(arguments: ["localhost", "127.0.0.1", "127.8.9.10", "[::1]"], ["localhost", "127.0.0.1", "[::1]"])
    func `all names of this machine are one host to a server that listens on loopback only`(page: String, host: String)
    {
        let (origin, host) = ("http://\(page):3000", "\(host):4040")
        expect(AllowedOrigins([], isLoopback: true).allows(origin, host: host))
        expect(AllowedOrigins([]).allows(origin, host: host), equals: page + ":4040" == host)
        for other in ["http://localhost.evil.org", "http://evil.org", "http://128.0.0.1", "http://[::2]", "null"] {
            expect(!AllowedOrigins([], isLoopback: true).allows(other, host: host))
        }
    }

    @Test(arguments: [
        "https://*.example.org", "https://*", "*://example.org", "https://exämple.org", "https://example.org/",
        "https://example.org/*", "http://127.1", "http://2130706433", "http://0x7f.0.0.1.1", "https://[::1",
        "https://[fe80::1%1]",
        "https://[::ffff:1.2.3.4]", "https://a,https://b", "https://example.org:", "https://example.org:*", "file:",
        "file:///",
        "example.org", "https://", "https://exa mple.org",
    ])
    func `an entry that no browser could send is rejected`(text: String) {
        expect(AllowedOrigins.Entry(text), equals: nil)
    }

    @Test func `random origins of all kinds match the entry that names them, and no other`() throws {
        var drawn = SplitMix64(12)
        let schemes = ["http", "https", "capacitor", "ionic", "tauri", "app", "chrome-extension", "moz-extension"]
        let hosts = [
            "localhost", "a", "app.example.org", "xn--mnchen-3ya.example", "192.0.2.7", "[2001:db8::1]", "[::1]",
            "abcdefghijklmnopabcdefghijklmnop", "0a1b2c3d-0000-4000-8000-1234567890ab", "a_b.example",
        ]
        let origins = try (0..<60).map { _ in
            let port = try #require(["", "", ":80", ":443", ":3000"].randomElement(using: &drawn))
            let scheme = try #require(schemes.randomElement(using: &drawn))
            return "\(scheme)://\(try #require(hosts.randomElement(using: &drawn)))\(port)"
        }
        for origin in origins {
            let entry = try #require(AllowedOrigins.Entry(origin), "\(origin)")
            for other in origins {
                let allowed = AllowedOrigins([origin.uppercased()]).allows(other, host: "server.example")
                expect(allowed, equals: AllowedOrigins.Entry(other) == entry, "\(origin) \(other)")
            }
        }
    }
}
