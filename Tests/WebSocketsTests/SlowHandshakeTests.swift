import Expectations
import Glibc
import Testing

@testable import TestSupport
@testable import WebSockets

@Suite(.timeLimit(.minutes(1)))
struct SlowHandshakeTests {
    /// The beginnings of requests whose rest does not arrive.
    private static let beginnings = [
        "", "GET /ws HT", "GET /ws HTTP/1.1\r\nHost: local",
        "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc",
    ]

    @Test(arguments: beginnings)
    func `a request that does not end is ended by the deadline`(beginning: String) async throws {
        try await withServer({ $0.handshakeTimeout = 200 }) { server in
            let client = try RawClient(port: server.port)
            try client.send(beginning)
            // However often another byte arrives.
            while (try? client.send("x")) != nil, await server.on({ server, _ in server.connectionCount }) > 0 {
                try await Task.sleep(for: .milliseconds(5))
            }
            _ = client.readToEnd()
            await expect(server.on { server, _ in server.counters.handshakeTimeouts }, equals: 1)
        }
    }

    @Test func `after a standstill pending input is read before a deadline is met`() async throws {
        try await withServer({ $0.handshakeTimeout = 300 }) { server in
            while true {
                try Task.checkCancellation()
                if let clients = try await standStill(server) {
                    for client in clients { try expect(client.readResponse().status, equals: 200) }
                    return
                }
            }
        }
    }

    /// Two clients whose beginnings were read, and that sent the rest while the loop was suspended. `nil` if one of
    /// them was ended before that: this machine was late.
    private func standStill(_ server: TestServer) async throws -> [RawClient]? {
        let before = await server.on { server, _ in server.counters.handshakeTimeouts }
        // The loop writes to them once, while no other code does.
        nonisolated(unsafe) let clients = [try RawClient(port: server.port), try RawClient(port: server.port)]
        try clients[0].send("GET /a HT")
        try clients[1].send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n")
        while true {
            let outcome: Bool? = await server.on { server, _ in
                guard server.counters.handshakeTimeouts == before else { return nil }
                guard server.connectionCount == 2 else { return false }
                usleep(1_600_000)
                try? clients[0].send("TP/1.1\r\nHost: a\r\n\r\n")
                try? clients[1].send("ab")
                return true
            }
            guard let outcome else { return nil }
            if outcome { return clients }
        }
    }

