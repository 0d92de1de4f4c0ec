import Expectations
import Testing

@testable import TestSupport
@testable import WebSockets

@Suite(.timeLimit(.minutes(1)))
struct InboxTests {
    private func begin(_ client: RawClient, _ count: Int) throws {
        try client.send(RawClient.frame(1, Array(repeating: 120, count: count), final: false))
    }

    private func wait(_ server: TestServer, until held: Int) async throws {
        while await server.on({ server, _ in server.inboxHeld }) != held { try await Task.sleep(for: .milliseconds(2)) }
    }

    @Test func `messages that have not come whole have a budget together`() async throws {
        try await withServer({ $0.inbox = AddressBudget(3_000) }) { server in
            let first = try RawClient.upgraded(port: server.port)
            let second = try RawClient.upgraded(port: server.port)
            try begin(first, 1_000)
            try await wait(server, until: 1_000)
            try begin(second, 2_000)
            try await wait(server, until: 3_000)
            // A further byte exceeds the limit, and its connection is closed.
            let third = try RawClient.upgraded(port: server.port)
            try begin(third, 1)
            let refusal = try third.readFrame()
            expect(refusal.closeCode == 1013 && refusal.closeReason == "{\"reconnectAfter\":1}")
            // A message in one piece needs no reservation.
            let fourth = try RawClient.upgraded(port: server.port)
            try fourth.send(text: "whole")
            try expect(fourth.readText(), equals: "whole")
            // A message that ends, and a connection that ends, release their bytes.
            try first.send(RawClient.frame(0, [], final: true))
            try expect(first.readText().count, equals: 1_000)
            try await wait(server, until: 2_000)
            try second.sendClose(1000)
            _ = second.readToEnd()
            try await wait(server, until: 0)
            await expect(server.on { server, _ in server.counters.inboxRefusals }, equals: 1)
        }
    }

