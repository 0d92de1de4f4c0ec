import EventLoops
import Expectations
import Glibc
import Testing

@testable import WebSockets

@Suite(.timeLimit(.minutes(1)))
struct ClientTests {
    @Test(arguments: ["127.0.0.1", "localhost"])
    func `it connects with its headers and subprotocol, and talks`(host: String) async throws {
        try await withServer { server in
            try await withClient { client in
                let token = String(repeating: "t", count: 6000)
                await client.connect(
                    "ws://\(host):\(server.port)/ws?x=1", headers: [("Authorization", "Bearer \(token)")])
                await expect(client.opened(), equals: "test.v1")
                _ = await server.opened()
                guard case .opened(_, let request) = server.log.all[0] else { return }
                expect(request.authorization, equals: "Bearer \(token)")
                expect(request.request.headers["host"], equals: "\(host):\(server.port)")
                expect(request.request.query, equals: "x=1")
                for number in 0..<100 { await client.send("message \(number)") }
                await client.log.count(100) { if case .received = $0 { true } else { false } }
                expect(client.messages, equals: (0..<100).map { "message \($0)" })
                await client.on { $0.close(code: 1000, reason: "done") }
                await expect(client.closed(), equals: .byClient(code: 1000, clean: true))
                guard case .opened(let socket, _) = server.log.all[0] else { return }
                await expect(server.closed(socket), equals: .byPeer(code: 1000, reason: "done"))
            }
        }
    }

    @Test(arguments: [0, 1, 125, 126, 4095, 4096, 4097, 65_535, 65_536, 1_000_000, 4_000_000])
    func `messages of any length go both ways`(length: Int) async throws {
        try await withServer({ $0.maxMessageBytes = 5_000_000 }) { server in
            try await withClient { client in
                await client.connect("ws://127.0.0.1:\(server.port)/ws", subprotocol: nil)
                await expect(client.opened(), equals: nil)
                let text = String(repeating: "ö", count: length / 2) + (length % 2 == 1 ? "x" : "")
                await client.send(text)
                await client.log.first { if case .received = $0 { true } else { false } }
                expect(client.messages, equals: [text])
                await expect(client.on { $0.queuedBytes }, equals: 0)
            }
        }
    }

    @Test func `messages that are sent together go in one packet`() async throws {
        try await withServer { server in
            try await withClient { client in
                await client.connect("ws://127.0.0.1:\(server.port)/ws")
                _ = await client.opened()
                let socket = await server.opened()
                let before = await server.on { server, _ in server.packetsReceived(socket) }
                await client.on { client in
                    for number in 0..<20 { Array("message \(number)".utf8).withUnsafeBytes { client.send(text: $0) } }
                }
                await client.log.count(20) { if case .received = $0 { true } else { false } }
                expect(client.messages, equals: (0..<20).map { "message \($0)" })
                await expect(server.on { server, _ in server.packetsReceived(socket) }, equals: before + 1)
            }
        }
    }

    @Test func `a flood both ways arrives in order`() async throws {
        try await withServer { server in
            await server.on { _, recorder in
                // The echo is queued while the client does not read fast enough.
                var queue: [[UInt8]] = []
                func flush(_ server: WebSocketServer, _ socket: SocketID) {
                    while let frame = queue.first {
                        switch frame.withUnsafeBytes({ server.write($0, to: socket) }) {
                        case .written: queue.removeFirst()
                        case .congested:
                            queue.removeFirst()
                            return
                        case .refused: return
                        }
                    }
                }
                recorder.onMessage = { server, message, socket in
                    queue.append(WebSocketFrame.text(message))
                    flush(server, socket)
                }
                recorder.onWritable = flush
            }
            try await withClient { client in
                await client.connect("ws://127.0.0.1:\(server.port)/ws")
                _ = await client.opened()
                await client.on { client in
                    for number in 0..<1000 {
                        let text = "\(number) " + String(repeating: "z", count: number % 1500)
                        Array(text.utf8).withUnsafeBytes { client.send(text: $0) }
                    }
                }
                await client.log.count(1000) { if case .received = $0 { true } else { false } }
                expect(client.messages.map { Int($0.split(separator: " ")[0])! }, equals: Array(0..<1000))
            }
        }
    }