    @Test func `a connection that is kept is ended when its next request does not end`() async throws {
        try await withServer({ $0.httpTimeout = 1 }) { server in
            let client = try RawClient(port: server.port)
            try client.send("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try expect(client.readResponse().status, equals: 200)
            try client.send("GET /b HTTP/1.1\r\n")
            while (try? client.send("X: y\r\n")) != nil, await server.on({ server, _ in server.connectionCount }) > 0 {
                try await Task.sleep(for: .milliseconds(5))
            }
            _ = client.readToEnd()
        }
    }

    @Test func `kept connections that are used again and again keep no new client out`() async throws {
        try await withServer({
            $0.maxHandshakes = 8
            $0.handshakeTimeout = 60_000
        }) { server in
            func get(_ client: RawClient) throws {
                try client.send("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n")
                try expect(client.readResponse().status, equals: 200)
            }
            let kept = try (0..<8).map { _ in try RawClient(port: server.port) }
            for client in kept { try get(client) }
            // None of them is overdue; the one that was used least recently is closed.
            let newcomer = try RawClient.upgraded(port: server.port)
            try newcomer.send(text: "in")
            try expect(newcomer.readText(), equals: "in")
            let displaced = await server.on { server, _ in server.counters.handshakesDisplaced }
            expect(displaced, equals: 1)
            expect(kept[0].readToEnd(), equals: [])
            try get(kept[7])
        }
    }

    @Test func `clients that read nothing of an answer make room, however slow the server's disk is`() async throws {
        try await withServer({
            $0.maxHandshakes = 8
            $0.handshakeTimeout = 2_000
        }) { server in
            // This one's answer is delayed by the server; its client has read all of it.
            let source = await TestSource.serve(server, 10_000)
            await server.on { _, _ in source.isHeldBack = true }
            let patient = try RawClient(port: server.port)
            try patient.send("GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await source.log.first { $0 == .read }
            await server.on { _, recorder in
                recorder.onRequest = { server, exchange, _ in
                    server.respond(exchange, .text(200, String(repeating: "x", count: 1_000_000)))
                }
            }
            let idlers = try (0..<7).map { _ in try RawClient(port: server.port, receiveBuffer: 4_096) }
            for idler in idlers { try idler.send("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n") }
            // Long before the 30 s that an answer has.
            let newcomer = try RawClient.upgraded(port: server.port)
            try newcomer.send(text: "in")
            try expect(newcomer.readText(), equals: "in")
            await expect(server.on { server, _ in server.counters.handshakesDisplaced }, equals: 1)
            await server.on { _, _ in source.release() }
            try expect(patient.readResponse().body.count, equals: 10_005)
            withExtendedLifetime(idlers) {}
        }
    }

    @Test func `a file that is read slowly and steadily survives a flood`() async throws {
        try await withServer({
            $0.maxHandshakes = 16
            $0.handshakeTimeout = 500
        }) { server in
            _ = await TestSource.serve(server, 1_000_000)
            let reader = try RawClient(port: server.port, receiveBuffer: 4_096)
            try reader.send("GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let head = try reader.readHead()
            expect(head.contains("Content-Length: 1000005"))
            // The kernel takes more of it when some 40 KB were read: in between its connection seems to stand still.
            var (idlers, left): ([RawClient], Int) = ([], 1_000_005)
            for _ in 0..<5 {
                let before = await server.on { server, _ in server.counters.handshakesDisplaced }
                while await server.on({ server, _ in server.counters.handshakesDisplaced }) < before + 8 {
                    try Task.checkCancellation()
                    // All places are taken, and some wait in the kernel.
                    if await server.on({ server, _ in server.counters.accepted }) + 8 > idlers.count {
                        idlers.append(try RawClient(port: server.port))
                    }
                    try await Task.sleep(for: .milliseconds(2))
                }
                left -= try reader.read(8_000).count
            }
            idlers = []
            try expect(reader.read(left).count, equals: left)
        }
    }

    @Test func `unread files do not occupy all places`() async throws {
        try await withServer({
            $0.maxHandshakes = 16
            $0.handshakeTimeout = 500
        }) { server in
            await server.on { _, recorder in
                recorder.onRequest = { server, exchange, _ in
                    var response = HTTPResponse(status: 200)
                    response.source = TestSource(1_000_000, server)
                    server.respond(exchange, response)
                }
            }
            let idlers = try (0..<16).map { _ in try RawClient(port: server.port, receiveBuffer: 4_096) }
            for idler in idlers { try idler.send("GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n") }
            // Long before the 20 s that each has for the next part.
            let newcomer = try RawClient.upgraded(port: server.port)
            try newcomer.send(text: "in")
            try expect(newcomer.readText(), equals: "in")
            await expect(server.on { server, _ in server.counters.handshakesDisplaced }, equals: 1)
            withExtendedLifetime(idlers) {}
        }
    }

    @Test func `open handshakes make room, WebSockets and pending answers do not`() async throws {
        try await withServer({
            $0.maxHandshakes = 8
            $0.handshakeTimeout = 2_000
        }) { server in
            let bystander = try RawClient.upgraded(port: server.port)
            await server.on { _, recorder in recorder.onRequest = { _, _, _ in } }
            let waiting = try RawClient(port: server.port)
            try waiting.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let event = await server.log.first { if case .request = $0 { true } else { false } }
            guard case .request(let exchange, _) = event else { return }
            let idlers = try (0..<40).map { _ in try RawClient(port: server.port) }
            for (number, idler) in idlers.enumerated() { try? idler.send(Self.beginnings[number % 4]) }
            // A new client is accepted, long before the deadline of earlier ones.
            let newcomer = try RawClient.upgraded(port: server.port)
            try newcomer.send(text: "in")
            try expect(newcomer.readText(), equals: "in")
            try bystander.send(text: "undisturbed")
            try expect(bystander.readText(), equals: "undisturbed")
            await server.on { server, _ in
                expect(server.handshakeCount <= 8)
                expect(server.counters.handshakesDisplaced >= 33)
                server.respond(exchange, .text(200, "at last"))
            }
            try expect(waiting.readResponse().text, equals: "at last\n")
            withExtendedLifetime(idlers) {}
        }
    }
}
