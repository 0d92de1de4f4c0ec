import Testing

@testable import OutgoingHTTP

/// The trust and the destinations of a client.
@Suite struct SecurityTests {
    @Test func `a server is trusted by its authority and its name`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        #expect(try await client.send(servers.request("/status/200", "https")).status == 200)
        #expect(try await client.send(servers.request("/status/200", "https", host: "localhost")).status == 200)
        // Another name, another authority, the system's.
        #expect(await client.failure(servers.request("/status/200", "named")) == .untrusted)
        var request = servers.request("/status/200", "https")
        request.tls.authorities = servers.file("other.pem")
        #expect(await client.failure(request) == .untrusted)
        request.tls.authorities = nil
        #expect(await client.failure(request) == .untrusted)
        request.tls.authorities = servers.file("missing.pem")
        #expect(await client.failure(request) == .untrusted)
        #expect(try await servers.count("arrived GET /status/200") == 2)
        // Not a connection that another had with its trust either.
        #expect(try await client.send(servers.request("/status/200", "https")).status == 200)
    }

    @Test func `a server without TLS is not spoken to in plain text`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        var request = servers.request("/echo")
        request.url = "https://127.0.0.1:\(servers.port("http"))/echo"
        #expect(await client.failure(request) == .untrusted)
    }

    @Test func `over HTTP2 many calls share a connection`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        var request = servers.request("/push", "h2", method: "POST", body: [1, 2, 3])
        request.offersHTTP2 = true
        let first = try await client.send(request)
        #expect(
            first.isHTTP2 && first.status == 200 && first.body == Array("over h2".utf8) && first["x-protocol"] == "h2")
        await withTaskGroup(of: Bool.self) { [request] group in
            for _ in 0..<20 { group.addTask { (try? await client.send(request))?.isHTTP2 == true } }
            #expect(await group.reduce(0) { $0 + ($1 ? 1 : 0) } == 20)
        }
        #expect(try await servers.connections == 1)
        #expect(try await servers.count("arrived h2 /push") == 21)
        request.url = servers.url("/reset", "h2")
        #expect(await client.failure(request) == .broken)
        // Where it is not to be had it is HTTP/1.1.
        var other = servers.request("/status/200", "https")
        other.offersHTTP2 = true
        #expect(try await client.send(other).isHTTP2 == false)
    }

    @Test(arguments: ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "0.0.0.0", "[::ffff:127.0.0.1]"])
    func `a call to public addresses only does not reach this machine`(host: String) async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        var request = servers.request("/echo", host: host)
        request.destinations = .publicOnly
        #expect(await client.failure(request) == .forbidden)
        #expect(try await servers.connections == 0)
    }

    @Test func `a call to public addresses only takes no connection of another that may go anywhere`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        var request = servers.request("/echo")
        #expect(try await client.send(request).status == 200)
        request.destinations = .publicOnly
        #expect(await client.failure(request) == .forbidden)
        #expect(try await servers.count("arrived GET /echo") == 1)
    }

    @Test func `which addresses are private`() {
        for address in [
            "0.0.0.0", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.255", "169.254.169.254",
            "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "203.0.113.7",
            "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fc00::1", "fdff::1",
            "ff02::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1", "2002:7f00:1::1",
            "2001:db8::1", "2001::1", "3fff::1", "::127.0.0.1", "fec0::1", "no address", "",
        ] {
            #expect(PrivateAddresses.contain(address), "\(address)")
        }
        for address in [
            "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
            "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.0.1.1", "192.167.255.255", "198.17.255.255",
            "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            #expect(!PrivateAddresses.contain(address), "\(address)")
        }
    }
}
