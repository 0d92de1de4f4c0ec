import EventLoops
import Expectations
import Foundation
import Testing

@testable import TestSupport
@testable import WebSockets

@Suite(.timeLimit(.minutes(1)))
struct ServerTLSTests {
    private func withSecureServer(
        _ certificate: TestCertificate, _ configure: (inout WebSocketServerConfiguration) -> Void = { _ in },
        _ body: (TestServer) async throws -> Void
    ) async throws {
        let server = try TestServer(identity: certificate.identity, configure)
        defer { server.stop() }
        try await body(server)
    }

    /// Whether a client that trusts `authority` alone gets through the handshake.
    private func check(
        _ success: Bool, _ authority: TestCertificate, _ server: TestServer, host: String = "localhost",
        location: SourceLocation = #_sourceLocation
    ) async throws {
        try await withClient(tls: true, authorities: authority.certificateFile) { client in
            await client.connect("wss://\(host):\(server.port)/ws")
            let first = await client.log.first { if case .heard = $0 { false } else { true } }
            let isOpen = if case .opened = first { true } else { false }
            expect(isOpen, equals: success, "\(first)", sourceLocation: location)
        }
    }

    @Test func `messages of all sizes and both closings work over TLS`() async throws {
        let certificate = try await TestCertificate()
        try await withSecureServer(certificate) { server in
            try await withClient(tls: true, authorities: certificate.certificateFile) { client in
                await client.connect("wss://localhost:\(server.port)/ws")
                await expect(client.opened(), equals: "test.v1")
                let texts = ["", "a", String(repeating: "b", count: 20_000), String(repeating: "c", count: 200_000)]
                for text in texts { await client.send(text) }
                await client.log.count(texts.count) { if case .received = $0 { true } else { false } }
                expect(client.messages, equals: texts)
                let socket = await server.opened()
                await server.on { server, _ in server.close(socket, code: 1012, reason: "later") }
                await expect(client.closed(), equals: .byServer(code: 1012, reason: "later"))
                await expect(server.closed(socket), equals: .byServer(code: 1012))
            }
            try await withClient(tls: true, authorities: certificate.certificateFile) { client in
                await client.connect("wss://127.0.0.1:\(server.port)/ws")
                await expect(client.opened(), equals: "test.v1")
                await client.on { $0.close(code: 4000, reason: "bye") }
                await expect(client.closed(), equals: .byClient(code: 4000, clean: true))
            }
            let counters = await server.on { server, _ in server.counters }
            expect(counters.tlsHandshakes == 2 && counters.tlsFailures == 0)
        }
    }

