import Expectations
import Glibc
import Testing
import WebSockets

@testable import TestSupport

@Suite(.timeLimit(.minutes(2)), .serialized)
struct CapacityTests {
    @Test func `two thousand connections at once are all served`() async throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = min(limit.rlim_max, 20_000)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        try await withServer { server in
            let clients = try (0..<2000).map { _ in try RawClient(port: server.port) }
            for client in clients { try client.send(RawClient.upgrade()) }
            for client in clients { try expect(client.readHead().hasPrefix("HTTP/1.1 101")) }
            await expect(server.on { server, _ in server.openCount }, equals: 2000)
            for (number, client) in clients.enumerated() { try client.send(text: "\(number)") }
            for (number, client) in clients.enumerated() { try expect(client.readText(), equals: "\(number)") }
            // One frame to all.
            await server.on { server, _ in
                let frame = WebSocketFrame.text(Array("to all".utf8))
                for index in 0..<2000 {
                    let socket = SocketID(index: UInt32(index), generation: 0)
                    expect(frame.withUnsafeBytes { server.write($0, to: socket) }, equals: .written)
                }
            }
            for client in clients { try expect(client.readText(), equals: "to all") }
            await server.on { server, _ in
                for index in 0..<2000 { server.close(SocketID(index: UInt32(index), generation: 0), code: 1012) }
            }
            for client in clients {
                try expect(client.readFrame().closeCode, equals: 1012)
                try client.sendClose(1012)
            }
            await server.log.count(2000) { if case .closed(_, .byServer(1012)) = $0 { true } else { false } }
            await expect(server.on { server, _ in server.openCount + server.connectionCount }, equals: 0)
        }
    }

    @Test func `a client beyond the limit gets an upgrade and 1013 with the reason`() async throws {
        try await withServer({
            $0.maxConnections = 3
            $0.reservedConnections = 4
        }) { server in
            var clients = try (0..<3).map { _ in try RawClient.upgraded(port: server.port) }
            await server.log.count(3) { if case .opened = $0 { true } else { false } }
            for _ in 0..<5 {
                let late = try RawClient.upgraded(port: server.port)
                let frame = try late.readFrame()
                expect(frame.closeCode == 1013 && frame.closeReason == #"{"reconnectAfter":1}"#)
                try late.sendClose(1013)
                expect(late.readToEnd(), equals: [])
            }
            // HTTP still answers.
            let http = try RawClient(port: server.port)
            try http.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
            try expect(http.readResponse().status, equals: 200)
            await expect(server.on { server, _ in server.counters.turnedAway }, equals: 5)
            // They were never announced to the delegate, and a place that becomes free is used again.
            try clients.removeLast().sendClose(1000)
            await server.log.first { if case .closed = $0 { true } else { false } }
            let next = try RawClient.upgraded(port: server.port)
            try next.send(text: "in")
            try expect(next.readText(), equals: "in")
            expect(server.log.all.count { if case .opened = $0 { true } else { false } }, equals: 4)
            expect(server.log.all.count { if case .closed = $0 { true } else { false } }, equals: 1)
        }
    }

    @Test func `beyond the reserve new ones wait until another one leaves`() async throws {
        try await withServer({
            $0.maxConnections = 2
            $0.reservedConnections = 1
            $0.handshakeTimeout = 60_000
        }) { server in
            var silent = try (0..<3).map { _ in try RawClient(port: server.port) }
            let waiting = try RawClient(port: server.port)
            try waiting.send("GET /waited HTTP/1.1\r\nHost: h\r\n\r\n")
            silent.removeFirst()
            try expect(waiting.readResponse().text, equals: "GET /waited ")
        }
    }
}
