import Expectations
import Testing
import WebSockets

@testable import TestSupport

@Suite(.timeLimit(.minutes(1)))
struct ClosingTests {
    @Test(arguments: [1000, 1001, 1008, 3000, 4999, nil])
    func `a client's close is answered and reported with its code`(code: Int?) async throws {
        try await withServer { server in
            let client = try RawClient.upgraded(port: server.port)
            let socket = await server.opened()
            try client.sendClose(code, code == nil ? "" : "bye")
            let answer = try client.readFrame()
            expect(answer.opcode == 8 && answer.closeCode == code)
            expect(client.readToEnd(), equals: [])
            let closure = await server.closed(socket)
            expect(closure, equals: .byPeer(code: code.map(UInt16.init), reason: code == nil ? "" : "bye"))
        }
    }

    @Test func `a client that disconnects without a close frame is lost`() async throws {
        try await withServer { server in
            var client: RawClient? = try RawClient.upgraded(port: server.port)
            let socket = await server.opened()
            _ = client
            client = nil
            await expect(server.closed(socket), equals: .lost)
        }
    }

    @Test func `a server's close carries its code and reason, and ends when the client answers`() async throws {
        try await withServer({ $0.closeTimeout = 60_000 }) { server in
            let client = try RawClient.upgraded(port: server.port)
            let socket = await server.opened()
            await server.on { server, _ in
                server.close(socket, code: 1012, reason: #"{"reconnectAfter":500}"#)
                server.close(socket, code: 4000, reason: "too late")
                expect(WebSocketFrame.ping.withUnsafeBytes { server.write($0, to: socket) }, equals: .refused)
            }
            // Messages that cross the close frame are dropped.
            try client.send(text: "crossing")
            let frame = try client.readFrame()
            expect(frame.closeCode == 1012 && frame.closeReason == #"{"reconnectAfter":500}"#)
            try client.sendClose(1012)
            expect(client.readToEnd(), equals: [])
            await expect(server.closed(socket), equals: .byServer(code: 1012))
            expect(server.messages.isEmpty)
        }
    }

    @Test func `a client that does not answer the close is ended after the time-out`() async throws {
        try await withServer({ $0.closeTimeout = 50 }) { server in
            let client = try RawClient.upgraded(port: server.port)
            let socket = await server.opened()
            await server.on { server, _ in server.close(socket, code: 4003) }
            await expect(server.closed(socket), equals: .byServer(code: 4003))
            try expect(client.readFrame().closeCode, equals: 4003)
            expect(client.readToEnd(), equals: [])
        }
    }

    @Test func `a reason too long is cut at a character`() async throws {
        try await withServer { server in
            let client = try RawClient.upgraded(port: server.port)
            let socket = await server.opened()
            await server.on { server, _ in
                server.close(socket, code: 4000, reason: String(repeating: "ö", count: 100))
            }
            let frame = try client.readFrame()
            expect(frame.payload.count, equals: 2 + 122)
            expect(frame.closeReason, equals: String(repeating: "ö", count: 61))
        }
    }

    @Test func `abort ends without a close frame, from inside any call too, and closed comes afterwards`() async throws
    {
        try await withServer { server in
            await server.on { _, recorder in
                recorder.onMessage = { server, _, socket in
                    server.abort(socket)
                    server.abort(socket)
                    expect(server.openCount, equals: 1)
                    expect(WebSocketFrame.ping.withUnsafeBytes { server.write($0, to: socket) }, equals: .refused)
                }
            }
            let client = try RawClient.upgraded(port: server.port)
            let socket = await server.opened()
            try client.send(text: "end me")
            expect(client.readToEnd(), equals: [])
            await expect(server.closed(socket), equals: .lost)
            await expect(server.on { server, _ in server.connectionCount }, equals: 0)
        }
    }

    @Test func `close and abort work inside opened and closed`() async throws {
        try await withServer { server in
            await server.on { _, recorder in
                recorder.onOpen = { server, socket in server.close(socket, code: 4001, reason: "no") }
                recorder.onClosed = { server, socket in
                    server?.abort(socket)
                    server?.close(socket, code: 4002)
                }
            }
            let client = try RawClient.upgraded(port: server.port)
            try expect(client.readFrame().closeCode, equals: 4001)
            try client.sendClose(4001)
            expect(client.readToEnd(), equals: [])
            let socket = await server.opened()
            await expect(server.closed(socket), equals: .byServer(code: 4001))
        }
    }

    @Test func `an index is used again, and an outdated id does nothing`() async throws {
        try await withServer { server in
            var client = try RawClient.upgraded(port: server.port)
            let first = await server.opened()
            try client.sendClose(1000)
            _ = await server.closed(first)
            client = try RawClient.upgraded(port: server.port)
            await server.log.count(2) { if case .opened = $0 { true } else { false } }
            await server.on { server, _ in
                expect(WebSocketFrame.ping.withUnsafeBytes { server.write($0, to: first) }, equals: .refused)
                server.abort(first)
                server.close(first, code: 4000)
                server.ping(first)
                server.pauseReading(first)
                expect(server.openCount, equals: 1)
            }
            guard case .opened(let second, _) = server.log.all.last else { return }
            expect(second.index == first.index && second.generation != first.generation)
            try client.send(text: "mine")
            try expect(client.readText(), equals: "mine")
        }
    }

    @Test func `shutting down reports every connection once`() async throws {
        let server = try TestServer()
        let clients = try (0..<20).map { _ in try RawClient.upgraded(port: server.port) }
        let handshaking = try RawClient(port: server.port)
        await server.log.count(20) { if case .opened = $0 { true } else { false } }
        server.stop()
        for client in clients { expect(client.readToEnd(), equals: []) }
        expect(handshaking.readToEnd(), equals: [])
        let closed = server.log.all.filter { if case .closed = $0 { true } else { false } }
        expect(closed.count, equals: 20)
    }
}
