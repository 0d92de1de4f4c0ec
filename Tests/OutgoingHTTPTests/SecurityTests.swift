import Expectations
import Testing

@testable import OutgoingHTTP

/// The trust and the destinations of a client.
@Suite struct SecurityTests {
    @Test func `a server is trusted by its authority and its name`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        try await expect(client.send(servers.request("/status/200", "https")).status, equals: 200)
        try await expect(client.send(servers.request("/status/200", "https", host: "localhost")).status, equals: 200)
        // Another name, another authority, the system's.
        await expect(client.failure(servers.request("/status/200", "named")), equals: .untrusted)
        var request = servers.request("/status/200", "https")
        request.tls.authorities = servers.file("other.pem")
        await expect(client.failure(request), equals: .untrusted)
        request.tls.authorities = nil
        await expect(client.failure(request), equals: .untrusted)
        request.tls.authorities = servers.file("missing.pem")
        await expect(client.failure(request), equals: .untrusted)
        try await expect(servers.count("arrived GET /status/200"), equals: 2)
        // Not a connection that another had with its trust either.
        try await expect(client.send(servers.request("/status/200", "https")).status, equals: 200)
    }

    @Test func `a server without TLS is not spoken to in plain text`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        var request = servers.request("/echo")
        request.url = "https://127.0.0.1:\(servers.port("http"))/echo"
        await expect(client.failure(request), equals: .untrusted)
    }

    @Test func `over HTTP2 many calls share a connection`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        var request = servers.request("/push", "h2", method: "POST", body: [1, 2, 3])
        request.offersHTTP2 = true
        let first = try await client.send(request)
        expect(
            first.isHTTP2 && first.status == 200 && first.body == Array("over h2".utf8) && first["x-protocol"] == "h2")
        await withTaskGroup(of: Bool.self) { [request] group in
            for _ in 0..<20 { group.addTask { (try? await client.send(request))?.isHTTP2 == true } }
            await expect(group.reduce(0) { $0 + ($1 ? 1 : 0) }, equals: 20)
        }
        try await expect(servers.connections, equals: 1)
        try await expect(servers.count("arrived h2 /push"), equals: 21)
        request.url = servers.url("/reset", "h2")
        await expect(client.failure(request), equals: .broken)
        // Where it is not to be had it is HTTP/1.1.
        var other = servers.request("/status/200", "https")
        other.offersHTTP2 = true
        try await expect(client.send(other).isHTTP2, equals: false)
    }

    @Test(arguments: ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "0.0.0.0", "[::ffff:127.0.0.1]"])
    func `a call to public addresses only does not reach this machine`(host: String) async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        var request = servers.request("/echo", host: host)
        request.destinations = .publicOnly
        await expect(client.failure(request), equals: .forbidden)
        try await expect(servers.connections, equals: 0)
    }

    @Test func `a call to public addresses only takes no connection of another that may go anywhere`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        var request = servers.request("/echo")
        try await expect(client.send(request).status, equals: 200)
        request.destinations = .publicOnly
        await expect(client.failure(request), equals: .forbidden)
        try await expect(servers.count("arrived GET /echo"), equals: 1)
    }

    @Test func `which addresses are private`() {
        for address in [
            "0.0.0.0", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.255", "169.254.169.254",
            "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "203.0.113.7",
            "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fc00::1", "fdff::1",
            "ff02::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1", "2002:7f00:1::1",
            "2001:db8::1", "2001::1", "3fff::1", "::127.0.0.1", "fec0::1", "no address", "",
        ] {
            expect(PrivateAddresses.contain(address), "\(address)")
        }
        for address in [
            "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
            "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.0.1.1", "192.167.255.255", "198.17.255.255",
            "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            expect(!PrivateAddresses.contain(address), "\(address)")
        }
    }
}
