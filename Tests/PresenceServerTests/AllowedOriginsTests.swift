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
        #expect(AllowedOrigins([]).allows(origin, host: host) == allowed)
    }

    @Test(
        arguments: [
            (nil, true), ("https://app.example.org", true), ("https://APP.example.org:443", true),
            ("http://localhost:3000", true), ("http://localhost", false), ("http://app.example.org", false),
            ("https://app.example.org:8443", false), ("https://presence.example.org", false), ("null", false),
            ("*", false), ("nonsense", false),
        ] as [(String?, Bool)])
    func `with a list only those in it may`(origin: String?, allowed: Bool) {
        let origins = AllowedOrigins(["https://app.example.org", "http://localhost:3000"])
        #expect(origins.allows(origin, host: "presence.example.org") == allowed)
    }

    @Test func `a star lets every page in, and null those without an origin`() {
        #expect(AllowedOrigins(["*"]).allows("https://evil.org", host: "a"))
        #expect(AllowedOrigins(["*"]).allows("null", host: "a"))
        #expect(AllowedOrigins(["null"]).allows("null", host: "a"))
        #expect(!AllowedOrigins(["null"]).allows("https://a", host: "a"))
    }
}
