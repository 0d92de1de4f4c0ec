import Expectations
import Glibc
import Testing

@testable import TestSupport
@testable import WebSockets

/// Gives pieces of 10,000 bytes, each after a turn of the loop. On the server's loop but for `log`.
final class TestSource: BodySource, @unchecked Sendable {
    enum Event: Equatable, Sendable { case read, closed }

    let log = EventLog<Event>()
    let length: Int
    /// The number of pieces before it breaks.
    private var pieces: Int
    private var given = 0
    /// When it was answered from, in ms of the loop.
    private(set) var began: Int64 = 0
    /// Whether it delays its pieces until `release`.
    var isHeldBack = false
    private var heldBack: (() -> Void)?
    private let server: () -> WebSocketServer?

    init(_ length: Int, pieces: Int = .max, _ server: WebSocketServer) {
        self.length = length
        self.pieces = pieces
        self.server = { [weak server] in server }
    }

    func read(_ then: @escaping ([UInt8]?) -> Void) {
        log.append(.read)
        // On the loop's thread, as all of this is.
        nonisolated(unsafe) let then = then
        server()?.loop.execute { [self] in
            if isHeldBack { heldBack = { [self] in give(then) } } else { give(then) }
        }
    }

    private func give(_ then: ([UInt8]?) -> Void) {
        pieces -= 1
        guard pieces >= 0 else { return then(nil) }
        let count = min(10_000, length - given)
        given += count
        then([UInt8](repeating: UInt8(ascii: "p"), count: count))
    }

    /// Supplies the requested piece, and continues.
    func release() {
        isHeldBack = false
        heldBack?()
    }

    func close() { log.append(.closed) }

    /// Requests are answered from the one that is returned.
    static func serve(_ server: TestServer, _ length: Int, pieces: Int = .max) async -> TestSource {
        await server.on { server, recorder in
            let source = TestSource(length, pieces: pieces, server)
            recorder.onRequest = { server, exchange, _ in
                var response = HTTPResponse(status: 200, body: Array("head ".utf8))
                response.source = source
                source.began = server.loop.now
                server.respond(exchange, response)
            }
            return source
        }
    }

    var reads: Int { log.all.count { $0 == .read } }
    var closes: Int { log.all.count { $0 == .closed } }
}

@Suite(.timeLimit(.minutes(1)))
struct StreamedAnswerTests {
    private func serve(_ server: TestServer, _ length: Int, pieces: Int = .max) async -> TestSource {
        await TestSource.serve(server, length, pieces: pieces)
    }

    private func get(_ method: String = "GET") -> String { "\(method) /file HTTP/1.1\r\nHost: h\r\n\r\n" }

    @Test func `an answer is streamed from its source in pieces, and the connection continues`() async throws {
        try await withServer { server in
            let source = await serve(server, 1_000_003)
            let client = try RawClient(port: server.port)
            try client.send(get())
            let response = try client.readResponse()
            expect(response.body.count == 1_000_008 && response.text.hasPrefix("head ppp"))
            expect(response.head.contains("\r\nDate: ") && response.head.contains(" GMT\r\n"))
            await source.log.first { $0 == .closed }
            expect(source.reads == 101 && source.closes == 1)
            _ = await serve(server, 0)
            try client.send(get())
            try expect(client.readResponse().text, equals: "head ")
        }
    }

    @Test func `HEAD reads nothing of it`() async throws {
        try await withServer { server in
            let source = await serve(server, 1_000)
            let client = try RawClient(port: server.port)
            try client.send(get("HEAD") + get("HEAD"))
            try expect(client.readResponse(hasBody: false).head.contains("Content-Length: 1005\r\n"))
            expect(source.reads == 0 && source.closes >= 1)
            try expect(client.readResponse(hasBody: false).status, equals: 200)
        }
    }

    @Test func `no more is read than a slow client takes`() async throws {
        try await withServer { server in
            let source = await serve(server, 20_000_000)
            let client = try RawClient(port: server.port, receiveBuffer: 4_096)
            try client.send(get())
            // Until the kernel's buffers are full: then there is no other turn of the loop.
            await source.log.first { $0 == .read }
            var reads = -1
            while reads != source.reads {
                reads = source.reads
                try await Task.sleep(for: .milliseconds(100))
            }
            expect(reads < 100)
            try expect(client.readResponse().body.count, equals: 20_000_005)
            expect(source.reads, equals: 2_000)
        }
    }

    @Test func `a source that breaks breaks the connection`() async throws {
        try await withServer { server in
            let source = await serve(server, 50_000, pieces: 2)
            let client = try RawClient(port: server.port)
            try client.send(get())
            try expect(client.readHead().contains("Content-Length: 50005"))
            expect(client.readToEnd().count, equals: 20_005)
            await source.log.first { $0 == .closed }
            expect(source.closes, equals: 1)
        }
    }

    @Test func `a client that disconnects, or reads nothing, closes the source`() async throws {
        try await withServer({ $0.transferTimeout = 300 }) { server in
            let source = await serve(server, 20_000_000)
            do {
                let client = try RawClient(port: server.port)
                try client.send(get())
                _ = try client.readHead()
            }
            await source.log.first { $0 == .closed }
            let other = await serve(server, 20_000_000)
            let client = try RawClient(port: server.port, receiveBuffer: 4_096)
            try client.send(get())
            await other.log.first { $0 == .closed }
            await expect(server.on { server, _ in server.counters.slowTransfers }, equals: 1)
            expect(source.closes == 1 && other.closes == 1)
            _ = client
        }
    }

    @Test func `after a slow read of the source the client has its whole time`() async throws {
        try await withServer({
            $0.transferTimeout = 1_000
            // Nothing that moves is enough.
            $0.transferBytes = .max
        }) { server in
            while true {
                let source = await serve(server, 20_000_000)
                await server.on { _, _ in source.isHeldBack = true }
                let client = try RawClient(port: server.port, receiveBuffer: 4_096)
                try client.send(get())
                await source.log.first { $0 == .read }
                let closes = try await server.crossEnd(of: 1_000, since: { source.began }) { _ in
                    source.release()
                } look: { _ in
                    source.closes
                }
                withExtendedLifetime(client) {}
                if let closes { return expect(closes, equals: 0) }
            }
        }
    }

    @Test(arguments: [
        ("gzip", true), ("deflate, gzip;q=0.5, br", true), ("GZIP", true), ("*", true), ("gzip;q=0", false),
        ("gzip; q=0.000", false), ("*, gzip;q=0", false), ("identity", false), ("", false), ("x-gzip", true),
    ])
    func `a request shows whether its client accepts gzip`(accepted: String, wanted: Bool) async throws {
        try await withServer { server in
            await server.on { _, recorder in
                recorder.onRequest = { server, exchange, _ in
                    server.respond(exchange, .text(200, "\(server.acceptsGzip(exchange))"))
                }
            }
            let client = try RawClient(port: server.port)
            try client.send("GET / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: \(accepted)\r\n\r\n")
            try expect(client.readResponse().text, equals: "\(wanted)\n")
        }
    }

    @Test func `times are written as HTTP has them`() {
        expect(HTTPDate.text(784_111_777), equals: "Sun, 06 Nov 1994 08:49:37 GMT")
        expect(HTTPDate.text(0), equals: "Thu, 01 Jan 1970 00:00:00 GMT")
    }
}
