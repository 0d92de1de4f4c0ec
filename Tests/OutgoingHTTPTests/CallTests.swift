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
            #expect(response.status == 200 && !response.isHTTP2)
            #expect(echo.method == method && echo.body == (body ?? []).map { String(format: "%02x", $0) }.joined())
            #expect(echo.headers.contains("X-Custom: a b") && echo.headers.contains("User-Agent: test/1"))
            #expect(echo.headers.contains { $0 == "X-Empty:" || $0 == "X-Empty: " })
            #expect(echo.headers.count { $0.lowercased().hasPrefix("content-type") } == 1)
            #expect(echo.headers.contains("Content-Length: \(body?.count ?? 0)") == (body != nil), "\(echo.headers)")
            #expect(!echo.headers.contains { $0.hasPrefix("Expect") })
            #expect(response["content-type"] == "application/json")
            #expect(response.headers.filter { $0.name == "x-twice" }.map(\.value) == ["one", "two"])
        }
        let head = try await client.send(servers.request("/echo", method: "HEAD"))
        #expect(head.status == 200 && head.body.isEmpty)
        // One after the other, over one connection.
        #expect(try await servers.connections == 1)
        #expect(client.numbers.answered == 7 && client.numbers.durations.count == 7)
    }

    @Test func `every status is an answer, and redirects are not followed`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        for status in [204, 404, 410, 429, 500, 503] {
            #expect(try await client.send(servers.request("/status/\(status)")).status == status)
        }
        let response = try await client.send(servers.request("/redirect"))
        #expect(response.status == 302 && response["location"] == "/echo")
        #expect(try await servers.count("arrived GET /echo") == 0)
    }

    @Test func `an answer that is late or too slow fails when its time is over`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        async let never = client.failure(servers.request("/never", within: 0.4))
        async let slow = client.failure(servers.request("/slow", within: 0.4))
        #expect(await never == .timeout)
        #expect(await slow == .timeout)
        // On a busy machine, the time may be over before the server has the call.
        var failed = 2
        while try await servers.count("arrived GET /slow") == 0 {
            #expect(await client.failure(servers.request("/slow", within: 0.4)) == .timeout)
            failed += 1
        }
        // The end of the connection informs the server.
        await servers.heard("left /slow")
        #expect(client.numbers.failed == ["timeout": failed] && client.numbers.running == 0)
    }

    @Test(arguments: ["/midway", "/garbage", "/chunks", "/nothing"])
    func `an answer that breaks off or makes no sense is broken`(path: String) async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        #expect(await client.failure(servers.request(path)) == .broken)
    }

    @Test func `an answer longer than its length ends at its length`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        #expect(try await client.send(servers.request("/more")).body == Array("01234".utf8))
        // The rest of it is not read as the next answer.
        #expect(try await client.send(servers.request("/status/204")).status == 204)
    }

    @Test func `an answer has a largest size, to the byte`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        var request = servers.request("/bytes/1000")
        request.limits.responseBytes = 1_000
        #expect(try await client.send(request).body.count == 1_000)
        request.url = servers.url("/bytes/1001")
        #expect(await client.failure(request) == .tooLarge)
        request.url = servers.url("/endless")
        #expect(await client.failure(request) == .tooLarge)
        request.url = servers.url("/headers")
        #expect(await client.failure(request) == .tooLarge)
        request.limits.responseBytes = 0
        request.url = servers.url("/bytes/0")
        #expect(try await client.send(request).body.isEmpty)
    }

    @Test func `an unreachable server is distinguished from an unknown name`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        #expect(await client.failure(servers.request("/", "dead")) == .unreachable)
        // Longer than a label may be: the system finds that out without a query.
        let name = String(repeating: "x", count: 64) + ".test"
        #expect(await client.failure(servers.request("/", host: name, within: 20)) == .unresolved)
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
            #expect(await refusal { $0.url = url } == "invalid", "\(url)")
        }
        #expect(await refusal { $0.url = "http://user:secret@127.0.0.1:1/" } == "invalid")
        #expect(await refusal { $0.url = "http://" } == "invalid")
        for method in ["", "G ET", "GET\r\nX: y"] { #expect(await refusal { $0.method = method } == "invalid") }
        #expect(await refusal { $0.headers = [("X-A", "b\r\nX-C: d")] } == "invalid")
        #expect(await refusal { $0.headers = [("X A", "b")] } == "invalid")
        #expect(await refusal { $0.headers = [("", "b")] } == "invalid")
        #expect(await refusal { $0.limits.total = 0 } == "invalid")
        #expect(await refusal { $0.limits.total = .nan } == "invalid")
        #expect(await refusal { _ in } == "unreachable")
    }
}
