import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// How an engine loses its connection, and whether and when it reconnects.
@Suite struct BreakTests {
    private var bench = Bench()

    private static let noToken = PresenceError(.tokenUnavailable, "")

    @Test mutating func `after a loss it waits and dials again with the current token`() {
        bench.connect()
        bench.end(.lost("cable"))
        expect(
            bench.engine.link.state,
            equals: .reconnecting(in: .milliseconds(250), because: PresenceError(.connectionLost, "cable")))
        bench.pass(.milliseconds(249))
        expect(bench.opens, equals: 0)
        bench.pass(.milliseconds(1))
        expect(bench.opens, equals: 1)
        expect(bench.fetches, equals: 0)
    }

    @Test(arguments: [1012, 1013] as [UInt16]) mutating func `it reconnects after the named delay`(code: UInt16) {
        bench.connect()
        bench.end(code: code, reason: #"{"reconnectAfter":4321}"#)
        bench.pass(.milliseconds(4_320))
        expect(bench.opens, equals: 0)
        bench.pass(.milliseconds(1))
        expect(bench.opens, equals: 1)
    }

    @Test(arguments: [4001, 4002, 4003] as [UInt16]) mutating func `a rejected token is replaced`(code: UInt16) {
        bench.connect()
        bench.end(code: code)
        bench.pass(.seconds(1))
        expect(bench.fetches, equals: 1)
        bench.handle(.token(bench.engine.link.attempt, .success("second")))
        bench.handle(.opened(bench.engine.link.attempt))
        guard case .connect(let connect) = bench.bodies.first else {
            Issue.record("no connect")
            return
        }
        expect(connect.token, equals: "second")
    }

    @Test mutating func `a second rejection of a fresh token closes it`() {
        for attempt in 1...2 {
            bench.dial()
            bench.receive(.refusal(bench.lastID, .unauthorized))
            expect(bench.aborts, equals: 0)
            bench.end(code: 4001)
            if attempt == 1 { bench.pass(.seconds(1)) }
        }
        guard case .closed(let error) = bench.engine.link.state else {
            Issue.record("\(bench.engine.link.state)")
            return
        }
        expect(error?.code, equals: .unauthorized)
        bench.pass(.seconds(3_600))
        expect(bench.fetches + bench.opens, equals: 0)
    }

    @Test mutating func `a token provider that never returns is called again`() {
        bench = Bench(configuration: .init(), random: 0)
        bench.handle(.connect)
        let first = bench.engine.link.attempt
        bench.pass(.milliseconds(59_999))
        expect(bench.fetches, equals: 0)
        bench.pass(.milliseconds(1))
        expect(bench.fetches, equals: 1)
        // A late result of the first fetch is not used for the second one.
        bench.handle(.token(first, .success("late")))
        expect(bench.opens, equals: 0)
        bench.handle(.token(bench.engine.link.attempt, .success("good")))
        expect(bench.opens, equals: 1)
    }

    @Test mutating func `linger is the server's, and determines the delays`() {
        bench = Bench(random: 1)
        bench.dial()
        bench.welcome(linger: 1_000)
        bench.end(.lost(""))
        guard case .reconnecting(let delay, _) = bench.engine.link.state else {
            Issue.record("\(bench.engine.link.state)")
            return
        }
        expect(delay, equals: .milliseconds(250))
    }

    @Test mutating func `a rejection counts even if its close frame was lost`() {
        for attempt in 1...2 {
            bench.dial()
            bench.receive(.refusal(bench.lastID, .unauthorized))
            bench.end(.lost(""))
            if attempt == 1 { bench.pass(.seconds(1)) }
        }
        expect(bench.engine.link.state.isClosed)
    }

    @Test(arguments: [1003, 1007, 1008, 1009, 4004, 4006] as [UInt16])
    mutating func `some closes are final, until the app connects`(code: UInt16) {
        bench.connect()
        bench.end(code: code)
        expect(bench.engine.link.state.isClosed)
        bench.pass(.seconds(3_600))
        expect(bench.opens, equals: 0)
        _ = bench.open(.presence("bob"))
        expect(bench.opens, equals: 0)
        bench.handle(.connect)
        expect(bench.opens, equals: 1)
    }

    @Test mutating func `a token provider that fails is called again, one that throws unauthorized is not`() {
        bench.handle(.connect)
        bench.handle(.token(bench.engine.link.attempt, .failure(Self.noToken)))
        expect(bench.engine.link.state, equals: .reconnecting(in: .milliseconds(250), because: Self.noToken))
        bench.pass(.seconds(1))
        expect(bench.fetches, equals: 1)
        let no = PresenceError(.unauthorized, "signed out")
        bench.handle(.token(bench.engine.link.attempt, .failure(no)))
        expect(bench.engine.link.state, equals: .closed(no))
    }

    @Test mutating func `a connect that is rejected for good reports the reason`() {
        bench.dial()
        bench.receive(.refusal(bench.lastID, .validationFailed, field: "device.name"))
        expect(bench.aborts, equals: 1)
        guard case .closed(let error) = bench.engine.link.state else {
            Issue.record("\(bench.engine.link.state)")
            return
        }
        expect(error?.field, equals: "device.name")
    }

    @Test mutating func `a connect that is rejected temporarily is repeated after the named delay`() {
        bench.dial()
        bench.receive(.refusal(bench.lastID, .unavailable, retryAfter: 2_000))
        expect(bench.aborts, equals: 1)
        bench.pass(.milliseconds(2_249))
        expect(bench.opens, equals: 0)
        bench.pass(.milliseconds(1))
        expect(bench.opens, equals: 1)
    }

    @Test mutating func `an unreadable message ends the connection, since it may have contained a change`() {
        for bytes in ["", "{", "[]", "{}", #"{"type":"presence"}"#, #"{"type":"ok"}"#] {
            bench.connect()
            bench.handle(.received(bench.engine.link.attempt, Array(bytes.utf8)))
            expect(bench.aborts, equals: 1, "\(bytes)")
            guard case .reconnecting(_, let why) = bench.engine.link.state else {
                Issue.record("\(bench.engine.link.state)")
                return
            }
            expect(why.code, equals: .protocolViolation)
            bench.handle(.reconnect)
            bench.handle(.opened(bench.engine.link.attempt))
            bench.welcome()
        }
    }

    @Test mutating func `unknown messages of a later server are ignored`() {
        bench.connect()
        bench.handle(.received(bench.engine.link.attempt, Array(#"{"type":"weather","rain":true}"#.utf8)))
        bench.receive(.ok(id: 999), .unsubscribed(id: 999), .answer(999, .online("bob", 1)), .refusal(nil, .internal))
        expect(bench.engine.link.state, equals: .live)
        expect(bench.engine.watchlist.people.isEmpty)
    }
}
