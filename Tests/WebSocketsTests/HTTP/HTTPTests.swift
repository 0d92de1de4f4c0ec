import Expectations
import Testing

@testable import TestSupport
@testable import WebSockets

@Suite(.timeLimit(.minutes(1)))
struct HTTPTests {
    private func request(_ method: String, _ path: String, _ headers: [String] = [], body: String? = nil) -> String {
        var lines = ["\(method) \(path) HTTP/1.1", "Host: localhost"] + headers
        if let body { lines.append("Content-Length: \(body.utf8.count)") }
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
    }

    @Test func `several requests of all methods are answered on one connection`() async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            for (method, body) in [
                ("GET", nil), ("POST", "one"), ("PUT", "two"), ("PATCH", "three"), ("DELETE", nil), ("POST", ""),
                ("PUT", ""), ("GET", nil), ("DELETE", "four"), ("OPTIONS", nil),
            ] {
                try client.send(request(method, "/a/b", body: body))
                let response = try client.readResponse()
                expect(response.status, equals: 200)
                expect(response.text, equals: "\(method) /a/b \(body ?? "")")
                expect(response.head.hasPrefix("HTTP/1.1 200 OK\r\n"))
                expect(response.head.contains("Connection: keep-alive"))
            }
            await expect(server.on { server, _ in server.counters.requests }, equals: 10)
        }
    }

    @Test func `a request knows its headers, its query and where it comes from`() async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            let token = String(repeating: "t", count: 6000)
            try client.send(
                request(
                    "GET", "/v1/users/a%2Fb%20c?state=on%26off&x=1",
                    ["Authorization: Bearer \(token)", "Content-Type: application/json", "X-Unknown: y"]))
            _ = try client.readResponse()
            let event = await server.log.first { if case .request = $0 { true } else { false } }
            guard case .request(_, let request) = event else { return }
            expect(request.path, equals: "/v1/users/a%2Fb%20c")
            expect(request.query, equals: "state=on%26off&x=1")
            expect(request.headers["authorization"], equals: "Bearer \(token)")
            expect(request.headers["content-type"], equals: "application/json")
            expect(request.headers["host"], equals: "localhost")
            expect(request.headers["x-unknown"] == "y" && request.headers["x-absent"] == nil)
            expect(request.peer.host == "127.0.0.1" && request.peer.isIPv4 && request.peer.port != 0)
        }
    }

    @Test func `requests sent one behind the other without waiting are answered in their order`() async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            try client.send((0..<20).map { request("GET", "/\($0)") }.joined())
            for number in 0..<20 { try expect(client.readResponse().text, equals: "GET /\(number) ") }
            try client.send(request("POST", "/after", body: "fine"))
            try expect(client.readResponse().text, equals: "POST /after fine")
        }
    }

    @Test(arguments: [false, true])
    func `requests with bodies that are sent ahead are answered in their order`(afterGet: Bool) async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            let first = afterGet ? request("GET", "/first") : request("POST", "/first", body: "one")
            try client.send(first + request("POST", "/second", body: "two") + "GET /third HTTP")
            try expect(client.readResponse().text.contains("/first"))
            try expect(client.readResponse().text, equals: "POST /second two")
            try client.send("/1.1\r\nHost: h\r\n\r\n")
            try expect(client.readResponse().text, equals: "GET /third ")
        }
    }

    @Test(arguments: ["X", "X-Auth", "X-Forwarded", "User", "If", "Content", "Sec-", "Host-", "C", "P"])
    func `a header that begins like a known one takes nothing of the next`(name: String) async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            for headers in [["\(name): v", "Authorization: a"], ["Authorization: a", "\(name): v"]] {
                try client.send(request("PATCH", "/x", headers, body: "body"))
                try expect(client.readResponse().text, equals: "PATCH /x body")
                guard case .request(_, let request) = server.log.all.last else { return }
                expect(request.headers["authorization"] == "a" && request.headers[name.lowercased()] == "v")
            }
            let socket = try RawClient.upgraded(port: server.port, headers: ["\(name): v"])
            try socket.send(text: "in")
            try expect(socket.readText(), equals: "in")
        }
    }

    @Test(arguments: RequestHeadTests.malformed)
    func `a malformed head is answered 400, and nothing of it is a request`(text: String) async throws {
        try await withServer({ $0.closeTimeout = 50 }) { server in
            let client = try RawClient(port: server.port)
            try client.send(text)
            let response = try client.readResponse()
            expect(response.status == 400 && response.head.contains("Connection: close"))
            expect(client.readToEnd(), equals: [])
            expect(server.log.all.isEmpty)
        }
    }

    @Test func `a head that is too large is answered 431`() async throws {
        try await withServer({ $0.closeTimeout = 50 }) { server in
            for text in [
                "GET / HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "x", count: 17_000))\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: h\r\n\(String(repeating: "X: x\r\n", count: 100))\r\n",
            ] {
                let client = try RawClient(port: server.port)
                try client.send(text)
                try expect(client.readResponse().status, equals: 431)
            }
        }
    }

    @Test func `an answer may come later, and requests of others meanwhile`() async throws {
        try await withServer { server in
            await server.on { _, recorder in recorder.onRequest = { _, _, _ in } }
            let slow = try RawClient(port: server.port)
            // The second one waits behind the first.
            try slow.send(request("GET", "/slow") + request("GET", "/second"))
            let event = await server.log.first { if case .request = $0 { true } else { false } }
            guard case .request(let exchange, _) = event else { return }
            await server.on { _, recorder in
                recorder.onRequest = { server, exchange, request in
                    server.respond(exchange, .text(200, "now \(request.path)"))
                }
            }
            let quick = try RawClient(port: server.port)
            try quick.send(request("GET", "/quick"))
            try expect(quick.readResponse().text, equals: "now /quick\n")
            await server.on { server, _ in
                server.respond(exchange, .text(503, "later"))
                server.respond(exchange, .text(200, "twice"))
            }
            try expect(slow.readResponse().status, equals: 503)
            try expect(slow.readResponse().text, equals: "now /second\n")
        }
    }

    @Test func `an answer for a disconnected client is dropped`() async throws {
        try await withServer { server in
            await server.on { _, recorder in recorder.onRequest = { _, _, _ in } }
            do {
                let client = try RawClient(port: server.port)
                try client.send(request("GET", "/"))
                await server.log.first { if case .request = $0 { true } else { false } }
            }
            guard case .request(let exchange, _) = server.log.all.first else { return }
            await server.on { server, recorder in
                server.respond(exchange, .text(200, String(repeating: "x", count: 100_000)))
                recorder.onRequest = { server, exchange, _ in server.respond(exchange, .text(200, "fine")) }
            }
            let client = try RawClient(port: server.port)
            try client.send(request("GET", "/"))
            try expect(client.readResponse().text, equals: "fine\n")
        }
    }

    @Test func `a large answer arrives whole, and the connection continues`() async throws {
        try await withServer { server in
            await server.on { _, recorder in
                recorder.onRequest = { server, exchange, request in
                    let size = request.path == "/large" ? 3_000_000 : 3
                    server.respond(exchange, HTTPResponse(status: 200, body: Array(repeating: 120, count: size)))
                }
            }
            let client = try RawClient(port: server.port)
            for _ in 0..<3 {
                try client.send(request("GET", "/large"))
                try expect(client.readResponse().body.count, equals: 3_000_000)
                try client.send(request("GET", "/small"))
                try expect(client.readResponse().body.count, equals: 3)
            }
        }
    }

    @Test func `HEAD gets the head alone, and Connection close ends the connection`() async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            try client.send(request("HEAD", "/x"))
            let head = try client.readResponse(hasBody: false)
            expect(head.head.contains("Content-Length: 8\r\n"))
            try client.send(request("GET", "/x", ["Connection: close"]))
            let last = try client.readResponse()
            expect(last.text, equals: "GET /x ")
            expect(last.head.contains("Connection: close"))
            expect(client.readToEnd(), equals: [])
        }
    }

    @Test func `an HTTP 1.0 client is answered and let go`() async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            try client.send("GET /old HTTP/1.0\r\n\r\n")
            try expect(client.readResponse().text, equals: "GET /old ")
            expect(client.readToEnd(), equals: [])
        }
    }

    @Test func `a body at the limit is taken, one past it is 413 and leaves the server well`() async throws {
        try await withServer({ $0.maxBodyBytes = 1000 }) { server in
            let client = try RawClient(port: server.port)
            try client.send(request("POST", "/", body: String(repeating: "b", count: 1000)))
            try expect(client.readResponse().body.count, equals: 1007)
            let big = try RawClient(port: server.port)
            try big.send(request("POST", "/", body: String(repeating: "b", count: 300_000)))
            try expect(big.readResponse().status, equals: 413)
            expect(big.readToEnd(), equals: [])
            // Announced only.
            let announced = try RawClient(port: server.port)
            try announced.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999\r\n\r\n")
            try expect(announced.readResponse().status, equals: 413)
        }
    }

    @Test(arguments: [
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 400),
        ("GET / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3x\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -3\r\n\r\n", 400),
    ])
    func `a body of unknown length is refused`(text: String, status: Int) async throws {
        try await withServer({ $0.closeTimeout = 50 }) { server in
            let client = try RawClient(port: server.port)
            try client.send(text)
            let response = try client.readResponse()
            expect(response.status, equals: status)
            expect(response.head.contains("Connection: close"))
            _ = client.readToEnd()
        }
    }

    @Test func `a request without a length has no body, and is the last on its connection`() async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            try client.send("POST /x HTTP/1.1\r\nHost: h\r\n\r\n")
            let response = try client.readResponse()
            expect(response.text, equals: "POST /x ")
            expect(response.head.contains("Connection: close"))
            _ = client.readToEnd()
        }
    }

    @Test func `a client that asks whether to continue gets an answer`() async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            try client.send("POST /c HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
            try expect(client.readHead().hasPrefix("HTTP/1.1 100 "))
            try client.send("body")
            try expect(client.readResponse().text, equals: "POST /c body")
        }
    }

    @Test func `a body that arrives byte by byte is put together`() async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            for byte in request("POST", "/slow", body: "slowly").utf8 { try client.send([byte]) }
            try expect(client.readResponse().text, equals: "POST /slow slowly")
        }
    }

    @Test(arguments: [
        "", "\r\n\r\n", "nonsense\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/1.1\r\n: x\r\n\r\n",
        "CONNECT a:1 HTTP/1.1\r\n\r\n",
        "GET nowhere HTTP/1.1\r\n\r\n", "GET /%zz HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/1.1\r\nX: \(String(repeating: "x", count: 40_000))\r\n\r\n",
        "GET /\(String(repeating: "x", count: 40_000)) HTTP/1.1\r\n\r\n", "\u{16}\u{3}\u{1}\u{0}\u{5}",
        "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nHTTP2-Settings: AA\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n",
    ])
    func `nonsense disturbs no others`(text: String) async throws {
        try await withServer({
            $0.handshakeTimeout = 100
            $0.httpTimeout = 1
        }) { server in
            let bystander = try RawClient.upgraded(port: server.port)
            let client = try RawClient(port: server.port)
            // It may be cut off while it still talks.
            try? client.send(text)
            _ = client.readToEnd()
            try bystander.send(text: "undisturbed")
            try expect(bystander.readText(), equals: "undisturbed")
        }
    }
}
