import Expectations
import Testing
import WebSockets

@testable import TestSupport

@Suite(.timeLimit(.minutes(1)))
struct UpgradeTests {
    @Test(arguments: [
        ([], nil),
        (["Sec-WebSocket-Protocol: test.v1"], "test.v1"),
        (["Sec-WebSocket-Protocol: other, test.v1"], "test.v1"),
        (["Sec-WebSocket-Protocol: other", "Sec-WebSocket-Protocol: test.v1"], "test.v1"),
        (["Sec-WebSocket-Protocol: soap!x, \(String(repeating: "p", count: 200)), test.v1"], "test.v1"),
    ])
    func `the accepted subprotocol is echoed`(headers: [String], echoed: String?) async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            try client.send(RawClient.upgrade(headers: headers))
            let head = try client.readHead()
            expect(head.hasPrefix("HTTP/1.1 101 "))
            expect(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
            let line = head.split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Protocol:") }
            expect(line.map(String.init), equals: echoed.map { "Sec-WebSocket-Protocol: \($0)" })
            try client.send(text: "works")
            try expect(client.readText(), equals: "works")
        }
    }

    @Test func `the request reaches the delegate with all its data`() async throws {
        try await withServer { server in
            let client = try RawClient.upgraded(
                port: server.port,
                headers: [
                    "Authorization: Bearer abc", "Origin: https://a.example", "Sec-WebSocket-Protocol: x, test.v1",
                ])
            _ = await server.opened()
            guard case .opened(_, let request) = server.log.all[0] else { return }
            expect(request.authorization, equals: "Bearer abc")
            expect(request.origin, equals: "https://a.example")
            expect(request.subprotocols, equals: ["x", "test.v1"])
            expect(request.path == "/ws" && request.peer.host == "127.0.0.1")
            _ = client
        }
    }

    @Test(arguments: [
        (RawClient.upgrade(path: "/nowhere"), 404),
        (RawClient.upgrade(headers: ["Sec-WebSocket-Protocol: other"]), 400),
        (RawClient.upgrade(headers: ["Sec-WebSocket-Protocol: \(String(repeating: "x", count: 80))"]), 400),
        (
            RawClient.upgrade(headers: ["Sec-WebSocket-Protocol: " + (0..<40).map { "p\($0)" }.joined(separator: ", ")]
            ), 400
        ),
        (RawClient.upgrade(headers: ["Sec-WebSocket-Protocol: ,"]), 400),
        (RawClient.upgrade().replacing("Version: 13", with: "Version: 8"), 426),
        (RawClient.upgrade().replacing("Sec-WebSocket-Version: 13\r\n", with: ""), 426),
        (RawClient.upgrade().replacing("dGhlIHNhbXBsZSBub25jZQ==", with: "short"), 400),
        (RawClient.upgrade().replacing("dGhlIHNhbXBsZSBub25jZQ==", with: "dGhl SHNhbXBsZSBub25jZ=="), 400),
        (RawClient.upgrade().replacing("dGhlIHNhbXBsZSBub25jZQ==", with: "dGhlIHNhbXBsZSBub25jZQ=A"), 400),
        (RawClient.upgrade().replacing("Connection: keep-alive, Upgrade", with: "Connection: keep-alive"), 400),
        (RawClient.upgrade().replacing("Host: localhost\r\n", with: ""), 400),
        (RawClient.upgrade().replacing("GET ", with: "DELETE "), 405),
    ])
    func `an upgrade that cannot be is refused in HTTP 1.1`(request: String, status: Int) async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            try client.send(request)
            let response = try client.readResponse()
            expect(response.status, equals: status)
            // The offered alternative (RFC 9110, 15.5.22).
            let offer = "Connection: close, upgrade\r\n"
            let isOffered = response.head.contains("Upgrade: websocket\r\n") && response.head.contains(offer)
            expect(status == 426, equals: isOffered)
            expect(response.head.hasPrefix("HTTP/1.1 "))
            expect(!response.body.isEmpty)
            expect(client.readToEnd(), equals: [])
            expect(server.log.all.isEmpty)
        }
    }

    @Test(arguments: [
        RawClient.upgrade().replacing("HTTP/1.1", with: "HTTP/1.0"),
        RawClient.upgrade().replacing("Upgrade: websocket", with: "Upgrade: web socket"),
    ])
    func `a request without an upgrade to WebSocket is a plain request`(request: String) async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            try client.send(request)
            try expect(client.readResponse().status, equals: 200)
        }
    }

    @Test func `the delegate's refusal arrives as it is, for strict clients too`() async throws {
        try await withServer { server in
            await server.on { _, recorder in
                recorder.decide = { _ in
                    .refuse(
                        HTTPResponse(
                            status: 503, headers: [("Retry-After", "7"), ("Content-Type", "application/json")],
                            body: Array(#"{"type":"error"}"#.utf8)))
                }
            }
            let output = try await Command.run(
                "python3", "-c",
                """
                import http.client
                c = http.client.HTTPConnection("127.0.0.1", \(server.port), timeout=10)
                c.request("GET", "/ws", headers={"Upgrade": "websocket", "Connection": "Upgrade",
                    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version": "13"})
                r = c.getresponse()
                print(r.status, r.reason, r.getheader("Retry-After"), r.read().decode())
                """)
            expect(output, equals: "503 Service Unavailable 7 {\"type\":\"error\"}\n")
        }
    }

    @Test func `bytes sent with the upgrade, and an upgrade in single bytes, are read`() async throws {
        try await withServer { server in
            let eager = try RawClient(port: server.port)
            try eager.send(Array(RawClient.upgrade().utf8) + RawClient.frame(1, Array("early".utf8)))
            try expect(eager.readHead().hasPrefix("HTTP/1.1 101 "))
            try expect(eager.readText(), equals: "early")
            let slow = try RawClient(port: server.port)
            for byte in RawClient.upgrade().utf8 { try slow.send([byte]) }
            try expect(slow.readHead().contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
            try slow.send(text: "late")
            try expect(slow.readText(), equals: "late")
            let second = try RawClient(port: server.port)
            try second.send("GET /first HTTP/1.1\r\nHost: h\r\n\r\n" + RawClient.upgrade())
            try expect(second.readResponse().text, equals: "GET /first ")
            try expect(second.readHead().hasPrefix("HTTP/1.1 101 "))
        }
    }

    @Test func `half a handshake and silence is ended, as are silence alone and half a body`() async throws {
        try await withServer({ $0.handshakeTimeout = 100 }) { server in
            let silent = try RawClient(port: server.port)
            let half = try RawClient(port: server.port)
            try half.send(String(RawClient.upgrade().prefix(60)))
            let body = try RawClient(port: server.port)
            try body.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhalf")
            let fine = try RawClient.upgraded(port: server.port)
            expect(silent.readToEnd(), equals: [])
            expect(half.readToEnd(), equals: [])
            expect(body.readToEnd(), equals: [])
            await expect(server.on { server, _ in server.counters.handshakeTimeouts }, equals: 3)
            try fine.send(text: "still here")
            try expect(fine.readText(), equals: "still here")
            await expect(server.on { server, _ in server.connectionCount }, equals: 1)
        }
    }
}