    @Test(arguments: [1000, 1001, 1002, 1008, 1012, 1013, 1000, 4001, 4004])
    func `the server's close arrives with its code and reason`(code: Int) async throws {
        try await withServer { server in
            try await withClient { client in
                await client.connect("ws://127.0.0.1:\(server.port)/ws")
                _ = await client.opened()
                let socket = await server.opened()
                await client.send("some talk before")
                await client.log.first { if case .received = $0 { true } else { false } }
                await server.on { server, _ in
                    server.close(socket, code: UInt16(code), reason: #"{"reconnectAfter":\#(code)}"#)
                }
                let closure = await client.closed()
                expect(closure, equals: .byServer(code: UInt16(code), reason: #"{"reconnectAfter":\#(code)}"#))
                await expect(server.closed(socket), equals: .byServer(code: UInt16(code)))
            }
        }
    }

    @Test func `a full server's 1013 arrives though it comes right behind the handshake`() async throws {
        try await withServer({ $0.maxConnections = 0 }) { server in
            try await withClient { client in
                await client.connect("ws://127.0.0.1:\(server.port)/ws")
                await expect(client.closed(), equals: .byServer(code: 1013, reason: #"{"reconnectAfter":1}"#))
            }
        }
    }

    @Test func `the server's pings are answered and reported`() async throws {
        try await withServer { server in
            try await withClient { client in
                await client.connect("ws://127.0.0.1:\(server.port)/ws")
                _ = await client.opened()
                let socket = await server.opened()
                await server.on { server, _ in server.ping(socket) }
                await server.log.first { if case .heard(socket) = $0 { true } else { false } }
                await client.log.first { if case .heard = $0 { true } else { false } }
            }
        }
    }

    @Test func `a refusal has its status`() async throws {
        try await withServer { server in
            await server.on { _, recorder in
                recorder.decide = { request in
                    let status = Int(request.path.dropFirst()) ?? 0
                    return .refuse(HTTPResponse(status: status, headers: [("Retry-After", "5")], body: [123, 125]))
                }
            }
            for status in [400, 401, 403, 404, 429, 500, 503, 302] {
                try await withClient { client in
                    await client.connect("ws://127.0.0.1:\(server.port)/\(status)")
                    await expect(client.closed(), equals: .refused(status: status, retryAfter: "5"))
                }
            }
        }
    }

    @Test func `no server, no such host and silence are failures with their reason`() async throws {
        let port = try ListeningPort(host: "127.0.0.1", port: 0, share: false)
        try await withClient { client in
            await client.connect("ws://127.0.0.1:\(port.port)/ws")
            guard case .failed(let text) = await client.closed() else {
                Issue.record("not failed")
                return
            }
            expect(!text.isEmpty)
        }
        try await withClient { client in
            await client.connect("ws://no-such-host.invalid/ws")
            guard case .failed(let text) = await client.closed() else {
                Issue.record("not failed")
                return
            }
            expect(text.contains("no-such-host.invalid"))
        }
        // It accepts, in the kernel, and never answers.
        let deaf = try port.socket()
        try await withClient { client in
            await client.connect("ws://127.0.0.1:\(deaf.port)/ws", handshakeTimeout: 50)
            await expect(client.closed(), equals: .failed("timed out"))
        }
    }

    @Test func `a server that vanishes is a loss, and abort ends in every state`() async throws {
        let server = try TestServer()
        try await withClient { client in
            await client.connect("ws://127.0.0.1:\(server.port)/ws")
            _ = await client.opened()
            server.stop()
            await expect(client.closed(), equals: .lost)
            await client.on {
                $0.abort()
                $0.close()
            }
        }
        try await withServer { server in
            try await withClient { client in
                await client.connect("ws://127.0.0.1:\(server.port)/ws")
                await client.on { $0.abort() }
                await expect(client.closed(), equals: .lost)
            }
            try await withClient { client in
                await client.connect("ws://127.0.0.1:\(server.port)/ws")
                _ = await client.opened()
                await client.on { $0.abort() }
                await expect(client.closed(), equals: .lost)
                expect(client.log.all.count { if case .closed = $0 { true } else { false } }, equals: 1)
            }
        }
    }

    @Test func `a server that sends binary or broken text is closed`() async throws {
        for (frame, code) in [([0x82, 0x01, 0x00], 1003), ([0x81, 0x01, 0xff], 1007)] as [([UInt8], UInt16)] {
            try await withServer { server in
                await server.on { _, recorder in
                    recorder.onOpen = { server, socket in _ = frame.withUnsafeBytes { server.write($0, to: socket) } }
                }
                try await withClient { client in
                    await client.connect("ws://127.0.0.1:\(server.port)/ws")
                    await expect(client.closed(), equals: .byClient(code: code, clean: true))
                }
            }
        }
    }

    @Test func `many clients share one context`() async throws {
        try await withServer { server in
            let loop = try EventLoop(name: "clients")
            let log = EventLog<TestClient.Event>()
            /// @unchecked: used on the loop only.
            final class Many: @unchecked Sendable {
                var context: WebSocketClientContext?
                var clients: [WebSocketClient] = []
                var recorder: TestClient.Recorder?
            }
            let many = Many()
            many.context = try WebSocketClientContext(loop: loop, tls: false)
            many.recorder = TestClient.Recorder(log)
            loop.start()
            let url = WebSocketURL(isSecure: false, host: "127.0.0.1", port: server.port, path: "/ws")
            loop.execute {
                many.clients = (0..<200).map { _ in
                    WebSocketClient(context: many.context!, delegate: many.recorder!)
                }
                for client in many.clients { client.connect(to: url) }
            }
            await log.count(200) { if case .opened = $0 { true } else { false } }
            loop.execute {
                for (number, client) in many.clients.enumerated() {
                    Array("\(number)".utf8).withUnsafeBytes { client.send(text: $0) }
                }
            }
            await log.count(200) { if case .received = $0 { true } else { false } }
            loop.execute {
                many.context?.destroy()
                many.context = nil
                many.clients = []
            }
            await server.log.count(200) { if case .closed(_, .lost) = $0 { true } else { false } }
            loop.stop()
            loop.join()
        }
    }
}

extension WebSocketServer {
    /// The number of packets with data that have arrived on a connection without TLS.
    fileprivate func packetsReceived(_ socket: SocketID) -> Int {
        let descriptor = table[table.index(socket)!].descriptor
        // The kernel's `tcp_info` is longer than glibc's; `tcpi_data_segs_in` stands at 152.
        return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { info in
            var length = socklen_t(info.count)
            let status = getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, info.baseAddress, &length)
            precondition(status == 0 && length >= 156)
            return Int(info.load(fromByteOffset: 152, as: UInt32.self))
        }
    }
}