    @Test func `bodies and heads are in it too`() async throws {
        // A request that takes too long releases its bytes: other tests may delay this one for longer than that.
        try await withServer({
            $0.inbox = AddressBudget(3_000)
            $0.handshakeTimeout = 600_000
        }) { server in
            let body = try RawClient(port: server.port)
            try body.send(
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3000\r\n\r\n" + String(repeating: "b", count: 2_900))
            try await wait(server, until: 2_900)
            let head = try RawClient(port: server.port)
            try head.send("GET / HTTP/1.1\r\nX: " + String(repeating: "x", count: 200))
            try expect(head.readResponse().status, equals: 503)
            let other = try RawClient(port: server.port)
            try other.send(
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 300\r\n\r\n" + String(repeating: "b", count: 101))
            try expect(other.readResponse().status, equals: 503)
            try body.send(String(repeating: "b", count: 100))
            try expect(body.readResponse().body.count, equals: 3_007)
            try await wait(server, until: 0)
        }
    }

    @Test func `an address has no more of the budget than it leaves to others`() async throws {
        let proxies = TrustedProxies([AddressRange("127.0.0.1")!])
        try await withServer({
            $0.inbox = AddressBudget(4_000)
            $0.proxies = proxies
            $0.handshakeTimeout = 600_000
        }) { server in
            func upgraded(from address: String) throws -> RawClient {
                try RawClient.upgraded(port: server.port, headers: ["X-Forwarded-For: \(address)"])
            }
            func post(_ count: Int, from address: String) throws -> RawClient {
                let client = try RawClient(port: server.port)
                try client.send(
                    "POST / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: \(address)\r\nContent-Length: 3000\r\n\r\n"
                        + String(repeating: "b", count: count))
                return client
            }
            let first = try upgraded(from: "192.0.2.1")
            try begin(first, 1_000)
            try await wait(server, until: 1_000)
            // Half of it is the most, WebSockets and bodies together.
            let body = try post(1_000, from: "192.0.2.1")
            try await wait(server, until: 2_000)
            let refused = try upgraded(from: "192.0.2.1")
            try begin(refused, 1)
            try expect(refused.readFrame().closeCode, equals: 1013)
            // The next address has half of the rest.
            let other = try upgraded(from: "192.0.2.2")
            try begin(other, 1_000)
            try await wait(server, until: 3_000)
            try expect(post(1, from: "192.0.2.2").readResponse().status, equals: 503)
            let third = try upgraded(from: "2001:db8::1")
            try begin(third, 500)
            try await wait(server, until: 3_500)
            // A connection that ends releases its address' bytes too.
            try first.send(RawClient.frame(0, [], final: true))
            try expect(first.readText().count, equals: 1_000)
            try await wait(server, until: 2_500)
            let again = try upgraded(from: "192.0.2.1")
            try begin(again, 250)
            try await wait(server, until: 2_750)
            withExtendedLifetime((body, third, again)) {}
        }
    }

    @Test func `a first message is short until long ones are allowed`() async throws {
        try await withServer({
            $0.maxMessageBytes = 1_000
            $0.maxFirstMessageBytes = 100
        }) { server in
            await server.on { _, recorder in
                recorder.onMessage = { server, _, socket in
                    server.allowLongMessages(socket)
                    _ = WebSocketFrame.text(Array("heard".utf8)).withUnsafeBytes { server.write($0, to: socket) }
                }
            }
            let refused = try RawClient.upgraded(port: server.port)
            try refused.send(text: String(repeating: "a", count: 101))
            try expect(refused.readFrame().closeCode, equals: 1009)
            let client = try RawClient.upgraded(port: server.port)
            // In one packet.
            try client.send(
                RawClient.frame(1, Array(repeating: 97, count: 100))
                    + RawClient.frame(1, Array(repeating: 97, count: 1_000)))
            try expect(client.readText(), equals: "heard")
            try expect(client.readText(), equals: "heard")
            try client.send(text: String(repeating: "a", count: 1_001))
            try expect(client.readFrame().closeCode, equals: 1009)
        }
    }

    @Test func `a body that the delegate refuses is not kept`() async throws {
        try await withServer({ $0.closeTimeout = 50 }) { server in
            await server.on { _, recorder in
                recorder.onBody = { request in
                    request.grant = "seen"
                    return request.headers["authorization"] == nil ? .refused(.text(401, "who are you?")) : .granted
                }
            }
            let stranger = try RawClient(port: server.port)
            try stranger.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc")
            try expect(stranger.readResponse().status, equals: 401)
            expect(stranger.readToEnd(), equals: [])
            let known = try RawClient(port: server.port)
            try known.send("POST / HTTP/1.1\r\nHost: h\r\nAuthorization: x\r\nContent-Length: 3\r\n\r\nabc")
            try expect(known.readResponse().text, equals: "POST / abc")
            guard case .request(_, let request) = server.log.all.last else { return }
            expect(request.grant as? String, equals: "seen")
        }
    }

    @Test func `a body waits for the delegate's decision`() async throws {
        try await withServer({ $0.closeTimeout = 50 }) { server in
            await server.on { _, recorder in recorder.onBody = { _ in .later } }
            func post(_ body: String, announced: Int, _ headers: String = "") throws -> RawClient {
                let client = try RawClient(port: server.port)
                try client.send("POST /x HTTP/1.1\r\nHost: h\r\n\(headers)Content-Length: \(announced)\r\n\r\n\(body)")
                return client
            }
            // Admitted with all of it received, with a part received, and with a client that waits for the decision.
            let whole = try post("abc", announced: 3)
            let first = await server.asked(1)
            await server.on { server, _ in server.admit(first, grant: "known") }
            try expect(whole.readResponse().text, equals: "POST /x abc")
            let part = try post("ab", announced: 4)
            let second = await server.asked(2)
            try part.send("cd")
            await server.on { server, _ in
                server.admit(second, grant: "known")
                // A second word, and one about a request that is over, do nothing.
                server.admit(second, grant: "other")
                server.refuse(first, .text(500, "no"))
            }
            try expect(part.readResponse().text, equals: "POST /x abcd")
            let asking = try post("", announced: 2, "Expect: 100-continue\r\n")
            let third = await server.asked(3)
            await server.on { server, _ in server.admit(third, grant: "known") }
            try expect(asking.readHead().hasPrefix("HTTP/1.1 100"))
            try asking.send("ef")
            try expect(asking.readResponse().text, equals: "POST /x ef")
            let requests = server.log.all.compactMap { if case .request(_, let request) = $0 { request } else { nil } }
            expect(requests.count == 3 && requests.allSatisfy { $0.grant as? String == "known" })
            // Refused.
            let stranger = try post("abc", announced: 100)
            let fourth = await server.asked(4)
            await server.on { server, _ in server.refuse(fourth, .text(401, "who are you?")) }
            try expect(stranger.readResponse().status, equals: 401)
            expect(stranger.readToEnd(), equals: [])
            try await wait(server, until: 0)
        }
    }

    @Test func `a connection that waits for the delegate's word ends with the server`() async throws {
        try await withServer { server in
            await server.on { _, recorder in recorder.onBody = { _ in .later } }
            let client = try RawClient(port: server.port)
            try client.send("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc")
            let exchange = await server.asked(1)
            await server.on { server, _ in
                server.shutdown()
                server.admit(exchange, grant: nil)
            }
            expect(client.readToEnd(), equals: [])
        }
    }
}
