import Expectations
import Testing

@testable import TestSupport
@testable import WebSockets

/// The bytes that wait for slow clients are limited.
@Suite(.timeLimit(.minutes(1)))
struct AnswerBudgetTests {
    private static let size = 1_000_000

    private func withServer(room: Int, _ body: (TestServer) async throws -> Void) async throws {
        let budget = AnswerBudget(room)
        let server = try TestServer {
            $0.answers = budget
            $0.proxies = TrustedProxies([AddressRange("127.0.0.1")!])
        }
        await server.on { _, recorder in
            recorder.onRequest = { server, exchange, request in
                let size = Int(request.path.dropFirst()) ?? 0
                server.respond(exchange, HTTPResponse(status: 200, body: [UInt8](repeating: 1, count: size)))
            }
        }
        do { try await body(server) } catch {
            server.stop()
            throw error
        }
        server.stop()
        expect(budget.held, equals: 0)
    }

    /// - Parameter address: the client's, as a proxy names it; `nil`: this machine, whose addresses have no share.
    private func ask(
        _ server: TestServer, _ size: Int, from address: String? = nil, receiveBuffer: Int32? = nil
    ) throws -> RawClient {
        let client = try RawClient(port: server.port, receiveBuffer: receiveBuffer)
        let named = address.map { "X-Forwarded-For: \($0)\r\n" } ?? ""
        try client.send("GET /\(size) HTTP/1.1\r\nHost: h\r\n\(named)\r\n")
        return client
    }

    /// Clients that read nothing of their answers, as long as they exist.
    private func fill(_ server: TestServer, with count: Int) async throws -> [RawClient] {
        let stuck = try (0..<count).map { _ in try ask(server, Self.size, receiveBuffer: 4_096) }
        while await server.on({ server, _ in server.answersHeld }) < Self.size * count { await Task.yield() }
        return stuck
    }

    @Test func `long answers beyond the budget are refused, short ones are not, and reading makes room`()
        async throws
    {
        // Two, their heads, and some bytes less than one more.
        try await withServer(room: Self.size * 3) { server in
            let stuck = try await fill(server, with: 2)
            let refused = try ask(server, Self.size)
            let response = try refused.readResponse()
            expect(response.status == 503 && response.head.contains("Connection: keep-alive"))
            expect(response.head.contains("Retry-After: 1\r\n"))
            try expect(ask(server, WebSocketServer.freeAnswer).readResponse().status, equals: 200)
            try expect(ask(server, WebSocketServer.freeAnswer + 1).readResponse().status, equals: 200)
            await expect(server.on { server, _ in server.counters.answerRefusals }, equals: 1)
            try expect(stuck[0].readResponse().body.count, equals: Self.size)
            // The connection that was refused continues.
            try refused.send("GET /\(Self.size) HTTP/1.1\r\nHost: h\r\n\r\n")
            try expect(refused.readResponse().body.count, equals: Self.size)
            withExtendedLifetime(stuck) {}
        }
    }

    @Test func `a client that disconnects releases its answers' bytes`() async throws {
        try await withServer(room: Self.size * 3) { server in
            do { _ = try await fill(server, with: 2) }
            while await server.on({ server, _ in server.connectionCount }) > 0 { await Task.yield() }
            await expect(server.on { server, _ in server.answersHeld }, equals: 0)
            try expect(ask(server, Self.size).readResponse().status, equals: 200)
        }
    }

    @Test func `a refused answer closes its source`() async throws {
        try await withServer(room: 100_000) { server in
            let source = await server.on { server, recorder in
                let source = TestSource(10, server)
                recorder.onRequest = { server, exchange, _ in
                    var response = HTTPResponse(status: 200, body: [UInt8](repeating: 1, count: 100_001))
                    response.source = source
                    server.respond(exchange, response)
                }
                return source
            }
            let response = try ask(server, 0).readResponse()
            expect(response.status, equals: 503)
            expect(source.closes == 1 && source.reads == 0)
        }
    }

    @Test func `an address that reads nothing leaves room for others, and gets it back when it reads`() async throws {
        try await withServer(room: 10 * Self.size) { server in
            // Some bytes are in the kernel's buffers at once, and their heads are counted too.
            var stuck: [RawClient] = []
            for number in 1...10 {
                stuck.append(try ask(server, Self.size, from: "192.0.2.1", receiveBuffer: 4_096))
                while await server.on({ server, _ in server.counters.requests }) < number { await Task.yield() }
            }
            await expect(server.on { server, _ in server.counters.answerRefusals }, equals: 5)
            // The next address gets half of the rest, and so on.
            for (address, most) in [("192.0.2.2", 2), ("2001:db8::1", 1)] {
                for number in 0...most {
                    let client = try ask(server, Self.size, from: address, receiveBuffer: 4_096)
                    try expect(client.readHead().hasPrefix(number < most ? "HTTP/1.1 200 " : "HTTP/1.1 503 "))
                    stuck.append(client)
                }
            }
            try expect(ask(server, Self.size, from: "192.0.2.3").readResponse().status, equals: 200)
            for client in stuck[..<5] { try expect(client.readResponse().status, equals: 200) }
            try expect(ask(server, 4 * Self.size, from: "192.0.2.1").readResponse().status, equals: 200)
        }
    }

    @Test func `addresses of this machine have shares only if they are counted`() {
        let (local, other) = (PeerAddress(host: "127.0.0.1")!, PeerAddress(host: "192.0.2.1")!)
        for (peer, isCounted, held) in [(local, false, 100), (local, true, 50), (other, false, 50), (other, true, 50)] {
            let budget = AnswerBudget(100, countsLoopback: isCounted)
            let shares = [50, 50].map { budget.reserve($0, for: peer) }
            expect(shares[0] != nil && (shares[1] != nil) == (held == 100))
            expect(budget.held == held && budget.reserve(1, for: peer) == nil)
            withExtendedLifetime(shares) {}
        }
        expect(AnswerBudget(0).reserve(1_000_000, for: other) != nil)
    }

    @Test func `the actual status is reported`() async throws {
        try await withServer(room: 100_000) { server in
            let noted = await server.on { server, recorder in
                let noted = EventLog<Int>()
                recorder.onRequest = { server, exchange, _ in
                    let response = HTTPResponse(status: 200, body: [UInt8](repeating: 1, count: 100_001))
                    server.respond(exchange, response) { noted.append($0) }
                    // Not a second time.
                    server.respond(exchange, response) { noted.append($0) }
                }
                return noted
            }
            let response = try ask(server, 0).readResponse()
            expect(response.status, equals: 503)
            expect(noted.all, equals: [503])
        }
    }

    @Test func `a budget is taken up to its last byte`() {
        let budget = ByteBudget(100)
        expect(budget.reserve(60) && budget.reserve(40) && !budget.reserve(1))
        budget.add(20)
        budget.release(20)
        expect(budget.held == 100 && !budget.reserve(1))
        budget.release(1)
        expect(budget.reserve(1))
    }
}
