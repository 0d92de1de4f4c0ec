import EventLoops
import Expectations
import Glibc
import Testing

@testable import TestSupport
@testable import WebSockets

/// The beginning, writing and the end of connections without TLS, which libwebsockets does not know of.
@Suite(.timeLimit(.minutes(1)))
struct PlainConnectionTests {
    /// For each of its connections that ends, libwebsockets searches a table as long as the limit of open files.
    @Test func `without TLS there is nothing of libwebsockets`() async throws {
        try await withServer { server in
            let client = try RawClient.upgraded(port: server.port)
            let socket = await server.opened()
            let hasNothing = await server.on { server, _ in
                server.context == nil && server.table[Int(socket.index)].wsi == nil
            }
            expect(hasNothing)
            try client.send(text: "served all the same")
            try expect(client.readText(), equals: "served all the same")
        }
    }

    @Test func `the answer to an upgrade has these lines and no others`() async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            try client.send(RawClient.upgrade(headers: ["Sec-WebSocket-Protocol: test.v1", "X-Request-Id: name-1"]))
            let head = try client.readHead()
            expect(
                head,
                equals: """
                    HTTP/1.1 101 Switching Protocols\r
                    Upgrade: WebSocket\r
                    Connection: Upgrade\r
                    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r
                    Sec-WebSocket-Protocol: test.v1\r
                    X-Request-Id: name-1\r
                    \r

                    """)
        }
    }

    @Test func `an answer to an upgrade that does not fit into the socket is sent when there is room`() async throws {
        try await withServer { server in
            let filling = Locked(0)
            await server.on { server, recorder in
                recorder.decide = { [unowned server] _ in
                    guard let descriptor = server.table[0].extras?.http?.descriptor else { return .accept }
                    let bytes = Array(repeating: UInt8(120), count: 4_096)
                    while true {
                        let count = send(descriptor, bytes, bytes.count, WebSocketServer.sendFlags)
                        guard count > 0 else { return .accept }
                        filling.withLock { $0 += count }
                    }
                }
                recorder.onOpen = { server, socket in
                    expect(server.table[Int(socket.index)].unsent, equals: .answers)
                    let frame = WebSocketFrame.text(Array("first".utf8))
                    expect(frame.withUnsafeBytes { server.write($0, to: socket) }, equals: .congested)
                    expect(frame.withUnsafeBytes { server.write($0, to: socket) }, equals: .refused)
                }
                recorder.onWritable = { server, socket in
                    let frame = WebSocketFrame.text(Array("second".utf8))
                    expect(frame.withUnsafeBytes { server.write($0, to: socket) }, equals: .written)
                }
            }
            let client = try RawClient(port: server.port, receiveBuffer: 4096)
            try client.send(RawClient.upgrade())
            _ = await server.opened()
            await expect(server.on { server, _ in server.counters.partialWrites }, equals: 1)
            _ = try client.read(filling.withLock { $0 })
            try expect(client.readHead().hasPrefix("HTTP/1.1 101 "))
            try expect(client.readText(), equals: "first")
            try expect(client.readText(), equals: "second")
            expect(server.log.all.count { if case .writable = $0 { true } else { false } }, equals: 1)
        }
    }

    @Test func `a write to a disconnected peer ends the connection, and is reported once`() async throws {
        try await withServer { server in
            let client = try RawClient.upgraded(port: server.port)
            let socket = await server.opened()
            // So that it shows in the write, and not before.
            await server.on { server, _ in server.pauseReading(socket) }
            // A reset at once; a descriptor that is closed may live on in a process that another test has started.
            var nowhere = sockaddr(sa_family: sa_family_t(AF_UNSPEC), sa_data: sockaddr().sa_data)
            expect(connect(client.descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size)), equals: 0)
            let results = await server.on { server, _ in
                (0..<2).map { _ in WebSocketFrame.ping.withUnsafeBytes { server.write($0, to: socket) } }
            }
            expect(results, equals: [.refused, .refused])
            await expect(server.closed(socket), equals: .lost)
            await expect(server.on { server, _ in server.connectionCount }, equals: 0)
            expect(server.log.all.count { if case .closed = $0 { true } else { false } }, equals: 1)
        }
    }

    @Test func `an aborted connection with unread bytes shows its end, and no error`() async throws {
        try await withServer { server in
            await server.on { _, recorder in
                recorder.onOpen = { server, socket in server.pauseReading(socket) }
            }
            let client = try RawClient.upgraded(port: server.port)
            let socket = await server.opened()
            try client.send(text: String(repeating: "x", count: 10_000))
            await server.on { server, _ in server.abort(socket) }
            await expect(server.closed(socket), equals: .lost)
            var byte: UInt8 = 0
            expect(recv(client.descriptor, &byte, 1, 0), equals: 0)
        }
    }

    @Test func `of an open connection it is known how long its peer has been silent, and of no other`() async throws {
        try await withServer { server in
            let client = try RawClient.upgraded(port: server.port)
            let socket = await server.opened()
            usleep(30_000)
            let silence = await server.on { server, _ in server.silence(of: socket) }
            expect(silence ?? 0 >= 20 && silence ?? .max < 20_000)
            try client.sendClose(1000)
            _ = await server.closed(socket)
            await expect(server.on { server, _ in server.silence(of: socket) }, equals: nil)
        }
    }
}
