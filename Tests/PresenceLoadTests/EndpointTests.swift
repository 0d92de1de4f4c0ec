import Expectations
import Testing

@testable import presence_load

@Suite struct EndpointTests {
    @Test func `host, port and path are taken from the address`() throws {
        let endpoint = try Endpoint(url: "ws://127.0.0.1:4040/other")
        expect(endpoint.authority, equals: "127.0.0.1:4040")
        expect(endpoint.path, equals: "/other")
        expect(endpoint.isLoopback)
        expect(endpoint.address[2..<4].elementsEqual([0x0F, 0xC8]), "the port in network order")
    }

    @Test func `without a path it is the protocol's`() throws {
        try expect(Endpoint(url: "ws://127.0.0.1:4040").path, equals: "/v1/ws")
    }

    @Test func `an address of IPv6 stands in brackets and is not of 127.0.0.0/8`() throws {
        let endpoint = try Endpoint(url: "ws://[::1]:4040/v1/ws")
        expect(endpoint.authority, equals: "[::1]:4040")
        expect(!endpoint.isLoopback)
    }

    @Test(arguments: ["", "http://127.0.0.1/", "wss://127.0.0.1:1/", "ws://:1/", "ws://127.0.0.1:99999/", "ws://h:x"])
    func `an invalid address of a server is rejected with a sentence`(url: String) {
        let failure = #expect(throws: Failure.self) { _ = try Endpoint(url: url) }
        expect(failure?.description.isEmpty, equals: false)
    }

    @Test func `a first source address must be one of 127.0.0.0/8 for a server there`() throws {
        let local = try Endpoint(url: "ws://127.0.0.1:4040/")
        #expect(throws: Failure.self) { _ = try SourceAddresses(connections: 1, first: "10.0.0.1", endpoint: local) }
        #expect(throws: Failure.self) { _ = try SourceAddresses(connections: 1, first: "here", endpoint: local) }
        let other = try Endpoint(url: "ws://[::1]:4040/")
        #expect(throws: Failure.self) { _ = try SourceAddresses(connections: 1, first: "127.0.0.2", endpoint: other) }
        _ = try SourceAddresses(connections: 1, first: "127.0.3.2", endpoint: local)
    }

    @Test func `each client has an address of its own, and the same one each time`() throws {
        let local = try Endpoint(url: "ws://127.0.0.1:4040/")
        let sources = try SourceAddresses(connections: 19_500, first: nil, endpoint: local)
        expect(sources.address(of: 0), equals: 0x7F00_0001)
        expect(Set((0..<19_500).map(sources.address)).count, equals: 19_500)
        expect(
            sources.address(of: 19_500), equals: 0x7F00_0001, "one who takes another's place has the other's address")
        let later = try SourceAddresses(connections: 300, first: "127.52.0.1", endpoint: local)
        expect(later.address(of: 299), equals: 0x7F34_012C)
        let last = try SourceAddresses(connections: 10, first: "127.255.255.254", endpoint: local)
        expect(last.address(of: 0), equals: 0x7FFF_FFFE)
        expect(last.address(of: 1), equals: 0x7F00_0001, "not the network's broadcast address")
        let other = try SourceAddresses(connections: 10, first: nil, endpoint: Endpoint(url: "ws://[::1]:4040/"))
        expect(other.address(of: 3), equals: nil)
    }

    @Test func `more connections than the limit of open files are refused before anything is opened`() {
        let failure = #expect(throws: Failure.self) { try OpenFiles.allow(100_000_000) }
        expect(failure?.description.contains("open files"), equals: true)
    }
}
