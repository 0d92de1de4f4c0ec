import Expectations
import Testing
import WebSockets

@testable import TestSupport

@Suite(.timeLimit(.minutes(1)))
struct TrustedProxiesTests {
    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("192.0.2.7", "192.0.2.7", true),
        ("192.0.2.7", "192.0.2.8", false), ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "2001:db8::1", false),
        ("2001:db8::/32", "2001:db8:ffff::1", true), ("2001:db8::/32", "2001:db9::1", false), ("::/0", "1.2.3.4", true),
        ("::1", "::1", true), ("::1", "127.0.0.1", false), ("2001:db8::/65", "2001:db8::7fff:0:0:1", true),
        ("2001:db8::/65", "2001:db8::8000:0:0:1", false), ("172.16.0.0/12", "::ffff:172.31.0.1", true),
    ])
    func `a range contains the addresses of its prefix`(range: String, address: String, isIn: Bool) throws {
        try expect(#require(AddressRange(range)).contains(try #require(PeerAddress(host: address))), equals: isIn)
    }

    @Test(arguments: [
        "", "/8", "10.0.0.0/", "10.0.0.0/33", "10.1.0.0/8", "10.0.0/8", "::/129", "proxy", "1.2.3.4/+8", "::1/64",
    ])
    func `an invalid range is rejected`(text: String) {
        expect(AddressRange(text), equals: nil)
    }

    @Test(
        arguments: [
            // Only trusted addresses are believed.
            ("203.0.113.1", "198.51.100.1", "203.0.113.1"),
            ("10.0.0.1", nil, "10.0.0.1"), ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
            // A client's own entries are before those of the proxy.
            ("10.0.0.1", "192.0.2.99, 198.51.100.1", "198.51.100.1"),
            ("10.0.0.1", "192.0.2.99, 198.51.100.1 , 10.0.0.2", "198.51.100.1"),
            ("10.0.0.1", "10.0.0.3,10.0.0.2", "10.0.0.3"),
            ("10.0.0.1", "198.51.100.1:4711", "198.51.100.1"), ("10.0.0.1", "[2001:db8::1]:4711", "2001:db8::1"),
            ("10.0.0.1", "2001:db8::1", "2001:db8::1"),
            // Before nonsense nothing is known, and the proxy is not the client.
            ("10.0.0.1", "198.51.100.1, unknown", "::"), ("10.0.0.1", "198.51.100.1,", "::"),
            ("10.0.0.1", "198.51.100.1, unknown, 10.0.0.2", "::"), ("10.0.0.1", "[::1", "::"),
            ("10.0.0.1", "1.2.3.4:99999", "::"), ("10.0.0.1", "", "::"),
        ] as [(String, String?, String)])
    func `the client is the last one seen by a trusted proxy`(peer: String, list: String?, client: String) throws {
        let proxies = TrustedProxies([try #require(AddressRange("10.0.0.0/8"))])
        let peer = try #require(PeerAddress(host: peer, port: 1))
        expect(proxies.client(of: peer, list).host, equals: client)
    }

    @Test func `requests and upgrades have the address that a trusted proxy names, in all the header's lines`()
        async throws
    {
        for (range, expected) in [("127.0.0.0/8", "198.51.100.1"), ("10.0.0.0/8", "127.0.0.1")] {
            try await withServer({ $0.proxies = TrustedProxies([AddressRange(range)!]) }) { server in
                let lines = ["X-Forwarded-For: 192.0.2.99", "X-Forwarded-For: 198.51.100.1"]
                let client = try RawClient(port: server.port)
                try client.send("GET /a HTTP/1.1\r\nHost: localhost\r\n" + lines.joined(separator: "\r\n") + "\r\n\r\n")
                _ = try client.readResponse()
                _ = try RawClient.upgraded(port: server.port, headers: lines)
                let events = await server.log.first { if case .opened = $0 { true } else { false } }
                guard case .opened(_, let upgrade) = events else { return }
                expect(upgrade.peer.host, equals: expected)
                let requests = server.log.all.compactMap {
                    if case .request(_, let request) = $0 { request.peer.host } else { nil }
                }
                expect(requests, equals: [expected])
            }
        }
    }
}
