import Expectations
import Foundation
import Testing
import WebSockets

@testable import TestSupport

@Suite(.timeLimit(.minutes(1)))
struct ListeningTests {
    @Test func `port 0 picks a free one, and several sockets share it`() async throws {
        let port = try ListeningPort(host: "127.0.0.1", port: 0, share: false)
        expect(port.port > 0)
        let sockets = try (0..<4).map { _ in try port.socket() }
        expect(sockets.allSatisfy { $0.port == port.port })
        // They close when they are released, which the optimizer does after their last use.
        try withExtendedLifetime(sockets) {
            for _ in 0..<20 { _ = try RawClient(port: port.port) }
        }
    }

    @Test func `a reserved port is refused, whatever its owner, and free again when it is released`() async throws {
        var first: ListeningPort? = try ListeningPort(host: "127.0.0.1", port: 0, share: false)
        let number = first!.port
        // Reserved, though without a listener; an exclusive server cannot share it either.
        #expect(throws: ListeningError.self) { try ListeningPort(host: "127.0.0.1", port: number, share: false) }
        #expect(throws: ListeningError.self) { try ListeningPort(host: "127.0.0.1", port: number, share: true) }
        var socket: ListeningSocket? = try first!.socket()
        #expect(throws: ListeningError.self) { try ListeningPort(host: "127.0.0.1", port: number, share: false) }
        #expect(throws: ListeningError.self) { try ListeningPort(host: "0.0.0.0", port: number, share: false) }
        _ = socket
        socket = nil
        first = nil
        // A process that another test starts right now has copies of our descriptors until it is another program.
        while true {
            guard let again = try? ListeningPort(host: "127.0.0.1", port: number, share: false) else {
                try await Task.sleep(for: .milliseconds(5))
                continue
            }
            expect(again.port, equals: number)
            return
        }
    }

    @Test func `those that agree to share do`() throws {
        let first = try ListeningPort(host: "127.0.0.1", port: 0, share: true)
        let socket = try first.socket()
        let second = try ListeningPort(host: "127.0.0.1", port: first.port, share: true)
        let other = try second.socket()
        expect(socket.port, equals: other.port)
        #expect(throws: ListeningError.self) { try ListeningPort(host: "127.0.0.1", port: first.port, share: false) }
    }

    @Test(arguments: ["", "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)"])
    func `a port of another process is refused with that reason`(option: String) async throws {
        let (process, lines) = try Command.start(
            "python3", "-uc",
            """
            import signal, socket
            s = socket.socket()
            \(option)
            s.bind(("127.0.0.1", 0)); s.listen()
            print(s.getsockname()[1])
            signal.pause()
            """)
        defer { process.kill() }
        let port = Int(try #require(await lines.first { _ in true }))!
        let error = #expect(throws: ListeningError.self) {
            try ListeningPort(host: "127.0.0.1", port: port, share: false)
        }
        expect(error?.description, equals: "cannot listen on 127.0.0.1 port \(port): another server uses it")
    }

    @Test func `connections over IPv6 and IPv4 reach one socket`() async throws {
        let server = try TestServer(host: "::")
        defer { server.stop() }
        let output = try await Command.run(
            "python3", "-c",
            """
            import http.client
            for host in ("::1", "127.0.0.1"):
                c = http.client.HTTPConnection(host, \(server.port), timeout=10)
                c.request("GET", "/" + str(len(host)))
                print(c.getresponse().read().decode())
            """)
        expect(output, equals: "GET /3 \nGET /9 \n")
        let peers = server.log.all.compactMap { event -> String? in
            if case .request(_, let request) = event { request.peer.host } else { nil }
        }
        expect(peers, equals: ["::1", "127.0.0.1"])
    }

    @Test func `an unknown host is an error that names it`() {
        #expect(throws: ListeningError.self) { try ListeningPort(host: "256.256.256.256", port: 0, share: false) }
    }

    @Test func `several loops share one port, and each connection is served by one`() async throws {
        let port = try ListeningPort(host: "127.0.0.1", port: 0, share: false)
        let servers = try (0..<3).map { _ in try TestServer() }
        defer { for server in servers { server.stop() } }
        for server in servers {
            let socket = try port.socket()
            await server.on { server, _ in server.listen(on: socket) }
        }
        let clients = try (0..<60).map { _ in try RawClient.upgraded(port: port.port) }
        for client in clients {
            try client.send(text: "hello")
            try expect(client.readText(), equals: "hello")
        }
        var counts: [Int] = []
        for server in servers { counts.append(await server.on { server, _ in server.openCount }) }
        expect(counts.reduce(0, +), equals: 60)
        expect(counts.allSatisfy { $0 > 0 })
        withExtendedLifetime(clients) {}
    }
}
