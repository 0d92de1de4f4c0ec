import Dispatch
import Expectations
import Testing
import WebSockets

@testable import TestSupport

/// A crowd of calls does not delay clients that are connected already.
@Suite(.timeLimit(.minutes(1)))
struct CrowdTests {
    @Test(arguments: [false, true])
    func `a message waits for some calls of a crowd, not for all of them`(connecting: Bool) async throws {
        let crowd = 400
        try await withServer({ $0.maxHandshakes = 2 * crowd }) { server in
            let client = try RawClient.upgraded(port: server.port)
            let socket = await server.opened()
            _ = await server.on { _, delegate in
                let answer = delegate.onRequest
                // A call that costs the loop 200 µs.
                delegate.onRequest = { server, exchange, request in
                    let end = ContinuousClock.now + .microseconds(200)
                    while ContinuousClock.now < end {}
                    answer(server, exchange, request)
                }
            }
            func call(_ client: RawClient) throws { try client.send("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n") }
            var callers: [RawClient] = []
            if !connecting {
                callers = try (0..<crowd).map { _ in try RawClient(port: server.port) }
                // Each has been accepted.
                for caller in callers {
                    try call(caller)
                    try expect(caller.readResponse().status, equals: 200)
                }
            }
            let before = server.log.all.count
            // All of it arrives while the loop is busy.
            let held = DispatchSemaphore(value: 0)
            server.loop.execute { held.wait() }
            if connecting { callers = try (0..<crowd).map { _ in try RawClient(port: server.port) } }
            for caller in callers { try call(caller) }
            try client.send(text: "hello")
            held.signal()
            await server.log.first { if case .received(socket, _) = $0 { true } else { false } }
            let since = server.log.all.dropFirst(before)
            let served = since.prefix { if case .received = $0 { false } else { true } }.count
            expect(served < crowd / 4, "\(served) calls came before the message")
            for caller in callers { try expect(caller.readResponse().status, equals: 200) }
        }
    }
}
