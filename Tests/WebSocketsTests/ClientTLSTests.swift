import Expectations
import Foundation
import Testing
import WebSockets

@Suite(.timeLimit(.minutes(1)))
struct ClientTLSTests {
    /// A TLS server in Python, with a temporary certificate, that accepts one WebSocket and greets it.
    private static let script = #"""
        import base64, hashlib, socket, ssl, subprocess, sys
        directory = sys.argv[1]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
            "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", directory + "/key.pem",
            "-out", directory + "/certificate.pem"], check=True, stderr=subprocess.DEVNULL)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(directory + "/certificate.pem", directory + "/key.pem")
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        while True:
            try:
                connection = context.wrap_socket(listener.accept()[0], server_side=True)
                request = b""
                while not request.endswith(b"\r\n\r\n"):
                    request += connection.recv(1)
                key = [l for l in request.split(b"\r\n") if l.lower().startswith(b"sec-websocket-key: ")][0][19:]
                digest = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
                connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    b"Sec-WebSocket-Accept: " + base64.b64encode(digest) + b"\r\n\r\n" + b"\x81\x06secret"
                    + b"\x88\x06\x03\xf4late")
                connection.recv(100)
            except Exception:
                pass
        """#

    @Test func `wss works with an authority that it trusts, and with no other`() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let (process, lines) = try Command.start("python3", "-c", Self.script, directory.path)
        defer { process.kill() }
        let port = Int(try #require(await lines.first { _ in true }))!

        try await withClient(tls: true, authorities: directory.path + "/certificate.pem") { client in
            await client.connect("wss://localhost:\(port)/", subprotocol: nil)
            await expect(client.closed(), equals: .byServer(code: 1012, reason: "late"))
            expect(client.messages, equals: ["secret"])
        }
        try await withClient(tls: true) { client in
            await client.connect("wss://localhost:\(port)/", subprotocol: nil)
            guard case .failed = await client.closed() else {
                Issue.record("trusted a stranger")
                return
            }
        }
    }
}
