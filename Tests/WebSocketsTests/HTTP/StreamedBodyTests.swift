import CLibWebSockets
import Expectations
import Glibc
import Testing

@testable import TestSupport
@testable import WebSockets

/// Receives bodies by a script. On the server's loop, except for `log`.
final class TestSink: BodySink, @unchecked Sendable {
    enum Event: Equatable, Sendable { case piece(Int), cancelled }

    let log = EventLog<Event>()
    private(set) var bytes: [UInt8] = []
    /// Its results for the next pieces; then `true`.
    var answers: [Bool]
    var onPiece: () -> Void = {}
    /// When its body was accepted, in ms of the loop.
    fileprivate(set) var began: Int64 = 0

    init(_ answers: Bool...) { self.answers = answers }

    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        self.bytes += bytes
        log.append(.piece(bytes.count))
        onPiece()
        return answers.isEmpty ? true : answers.removeFirst()
    }

    func cancel() { log.append(.cancelled) }

    var cancels: Int { log.all.count { $0 == .cancelled } }
    var longestPiece: Int { log.all.map { if case .piece(let count) = $0 { count } else { 0 } }.max() ?? 0 }
}

@Suite(.timeLimit(.minutes(1)))
struct StreamedBodyTests {
    /// Requests of which a sink takes the body are answered with its size.
    private func stream(_ server: TestServer, into sink: TestSink) async {
        await server.on { _, recorder in
            recorder.onBody = { [weak recorder] request in
                sink.began = recorder?.server?.loop.now ?? 0
                request.sink = sink
                return .granted
            }
            recorder.onRequest = { server, exchange, request in
                server.respond(exchange, .text(200, "\(sink.bytes.count) \(request.body.count)"))
            }
        }
    }

    private func head(_ length: Int, _ headers: String = "") -> String {
        "PUT /file HTTP/1.1\r\nHost: h\r\nContent-Length: \(length)\r\n\(headers)\r\n"
    }

    @Test func `a sink gets a body in pieces, whatever its length, and the connection continues`() async throws {
        try await withServer({ $0.maxBodyBytes = 10 }) { server in
            let sink = TestSink()
            await stream(server, into: sink)
            let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
            let client = try RawClient(port: server.port)
            try client.send(Array(head(body.count).utf8) + body + Array("GET /next HTTP/1.1\r\nHost: h\r\n\r\n".utf8))
            try expect(client.readResponse().text, equals: "300000 0\n")
            try expect(client.readResponse().text, equals: "300000 0\n")
            await expect(server.on { _, _ in sink.bytes }, equals: body)
            expect(sink.longestPiece <= 16 * 1024 && sink.cancels == 0)
            await expect(server.on { server, _ in server.inboxHeld }, equals: 0)
        }
    }

