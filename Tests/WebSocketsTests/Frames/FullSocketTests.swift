import CLibWebSockets
import Expectations
import Glibc
import Testing

@testable import TestSupport
@testable import WebSockets

/// The server's own frames when the kernel accepts no more bytes.
@Suite(.timeLimit(.minutes(1)))
struct FullSocketTests {
    @Test func `a write after a ping that met a full socket arrives`() async throws {
        try await withServer { server in
            let client = try RawClient.upgraded(port: server.port, receiveBuffer: 4096)
            let socket = await server.opened()
            let result = await server.on { server, _ in
                fill(server.table[server.table.index(socket)!].descriptor)
                server.ping(socket)
                return WebSocketFrame.text(Array("after".utf8)).withUnsafeBytes { server.write($0, to: socket) }
            }
            // The result shows that these bytes wait for room.
            expect(result, equals: .congested)
            var frame = try client.readFrame()
            while frame.opcode == 9 { frame = try client.readFrame() }
            expect(frame.text, equals: "after")
            await server.log.first { if case .writable(socket) = $0 { true } else { false } }
            try client.send(text: "again")
            try expect(client.readText(), equals: "again")
        }
    }

    @Test func `a ping that met a full socket is not asked about`() async throws {
        try await withServer { server in
            let client = try RawClient.upgraded(port: server.port, receiveBuffer: 4096)
            let socket = await server.opened()
            await server.on { server, _ in
                fill(server.table[server.table.index(socket)!].descriptor)
                server.ping(socket)
            }
            // The marker arrives after everything that was waiting.
            try client.send(text: "echo")
            var frame = try client.readFrame()
            while frame.opcode == 9 { frame = try client.readFrame() }
            expect(frame.text, equals: "echo")
        }
    }

    @Test func `the answer to a key ends with a zero, whatever was in memory`() {
        // The example of RFC 6455, 1.3.
        var accept = [CChar](repeating: 0x78, count: 40)
        clws_accept_key("dGhlIHNhbXBsZSBub25jZQ==", &accept)
        expect(accept[28] == 0 && accept[29] == 0x78)
        expect(
            String(decoding: accept[..<28].map { UInt8(bitPattern: $0) }, as: UTF8.self),
            equals: "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }
}

/// Sends pings past the server until the kernel takes none.
private func fill(_ descriptor: Int32) {
    var room: Int32 = 4_608
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &room, socklen_t(MemoryLayout<Int32>.size))
    let ping: [UInt8] = [0x89, 0]
    while Glibc.send(descriptor, ping, ping.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)) == ping.count {}
}
