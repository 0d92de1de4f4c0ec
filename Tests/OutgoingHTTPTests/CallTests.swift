import Expectations
import Foundation
import Testing

@testable import OutgoingHTTP

/// Answered calls, and servers that misbehave.
@Suite struct CallTests {
    private struct Echo: Decodable {
        let method: String
        let headers: [String]
        let body: String
    }

    @Test func `a call arrives as it was made, and so does its answer`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient(userAgent: "test/1")
        for (method, body) in [
            ("GET", nil), ("POST", [0, 1, 0xFF, 0x0D, 0x0A]), ("PUT", []), ("PATCH", [1]), ("DELETE", nil),
            ("GET", [7]),
        ] as [(String, [UInt8]?)] {
            var request = servers.request("/echo", method: method, body: body)
            request.headers = [("X-Custom", "a b"), ("X-Empty", ""), ("Content-Type", "text/plain")]
            let response = try await client.send(request)
            let echo = try JSONDecoder().decode(Echo.self, from: Data(response.body))
            expect(response.status == 200 && !response.isHTTP2)
            expect(echo.method == method && echo.body == (body ?? []).map { String(format: "%02x", $0) }.joined())
            expect(echo.headers.contains("X-Custom: a b") && echo.headers.contains("User-Agent: test/1"))
            expect(echo.headers.contains { $0 == "X-Empty:" || $0 == "X-Empty: " })
            expect(echo.headers.count { $0.lowercased().hasPrefix("content-type") }, equals: 1)
            expect(echo.headers.contains("Content-Length: \(body?.count ?? 0)"), equals: body != nil, "\(echo.headers)")
            expect(!echo.headers.contains { $0.hasPrefix("Expect") })
            expect(response["content-type"], equals: "application/json")
            expect(response.headers.filter { $0.name == "x-twice" }.map(\.value), equals: ["one", "two"])
        }
        let head = try await client.send(servers.request("/echo", method: "HEAD"))
        expect(head.status == 200 && head.body.isEmpty)
        // One after the other, over one connection.
        try await expect(servers.connections, equals: 1)
        expect(client.numbers.answered == 7 && client.numbers.durations.count == 7)
    }

    @Test func `every status is an answer, and redirects are not followed`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        for status in [204, 404, 410, 429, 500, 503] {
            try await expect(client.send(servers.request("/status/\(status)")).status, equals: status)
        }
        let response = try await client.send(servers.request("/redirect"))
        expect(response.status == 302 && response["location"] == "/echo")
        try await expect(servers.count("arrived GET /echo"), equals: 0)
    }

    @Test func `an answer that is late or too slow fails when its time is over`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        async let never = client.failure(servers.request("/never", within: 0.4))
        async let slow = client.failure(servers.request("/slow", within: 0.4))
        await expect(never, equals: .timeout)
        await expect(slow, equals: .timeout)
        // On a busy machine, the time may be over before the server has the call.
        var failed = 2
        while try await servers.count("arrived GET /slow") == 0 {
            await expect(client.failure(servers.request("/slow", within: 0.4)), equals: .timeout)
            failed += 1
        }
        // The end of the connection informs the server.
        await servers.heard("left /slow")
        expect(client.numbers.failed == ["timeout": failed] && client.numbers.running == 0)
    }

    @Test(arguments: ["/midway", "/garbage", "/chunks", "/nothing"])
    func `an answer that breaks off or makes no sense is broken`(path: String) async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        await expect(client.failure(servers.request(path)), equals: .broken)
    }

    @Test func `an answer longer than its length ends at its length`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        try await expect(client.send(servers.request("/more")).body, equals: Array("01234".utf8))
        // The rest of it is not read as the next answer.
        try await expect(client.send(servers.request("/status/204")).status, equals: 204)
    }

    @Test func `an answer has a largest size, to the byte`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        var request = servers.request("/bytes/1000")
        request.limits.responseBytes = 1_000
        try await expect(client.send(request).body.count, equals: 1_000)
        request.url = servers.url("/bytes/1001")
        await expect(client.failure(request), equals: .tooLarge)
        request.url = servers.url("/endless")
        await expect(client.failure(request), equals: .tooLarge)
        request.url = servers.url("/headers")
        await expect(client.failure(request), equals: .tooLarge)
        request.limits.responseBytes = 0
        request.url = servers.url("/bytes/0")
        try await expect(client.send(request).body.isEmpty)
    }

    @Test func `an unreachable server is distinguished from an unknown name`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        await expect(client.failure(servers.request("/", "dead")), equals: .unreachable)
        // Longer than a label may be: the system finds that out without a query.
        let name = String(repeating: "x", count: 64) + ".test"
        await expect(client.failure(servers.request("/", host: name, within: 20)), equals: .unresolved)
    }

    @Test func `an invalid request is not sent`() async throws {
        let client = OutgoingClient()
        func refusal(_ change: (inout OutgoingRequest) -> Void) async -> String? {
            var request = OutgoingRequest("GET", "http://127.0.0.1:1/")
            change(&request)
            return await client.failure(request)?.reason
        }
        for url in [
            "ftp://h/", "file:///etc/passwd", "h", "http://h/a b", "http://h/\r\nX: y", "gopher://h/", "http://h/é",
        ] {
            await expect(refusal { $0.url = url }, equals: "invalid", "\(url)")
        }
        await expect(refusal { $0.url = "http://user:secret@127.0.0.1:1/" }, equals: "invalid")
        await expect(refusal { $0.url = "http://" }, equals: "invalid")
        for method in ["", "G ET", "GET\r\nX: y"] { await expect(refusal { $0.method = method }, equals: "invalid") }
        await expect(refusal { $0.headers = [("X-A", "b\r\nX-C: d")] }, equals: "invalid")
        await expect(refusal { $0.headers = [("X A", "b")] }, equals: "invalid")
        await expect(refusal { $0.headers = [("", "b")] }, equals: "invalid")
        await expect(refusal { $0.limits.total = 0 }, equals: "invalid")
        await expect(refusal { $0.limits.total = .nan }, equals: "invalid")
        await expect(refusal { _ in }, equals: "unreachable")
    }
}
