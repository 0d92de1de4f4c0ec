import Testing

@testable import TestSupport
@testable import WebSockets

/// What waits for clients that do not read it is bounded.
@Suite(.timeLimit(.minutes(1)))
struct AnswerBudgetTests {
    private static let size = 1_000_000

    private func withServer(room: Int, _ body: (TestServer) async throws -> Void) async throws {
        let budget = ByteBudget(room)
        let server = try TestServer { $0.answers = budget }
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
        #expect(budget.held == 0)
    }

    private func ask(_ server: TestServer, _ size: Int, receiveBuffer: Int32? = nil) throws -> RawClient {
        let client = try RawClient(port: server.port, receiveBuffer: receiveBuffer)
        try client.send("GET /\(size) HTTP/1.1\r\nHost: h\r\n\r\n")
        return client
    }

    /// Clients that take nothing of their answers, as long as they are there.
    private func fill(_ server: TestServer, with count: Int) async throws -> [RawClient] {
        let stuck = try (0..<count).map { _ in try ask(server, Self.size, receiveBuffer: 4_096) }
        while await server.on({ server, _ in server.answersHeld }) < Self.size * count { await Task.yield() }
        return stuck
    }

    @Test func `long answers beyond the budget are refused, short ones are not, and what is read makes room`()
        async throws
    {
        // Two, their heads, and some bytes less than one more.
        try await withServer(room: Self.size * 3) { server in
            let stuck = try await fill(server, with: 2)
            let refused = try ask(server, Self.size)
            let response = try refused.readResponse()
            #expect(response.status == 503 && response.head.contains("Connection: keep-alive"))
            #expect(try ask(server, WebSocketServer.freeAnswer).readResponse().status == 200)
            #expect(try ask(server, WebSocketServer.freeAnswer + 1).readResponse().status == 200)
            #expect(await server.on { server, _ in server.counters.answerRefusals } == 1)
            #expect(try stuck[0].readResponse().body.count == Self.size)
            // The connection that was refused goes on.
            try refused.send("GET /\(Self.size) HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try refused.readResponse().body.count == Self.size)
            withExtendedLifetime(stuck) {}
        }
    }

    @Test func `a client that goes gives back what waited for it`() async throws {
        try await withServer(room: Self.size * 3) { server in
            do { _ = try await fill(server, with: 2) }
            while await server.on({ server, _ in server.connectionCount }) > 0 { await Task.yield() }
            #expect(await server.on { server, _ in server.answersHeld } == 0)
            #expect(try ask(server, Self.size).readResponse().status == 200)
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
            #expect(response.status == 503)
            #expect(source.closes == 1 && source.reads == 0)
        }
    }

    @Test func `a budget is taken up to its last byte`() {
        let budget = ByteBudget(100)
        #expect(budget.take(60) && budget.take(40) && !budget.take(1))
        budget.add(20)
        budget.give(20)
        #expect(budget.held == 100 && !budget.take(1))
        budget.give(1)
        #expect(budget.take(1))
    }
}
