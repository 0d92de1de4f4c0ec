import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// How an engine connects and disconnects.
@Suite struct ConnectingTests {
    private var bench = Bench()

    // MARK: Connecting

    @Test mutating func `it fetches a token, dials, sends connect, and is live`() {
        expect(bench.engine.link.state, equals: .idle)
        bench.handle(.connect)
        expect(bench.fetches, equals: 1)
        expect(bench.engine.link.state, equals: .connecting)
        bench.handle(.token(bench.engine.link.attempt, .success("secret")))
        expect(bench.opens, equals: 1)
        bench.handle(.opened(bench.engine.link.attempt))
        expect(bench.bodies, equals: [.connect(.init(token: "secret", device: .init()))])
        expect(bench.engine.link.state, equals: .connecting)
        bench.welcome(user: "ana")
        expect(bench.engine.link.state, equals: .live)
        expect(bench.engine.me.id, equals: "ana")
    }

    @Test mutating func `connect contains the device and the activity`() {
        bench = Bench(device: .init(id: "phone-1", kind: .phone, name: "Ana's"))
        bench.handle(.activity(.idle))
        bench.dial()
        guard case .connect(let connect) = bench.bodies.first else {
            Issue.record("no connect: \(bench.bodies)")
            return
        }
        expect(connect.device, equals: .init(id: "phone-1", kind: .phone, name: "Ana's"))
        expect(connect.activity, equals: .idle)
    }

    @Test mutating func `a second connect has no effect`() {
        bench.handle([.connect, .connect])
        expect(bench.fetches, equals: 1)
    }

    @Test mutating func `an invalid URL or device closes it before any attempt`() {
        let flaw = PresenceError(.invalidURL, "")
        bench = Bench(flaw: flaw)
        bench.handle(.connect)
        expect(bench.fetches, equals: 0)
        expect(bench.engine.link.state, equals: .closed(flaw))
        let call = bench.call(.setStatus(StatusChange(status: .busy)))
        expect(bench.error(of: call), equals: flaw)
    }

    @Test mutating func `a connection that is not made in time is given up`() {
        bench.handle(.connect)
        bench.handle(.token(bench.engine.link.attempt, .success("t")))
        bench.pass(.milliseconds(9_900))
        expect(bench.aborts, equals: 0)
        bench.pass(.milliseconds(100))
        expect(bench.aborts, equals: 1)
        guard case .reconnecting(let wait, let why) = bench.engine.link.state else {
            Issue.record("\(bench.engine.link.state)")
            return
        }
        expect(wait, equals: .milliseconds(250))
        expect(why.code, equals: .connectionLost)
    }

    @Test mutating func `an open transport without connected is given up by the same deadline`() {
        bench.dial()
        bench.pass(.seconds(10))
        expect(bench.aborts, equals: 1)
    }

    @Test mutating func `input from an earlier attempt is ignored`() {
        bench.connect()
        let old = bench.engine.link.attempt
        bench.end(.lost(""))
        bench.pass(.milliseconds(250))
        expect(bench.opens, equals: 1)
        bench.handle([
            .opened(old), .alive(old), .token(old, .success("x")), .ended(old, .silent),
            .received(old, ServerMessage.live.encoded()),
        ])
        expect(bench.engine.link.state, equals: .connecting)
        expect(bench.sent.isEmpty)
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome()
        expect(bench.engine.link.state, equals: .live)
    }

    // MARK: Calls of the app

    @Test mutating func `a changed network causes an immediate reconnect`() {
        bench.connect()
        bench.handle(.reconnect)
        expect(bench.aborts, equals: 1)
        expect(bench.opens, equals: 1)
        bench.end(.lost(""))
        expect(!bench.engine.link.isConnected)
        bench.handle(.reconnect)
        expect(bench.aborts, equals: 0)
        expect(bench.opens, equals: 1)
    }

    @Test mutating func `a changed network has no effect without a connection or attempt`() {
        bench.handle(.reconnect)
        expect(bench.directives.isEmpty)
        bench.disconnect()
        bench.handle(.reconnect)
        expect(bench.fetches, equals: 0)
    }

    @Test mutating func `a disconnect says goodbye and stays closed`() {
        bench.connect()
        bench.disconnect()
        expect(bench.bodies, equals: [.disconnect])
        expect(bench.closes, equals: 1)
        expect(bench.engine.link.state, equals: .closed(nil))
        _ = bench.open(.presence("bob"))
        expect(bench.opens + bench.fetches, equals: 0)
        bench.handle(.connect)
        expect(bench.opens, equals: 1)
    }

    @Test mutating func `a disconnect during an attempt ends the attempt`() {
        bench.handle(.connect)
        let old = bench.engine.link.attempt
        bench.disconnect()
        bench.handle(.token(old, .success("t")))
        expect(bench.opens, equals: 0)
        expect(bench.engine.link.state, equals: .closed(nil))
    }

    // MARK: Stale and live

    @Test mutating func `the server reports when it is stale`() {
        bench.connect()
        bench.receive(.stale(since: 1_763_711_000_000))
        expect(bench.engine.link.state, equals: .stale(since: Date(timestamp: 1_763_711_000_000)))
        bench.receive(.live)
        expect(bench.engine.link.state, equals: .live)
    }

    @Test mutating func `a new connection does not inherit the staleness of an older one`() {
        bench.connect()
        bench.receive(.stale(since: 1))
        bench.handle(.reconnect)
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome()
        expect(bench.engine.link.state, equals: .live)
    }

    @Test mutating func `a loop on the state gets each change once, the newest first`() {
        let loop = bench.open(.connection)
        expect(bench.fetches, equals: 0)
        expect(bench.engine.nextConnectionState(loop), equals: .idle)
        expect(bench.engine.nextConnectionState(loop), equals: nil)
        bench.connect()
        expect(bench.engine.nextConnectionState(loop), equals: .live)
        expect(bench.engine.nextConnectionState(loop), equals: nil)
        bench.receive(.stale(since: 1_000))
        expect(bench.woken, equals: [loop])
        bench.receive(.stale(since: 1_000))
        expect(bench.woken.isEmpty)
    }
}

extension ConnectionState {
    var isClosed: Bool { if case .closed = self { true } else { false } }
}
