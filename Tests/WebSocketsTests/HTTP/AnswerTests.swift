import Expectations
import Testing

@testable import TestSupport
@testable import WebSockets

/// Late answers, refused ones, and the last ones of a server.
@Suite(.timeLimit(.minutes(1)))
struct AnswerTests {
    private func request(_ method: String, _ path: String, body: String? = nil) -> String {
        let length = body.map { "Content-Length: \($0.utf8.count)\r\n" } ?? ""
        return "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n\(length)\r\n\(body ?? "")"
    }

    @Test func `a request that is not answered in time is answered 503, and a later answer is dropped`()
        async throws
    {
        try await withServer({ $0.httpTimeout = 1 }) { server in
            await server.on { _, recorder in recorder.onRequest = { _, _, _ in } }
            let client = try RawClient(port: server.port)
            try client.send(request("POST", "/slow", body: "x"))
            let event = await server.log.first { if case .request = $0 { true } else { false } }
            guard case .request(let exchange, _) = event else { return }
            let answer = try client.readResponse()
            expect(answer.status == 503 && answer.head.contains("Connection: close"))
            await server.on { server, _ in
                expect(server.counters.lateAnswers, equals: 1)
                server.respond(exchange, .text(200, "too late"))
            }
            expect(client.readToEnd(), equals: [])
        }
    }

    @Test func `a stopping server finishes its answers, and keeps no connection after them`() async throws {
        try await withServer { server in
            await server.on { _, recorder in recorder.onRequest = { _, _, _ in } }
            let client = try RawClient(port: server.port)
            try client.send(request("GET", "/slow"))
            let event = await server.log.first { if case .request = $0 { true } else { false } }
            guard case .request(let exchange, _) = event else { return }
            await server.on { server, _ in
                server.stopListening()
                expect(server.isAnswering)
                server.respond(exchange, .text(200, "done"))
            }
            let answer = try client.readResponse()
            expect(answer.status == 200 && answer.head.contains("Connection: close"))
            expect(client.readToEnd(), equals: [])
            await expect(server.on { server, _ in !server.isAnswering })
        }
    }

    @Test func `a connection has one deadline, however many requests it makes`() async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            for number in 0..<50 {
                try client.send(request("GET", "/\(number)"))
                _ = try client.readResponse()
            }
            await expect(server.on { server, _ in server.idles.count }, equals: 1)
        }
    }

    @Test func `after a HEAD an error has its body again`() async throws {
        try await withServer({ $0.closeTimeout = 50 }) { server in
            let client = try RawClient(port: server.port)
            try client.send(request("HEAD", "/a"))
            try expect(client.readResponse(hasBody: false).status, equals: 200)
            try client.send("GET\r\n\r\n")
            let answer = try client.readResponse()
            expect(answer.status == 400 && !answer.text.isEmpty)
        }
    }

    @Test func `a refusal that finds no room in the kernel costs nothing until there is`() async throws {
        let long = HTTPResponse(status: 400, body: [UInt8](repeating: 0x78, count: 8_000_000))
        try await withServer({ $0.errorResponse = { _, _ in long } }) { server in
            let client = try RawClient(port: server.port)
            // Later bytes are not read before the answer is sent.
            try client.send("GET\r\n\r\n" + String(repeating: "x", count: 50_000))
            func connection<T: Sendable>(_ read: @escaping @Sendable (HTTPConnection) -> T) async -> T? {
                await server.on { server, _ in server.table.entries.compactMap { $0.extras?.http }.first.map(read) }
            }
            while await connection({ $0.stage }) != .writing { try await Task.sleep(for: .milliseconds(2)) }
            // The loop would be woken for it in each of its turns.
            await expect(connection { $0.awaitsInput }, equals: false)
            try expect(client.readResponse().status, equals: 400)
        }
    }
}
