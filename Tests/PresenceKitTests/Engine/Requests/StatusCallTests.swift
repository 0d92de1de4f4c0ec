import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// A status that the app chooses.
@Suite struct StatusCallTests {
    private var bench = Bench()

    @Test mutating func `a status is sent and acknowledged`() {
        bench.connect()
        let call = bench.call(.setStatus(StatusChange(status: .busy, text: .set("lunch"), clearAfter: 60_000)))
        expect(bench.bodies, equals: [.status(StatusChange(status: .busy, text: .set("lunch"), clearAfter: 60_000))])
        expect(bench.answer(to: call) == nil)
        bench.receive(.ok(id: bench.lastID))
        expect(bench.isDone(call))
    }

    @Test mutating func `a rejected status reports the reason`() {
        bench.connect()
        let call = bench.call(.setStatus(StatusChange(status: .busy, text: .set("x"))))
        bench.receive(.refusal(bench.lastID, .validationFailed, field: "text"))
        expect(bench.error(of: call)?.code, equals: .validationFailed)
        expect(bench.error(of: call)?.field, equals: "text")
    }

    @Test mutating func `a status chosen before the connection takes effect from its start`() {
        let call = bench.call(.setStatus(StatusChange(status: .invisible)))
        expect(bench.fetches, equals: 1)
        bench.dial()
        guard case .connect(let connect) = bench.bodies.first else {
            Issue.record("no connect")
            return
        }
        expect(connect.status, equals: StatusChange(status: .invisible))
        bench.welcome()
        expect(bench.isDone(call))
        expect(bench.sent.isEmpty)
    }

    @Test mutating func `a status chosen while connect is in flight is sent after it`() {
        bench.dial()
        let call = bench.call(.setStatus(StatusChange(status: .busy)))
        expect(bench.sent.isEmpty)
        bench.welcome()
        expect(bench.bodies, equals: [.status(StatusChange(status: .busy))])
        bench.receive(.ok(id: bench.lastID))
        expect(bench.isDone(call))
    }

    @Test mutating func `of several statuses in flight the latest is repeated, and all calls get the result`() {
        bench.connect()
        let calls = [
            bench.call(.setStatus(StatusChange(status: .busy, text: .set("a")))),
            bench.call(.setStatus(StatusChange(status: .invisible))),
        ]
        bench.end(.lost(""))
        for call in calls { expect(bench.isQueued(call)) }
        let third = bench.call(.setStatus(StatusChange(status: .auto)))
        expect(bench.isQueued(third))
        bench.pass(.seconds(1))
        bench.handle(.opened(bench.engine.link.attempt))
        guard case .connect(let connect) = bench.bodies.first else {
            Issue.record("no connect")
            return
        }
        expect(connect.status, equals: StatusChange(status: .auto, text: .set("a")))
    }

    @Test mutating func `a status sent with a lost connect is sent with the next`() {
        let call = bench.call(.setStatus(StatusChange(status: .busy)))
        bench.dial()
        bench.end(.lost(""))
        expect(bench.isQueued(call))
        bench.pass(.seconds(1))
        bench.handle(.opened(bench.engine.link.attempt))
        guard case .connect(let connect) = bench.bodies.first else {
            Issue.record("no connect")
            return
        }
        expect(connect.status?.status, equals: .busy)
    }

    @Test mutating func `a status for which connect is rejected is dropped, and the connection is not`() {
        let call = bench.call(.setStatus(StatusChange(status: .busy, text: .set("x"))))
        bench.dial()
        bench.receive(.refusal(bench.lastID, .validationFailed, field: "status.text"))
        expect(bench.error(of: call)?.field, equals: "status.text")
        expect(bench.bodies, equals: [.connect(.init(token: "t", device: .init()))])
        bench.welcome()
        expect(bench.engine.link.state, equals: .live)
    }

    @Test mutating func `without a connection, a status is queued at once and sent on the next connection`() {
        bench.connect()
        bench.end(.lost(""))
        let call = bench.call(.setStatus(StatusChange(status: .busy)))
        expect(bench.isQueued(call))
        bench.handle(.reconnect)
        bench.handle(.opened(bench.engine.link.attempt))
        guard case .connect(let connect) = bench.bodies.first else {
            Issue.record("no connect")
            return
        }
        expect(connect.status?.status, equals: .busy)
    }

    @Test mutating func `a closed client accepts no status`() {
        bench.connect()
        bench.end(code: 4004)
        let call = bench.call(.setStatus(StatusChange(status: .busy)))
        expect(bench.error(of: call)?.code, equals: .replaced)
        bench.handle(.connect)
        bench.disconnect()
        let second = bench.call(.setStatus(StatusChange(status: .busy)))
        expect(bench.error(of: second)?.code, equals: .notConnected)
    }
}