    @Test func `while a sink is behind nothing is read, and the client feels it`() async throws {
        try await withServer { server in
            let sink = TestSink(false)
            await stream(server, into: sink)
            let client = try RawClient(port: server.port)
            let size = 64 * 1024 * 1024
            try client.send(head(size))
            let chunk = [UInt8](repeating: 1, count: 256 * 1024)
            var sent = 0
            // Until the kernel's buffers on both sides are full.
            while true {
                let count = chunk.withUnsafeBytes {
                    send(
                        client.descriptor, $0.baseAddress, min($0.count, size - sent),
                        Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
                }
                if count > 0 {
                    sent += count
                    continue
                }
                var room = pollfd(fd: client.descriptor, events: Int16(POLLOUT), revents: 0)
                if poll(&room, 1, 200) == 0 { break }
            }
            expect(sent < size)
            await expect(server.on { _, _ in sink.bytes.count } <= 16 * 1024)
            guard case .request = server.log.all.last else {
                await server.on { server, _ in
                    server.resumeBody(HTTPExchangeID(socket: SocketID(index: 0, generation: 0), number: 1))
                }
                while sent < size {
                    let count = min(chunk.count, size - sent)
                    try client.send(Array(chunk[..<count]))
                    sent += count
                }
                try expect(client.readResponse().text, equals: "\(size) 0\n")
                return
            }
            Issue.record("a request before its body")
        }
    }

    @Test func `a client that disconnects in the middle cancels its sink, once`() async throws {
        try await withServer { server in
            let sink = TestSink()
            await stream(server, into: sink)
            do {
                let client = try RawClient(port: server.port)
                try client.send(head(1_000) + "some of it")
                await sink.log.first { $0 == .piece(10) }
            }
            await sink.log.first { $0 == .cancelled }
            await expect(server.on { server, _ in server.connectionCount }, equals: 0)
            expect(sink.cancels == 1 && server.log.all.isEmpty)
        }
    }

    @Test func `a shutdown cancels sinks and closes sources`() async throws {
        let server = try TestServer()
        let sink = TestSink()
        await stream(server, into: sink)
        let client = try RawClient(port: server.port)
        try client.send(head(1_000) + "some of it")
        await sink.log.first { $0 == .piece(10) }
        server.stop()
        expect(sink.cancels, equals: 1)
    }

    @Test func `a body that moves on too slowly is given up`() async throws {
        try await withServer({
            $0.transferTimeout = 100
            $0.transferBytes = 100
        }) { server in
            let sink = TestSink()
            await stream(server, into: sink)
            let slow = try RawClient(port: server.port)
            try slow.send(head(1_000) + "x")
            expect(slow.readToEnd(), equals: [])
            await expect(server.on { server, _ in server.counters.slowTransfers }, equals: 1)
            expect(sink.cancels, equals: 1)
        }
    }

    @Test func `a body that moves on may take longer than a handshake`() async throws {
        try await withServer({ $0.handshakeTimeout = 1_000 }) { server in
            let sink = TestSink()
            await stream(server, into: sink)
            let client = try RawClient(port: server.port)
            try client.send(head(5_000) + "x")
            await sink.log.first { $0 == .piece(1) }
            let late = await server.on { server, _ in server.loop.now } + 1_200
            while await server.on({ server, _ in server.loop.now }) < late {
                try await Task.sleep(for: .milliseconds(20))
            }
            try client.send([UInt8](repeating: 1, count: 4_999))
            try expect(client.readResponse().text, equals: "5000 0\n")
            await expect(server.on { server, _ in server.counters.handshakeTimeouts }, equals: 0)
        }
    }

    @Test func `while the sink is behind the client is not too slow`() async throws {
        try await withServer({ $0.transferTimeout = 20 }) { server in
            let sink = TestSink(false)
            await stream(server, into: sink)
            let client = try RawClient(port: server.port)
            try client.send(head(20) + "half of it")
            await sink.log.first { $0 == .piece(10) }
            // Two checks.
            let looks = await server.on { server, _ in server.loop.now } + 60
            while await server.on({ server, _ in server.loop.now }) < looks {
                try await Task.sleep(for: .milliseconds(5))
            }
            expect(sink.cancels, equals: 0)
            try client.send("and more")
            try client.send("..")
            await server.on { server, _ in
                server.resumeBody(HTTPExchangeID(socket: SocketID(index: 0, generation: 0), number: 1))
            }
            try expect(client.readResponse().text, equals: "20 0\n")
        }
    }

    @Test func `after a sink was behind the client has its whole time`() async throws {
        try await withServer({ $0.transferTimeout = 1_000 }) { server in
            for number in UInt32(0)... {
                let sink = TestSink(false)
                await stream(server, into: sink)
                let client = try RawClient(port: server.port)
                try client.send(head(20) + "half of it")
                await sink.log.first { $0 == .piece(10) }
                let socket = SocketID(index: 0, generation: number)
                let left = try await server.crossEnd(of: 1_000, since: { sink.began }) { server in
                    server.resumeBody(HTTPExchangeID(socket: socket, number: 1))
                } look: { server in
                    server.connectionCount
                }
                withExtendedLifetime(client) {}
                if let left { return expect(left, equals: 1) }
                await sink.log.first { $0 == .cancelled }
            }
        }
    }

    @Test func `a body that its sink rejects is refused, and a client that is still sending reads why`() async throws {
        try await withServer { server in
            let sink = TestSink()
            await stream(server, into: sink)
            await server.on { server, _ in
                sink.onPiece = { [weak server] in
                    server?.refuse(
                        HTTPExchangeID(socket: SocketID(index: 0, generation: 0), number: 1), .text(503, "full"))
                }
            }
            let client = try RawClient(port: server.port)
            try client.send(head(3_000_000))
            for _ in 0..<30 { try client.send([UInt8](repeating: 1, count: 100_000)) }
            let response = try client.readResponse()
            expect(response.status == 503 && response.head.contains("Connection: close"))
            expect(client.readToEnd(), equals: [])
            expect(sink.cancels == 1 && sink.log.all.count == 2)
        }
    }

    @Test func `a client that waits for 100 Continue gets it once the body is admitted`() async throws {
        try await withServer { server in
            let sink = TestSink()
            await stream(server, into: sink)
            await server.on { _, recorder in recorder.onBody = { _ in .later } }
            let client = try RawClient(port: server.port)
            try client.send(head(4, "Expect: 100-continue\r\n"))
            let exchange = await server.asked(1)
            var nothing = pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0)
            expect(poll(&nothing, 1, 0), equals: 0)
            await server.on { server, _ in server.admit(exchange, grant: nil, sink: sink) }
            try expect(client.readHead(), equals: "HTTP/1.1 100 Continue\r\n\r\n")
            try client.send("body")
            try expect(client.readResponse().text, equals: "4 0\n")
            // A rejected client is informed immediately.
            try client.send(head(4, "Expect: 100-continue\r\n"))
            let second = await server.asked(2)
            await server.on { server, _ in server.refuse(second, .text(413, "no")) }
            try expect(client.readResponse().status, equals: 413)
            // A client of HTTP/1.0 knows no such answer.
            let old = try RawClient(port: server.port)
            try old.send("PUT /f HTTP/1.0\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
            let third = await server.asked(3)
            await server.on { server, _ in server.admit(third, grant: nil) }
            try old.send("body")
            try expect(old.readResponse().status, equals: 200)
        }
    }

    @Test func `a sink for a client that went meanwhile is cancelled`() async throws {
        try await withServer { server in
            let sink = TestSink()
            await server.on { server, _ in
                server.admit(
                    HTTPExchangeID(socket: SocketID(index: 7, generation: 0), number: 1), grant: nil, sink: sink)
            }
            expect(sink.cancels, equals: 1)
        }
    }

    @Test func `a body byte by byte causes no wake-up until there is something to do`() async throws {
        try await withServer { server in
            let sink = TestSink()
            await stream(server, into: sink)
            let client = try RawClient(port: server.port)
            try client.send(head(2_000) + "x")
            await sink.log.first { $0 == .piece(1) }
            for _ in 0..<1_999 { try client.send("x") }
            try expect(client.readResponse().text, equals: "2000 0\n")
            // The first byte, and the rest.
            expect(sink.log.all, equals: [.piece(1), .piece(1_999)])
        }
    }
}