    @Test func `clients that come to be while others shake hands disturb none of them`() async throws {
        let certificate = try await TestCertificate()
        let authorities = certificate.certificateFile
        try await withSecureServer(certificate) { server in
            try await withThrowingTaskGroup { group in
                for _ in 0..<40 {
                    group.addTask {
                        try await withClient(tls: true, authorities: authorities) { client in
                            await client.connect("wss://localhost:\(server.port)/ws")
                            await expect(client.opened(), equals: "test.v1")
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `authorities that cannot be read make no client, and the reason names the file`() throws {
        let loop = try EventLoop(name: "client")
        let error = #expect(throws: WebSocketError.self) {
            try WebSocketClientContext(loop: loop, authorities: "/nonexistent").destroy()
        }
        expect(error?.description.contains("/nonexistent"), equals: true)
    }

    @Test func `a slow reader over TLS gets everything in order`() async throws {
        let certificate = try await TestCertificate()
        let total = 3_000
        try await withSecureServer(certificate) { server in
            await server.on { _, recorder in
                let flood = Flood(total: total)
                recorder.onOpen = { server, socket in flood.run(server, socket) }
                recorder.onWritable = { server, socket in flood.run(server, socket) }
            }
            // It reads nothing before a signal, and then checks frame after frame.
            let script = #"""
                import signal, socket, ssl, struct, sys
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
                plain = socket.socket()
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                plain.connect(("127.0.0.1", int(sys.argv[1])))
                context = ssl.create_default_context(cafile=sys.argv[2])
                stream = context.wrap_socket(plain, server_hostname="localhost")
                stream.sendall(b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
                signal.sigwait([signal.SIGUSR1])
                file = stream.makefile("rb")
                while file.readline() != b"\r\n":
                    pass
                for number in range(int(sys.argv[3])):
                    length = struct.unpack("!BB", file.read(2))[1]
                    if length == 126:
                        length = struct.unpack("!H", file.read(2))[0]
                    text = file.read(length).decode()
                    assert text == f"{number} " + "x" * (number % 2000), (number, text[:40])
                print("all")
                """#
            let (process, lines) = try Command.start(
                "python3", "-c", script, "\(server.port)", certificate.certificateFile, "\(total)")
            defer { process.kill() }
            await server.log.first { if case .opened = $0 { true } else { false } }
            await expect(server.on { server, _ in server.counters.partialWrites }, equals: 1)
            process.signal(SIGUSR1)
            await expect(lines.first { _ in true }, equals: "all")
            await expect(server.on { server, _ in server.counters.writes }, equals: total)
        }
    }

    @Test func `a new certificate is shown to new connections, and the others go on`() async throws {
        let first = try await TestCertificate()
        let second = try await TestCertificate()
        try await withSecureServer(first) { server in
            try await withClient(tls: true, authorities: first.certificateFile) { client in
                await client.connect("wss://localhost:\(server.port)/ws")
                await expect(client.opened(), equals: "test.v1")
                let identity = try second.identity
                await server.on { server, _ in server.use(identity) }
                try await check(false, first, server)
                try await check(true, second, server)
                await client.send("still here")
                await client.log.first { if case .received("still here") = $0 { true } else { false } }
            }
        }
    }

    @Test func `the client takes no certificate of a stranger, for another host, or out of its time`() async throws {
        let mine = try await TestCertificate()
        let stranger = try await TestCertificate()
        let elsewhere = try await TestCertificate(names: "DNS:example.org,IP:127.0.0.2")
        let expired = try await TestCertificate(days: -1)
        try await withSecureServer(mine) { server in
            try await check(true, mine, server)
            try await check(true, mine, server, host: "127.0.0.1")
            try await check(false, stranger, server)
        }
        try await withSecureServer(elsewhere) { server in
            try await check(false, elsewhere, server)
            try await check(false, elsewhere, server, host: "127.0.0.1")
        }
        try await withSecureServer(expired) { server in
            try await check(false, expired, server)
            await server.on { server, _ in expect(server.counters.tlsHandshakes, equals: 0) }
        }
    }

    @Test func `a plain connection gets an answer, and an aborted one leaves nothing`() async throws {
        let certificate = try await TestCertificate()
        try await withSecureServer(certificate, { $0.handshakeTimeout = 300 }) { server in
            let plain = try RawClient(port: server.port)
            try plain.send("GET /ws HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let response = try plain.readResponse()
            expect(response.status == 400 && response.text.contains("TLS"))

            // A handshake record with nonsense, the beginning of one, and no bytes at all.
            let nonsense = try RawClient(port: server.port)
            try nonsense.send([22, 3, 1, 0, 5, 1, 2, 3, 4, 5])
            _ = nonsense.readToEnd()
            var partial: RawClient? = try RawClient(port: server.port)
            try partial?.send([22, 3, 1])
            let slow = try RawClient(port: server.port)
            try slow.send([22, 3, 1, 2, 0])
            let silent = try RawClient(port: server.port)
            partial = nil
            // Both are ended by the deadline.
            _ = slow.readToEnd()
            _ = silent.readToEnd()
            while await server.on({ server, _ in server.connectionCount }) > 0 {
                try await Task.sleep(for: .milliseconds(5))
            }
            let counters = await server.on { server, _ in server.counters }
            expect(counters.tlsHandshakes == 0 && counters.tlsFailures == 4 && counters.handshakeTimeouts == 2)
        }
    }

    @Test func `files that do not fit together make no identity, and the reason names the file`() async throws {
        let certificate = try await TestCertificate()
        let other = try await TestCertificate()
        for (certificateFile, keyFile, named) in [
            ("/nonexistent", certificate.keyFile, "/nonexistent"),
            (certificate.certificateFile, "/nonexistent", "/nonexistent"),
            (certificate.keyFile, certificate.keyFile, certificate.keyFile),
            (certificate.certificateFile, certificate.certificateFile, certificate.certificateFile),
            (certificate.certificateFile, other.keyFile, other.keyFile),
            (certificate.certificateFile, certificate.file("locked.pem"), "locked.pem"),
        ] {
            let error = #expect(throws: TLSIdentityError.self) {
                try TLSIdentity(certificateFile: certificateFile, keyFile: keyFile)
            }
            expect(error?.description.contains(named), equals: true)
        }
        let identity = try certificate.identity
        expect(!identity.isKeyExposed)
        expect(abs(identity.expiry - Int64(time(nil)) - 2 * 86_400) < 600)
        chmod(certificate.keyFile, 0o644)
        try expect(certificate.identity.isKeyExposed)
    }
}
