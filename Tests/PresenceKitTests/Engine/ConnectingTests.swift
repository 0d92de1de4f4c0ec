import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// How an engine comes to its connection, loses it, and comes back.
@Suite struct ConnectingTests {
    private var bench = Bench()

    private static let noToken = PresenceError(.tokenUnavailable, "")

    // MARK: The way there

    @Test mutating func `it fetches a token, dials, introduces itself, and is live`() {
        #expect(bench.engine.link.state == .idle)
        bench.handle(.connect)
        #expect(bench.fetches == 1)
        #expect(bench.engine.link.state == .connecting)
        bench.handle(.token(bench.engine.link.attempt, .success("secret")))
        #expect(bench.opens == 1)
        bench.handle(.opened(bench.engine.link.attempt))
        #expect(bench.bodies == [.connect(.init(token: "secret", device: .init()))])
        #expect(bench.engine.link.state == .connecting)
        bench.welcome(user: "ana")
        #expect(bench.engine.link.state == .live)
        #expect(bench.engine.me.id == "ana")
    }

    @Test mutating func `the device and the activity go with it`() {
        bench = Bench(device: .init(id: "phone-1", kind: .phone, name: "Ana's"))
        bench.handle(.activity(.idle))
        bench.dial()
        guard case .connect(let connect) = bench.bodies.first else {
            Issue.record("no connect: \(bench.bodies)")
            return
        }
        #expect(connect.device == .init(id: "phone-1", kind: .phone, name: "Ana's"))
        #expect(connect.activity == .idle)
    }

    @Test mutating func `asking twice is asking once`() {
        bench.handle([.connect, .connect])
        #expect(bench.fetches == 1)
    }

    @Test mutating func `a flaw of the address or the device closes it before anything is tried`() {
        let flaw = PresenceError(.invalidURL, "")
        bench = Bench(flaw: flaw)
        bench.handle(.connect)
        #expect(bench.fetches == 0)
        #expect(bench.engine.link.state == .closed(flaw))
        let call = bench.call(.setStatus(StatusChange(status: .busy)))
        #expect(bench.error(of: call) == flaw)
    }

    @Test mutating func `a connection that does not come about in time is given up`() {
        bench.handle(.connect)
        bench.handle(.token(bench.engine.link.attempt, .success("t")))
        bench.pass(.milliseconds(9_900))
        #expect(bench.aborts == 0)
        bench.pass(.milliseconds(100))
        #expect(bench.aborts == 1)
        guard case .reconnecting(let wait, let why) = bench.engine.link.state else {
            Issue.record("\(bench.engine.link.state)")
            return
        }
        #expect(wait == .milliseconds(250))
        #expect(why.code == .connectionLost)
    }

    @Test mutating func `an open transport without connected is given up by the same deadline`() {
        bench.dial()
        bench.pass(.seconds(10))
        #expect(bench.aborts == 1)
    }

    @Test mutating func `what an earlier attempt still says is not listened to`() {
        bench.connect()
        let old = bench.engine.link.attempt
        bench.end(.lost(""))
        bench.pass(.milliseconds(250))
        #expect(bench.opens == 1)
        bench.handle([
            .opened(old), .alive(old), .token(old, .success("x")), .ended(old, .silent),
            .received(old, ServerMessage.live.encoded()),
        ])
        #expect(bench.engine.link.state == .connecting)
        #expect(bench.sent.isEmpty)
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome()
        #expect(bench.engine.link.state == .live)
    }

    // MARK: Coming back

    @Test mutating func `after a loss it waits and dials again with the token that it has`() {
        bench.connect()
        bench.end(.lost("cable"))
        #expect(
            bench.engine.link.state
                == .reconnecting(in: .milliseconds(250), because: PresenceError(.connectionLost, "cable")))
        bench.pass(.milliseconds(249))
        #expect(bench.opens == 0)
        bench.pass(.milliseconds(1))
        #expect(bench.opens == 1)
        #expect(bench.fetches == 0)
    }

    @Test(arguments: [1012, 1013] as [UInt16]) mutating func `told when to come back, it comes then`(code: UInt16) {
        bench.connect()
        bench.end(code: code, reason: #"{"reconnectAfter":4321}"#)
        bench.pass(.milliseconds(4_320))
        #expect(bench.opens == 0)
        bench.pass(.milliseconds(1))
        #expect(bench.opens == 1)
    }

    @Test(arguments: [4001, 4002, 4003] as [UInt16]) mutating func `a refused token is replaced`(code: UInt16) {
        bench.connect()
        bench.end(code: code)
        bench.pass(.seconds(1))
        #expect(bench.fetches == 1)
        bench.handle(.token(bench.engine.link.attempt, .success("second")))
        bench.handle(.opened(bench.engine.link.attempt))
        guard case .connect(let connect) = bench.bodies.first else {
            Issue.record("no connect")
            return
        }
        #expect(connect.token == "second")
    }

    @Test mutating func `a second refusal of a fresh token is the last`() {
        for attempt in 1...2 {
            bench.dial()
            bench.receive(.refusal(bench.lastID, .unauthorized))
            #expect(bench.aborts == 0)
            bench.end(code: 4001)
            if attempt == 1 { bench.pass(.seconds(1)) }
        }
        guard case .closed(let error) = bench.engine.link.state else {
            Issue.record("\(bench.engine.link.state)")
            return
        }
        #expect(error?.code == .unauthorized)
        bench.pass(.seconds(3_600))
        #expect(bench.fetches + bench.opens == 0)
    }

    @Test mutating func `a token provider that never answers is asked again`() {
        bench = Bench(configuration: .init(), random: 0)
        bench.handle(.connect)
        let first = bench.engine.link.attempt
        bench.pass(.milliseconds(59_999))
        #expect(bench.fetches == 0)
        bench.pass(.milliseconds(1))
        #expect(bench.fetches == 1)
        // What the first one says after all is not taken for the second one's.
        bench.handle(.token(first, .success("late")))
        #expect(bench.opens == 0)
        bench.handle(.token(bench.engine.link.attempt, .success("good")))
        #expect(bench.opens == 1)
    }

    @Test mutating func `linger is the server's, and decides how soon it is back`() {
        bench = Bench(random: 1)
        bench.dial()
        bench.welcome(linger: 1_000)
        bench.end(.lost(""))
        guard case .reconnecting(let delay, _) = bench.engine.link.state else {
            Issue.record("\(bench.engine.link.state)")
            return
        }
        #expect(delay == .milliseconds(250))
    }

    @Test mutating func `a refusal counts though its close frame was lost`() {
        for attempt in 1...2 {
            bench.dial()
            bench.receive(.refusal(bench.lastID, .unauthorized))
            bench.end(.lost(""))
            if attempt == 1 { bench.pass(.seconds(1)) }
        }
        #expect(bench.engine.link.state.isClosed)
    }

    @Test(arguments: [1003, 1007, 1008, 1009, 4004, 4006] as [UInt16])
    mutating func `some closes are for good, until the app asks`(code: UInt16) {
        bench.connect()
        bench.end(code: code)
        #expect(bench.engine.link.state.isClosed)
        bench.pass(.seconds(3_600))
        #expect(bench.opens == 0)
        _ = bench.open(.presence("bob"))
        #expect(bench.opens == 0)
        bench.handle(.connect)
        #expect(bench.opens == 1)
    }

    @Test mutating func `a token provider that fails is asked again, one that says no is not`() {
        bench.handle(.connect)
        bench.handle(.token(bench.engine.link.attempt, .failure(Self.noToken)))
        #expect(bench.engine.link.state == .reconnecting(in: .milliseconds(250), because: Self.noToken))
        bench.pass(.seconds(1))
        #expect(bench.fetches == 1)
        let no = PresenceError(.unauthorized, "signed out")
        bench.handle(.token(bench.engine.link.attempt, .failure(no)))
        #expect(bench.engine.link.state == .closed(no))
    }

    @Test mutating func `a connect refused for good says why`() {
        bench.dial()
        bench.receive(.refusal(bench.lastID, .validationFailed, field: "device.name"))
        #expect(bench.aborts == 1)
        guard case .closed(let error) = bench.engine.link.state else {
            Issue.record("\(bench.engine.link.state)")
            return
        }
        #expect(error?.field == "device.name")
    }

    @Test mutating func `a connect refused for now is made again when the server said`() {
        bench.dial()
        bench.receive(.refusal(bench.lastID, .unavailable, retryAfter: 2_000))
        #expect(bench.aborts == 1)
        bench.pass(.milliseconds(2_249))
        #expect(bench.opens == 0)
        bench.pass(.milliseconds(1))
        #expect(bench.opens == 1)
    }

    @Test mutating func `nonsense ends the connection, since a change may have been in it`() {
        for bytes in ["", "{", "[]", "{}", #"{"type":"presence"}"#, #"{"type":"ok"}"#] {
            bench.connect()
            bench.handle(.received(bench.engine.link.attempt, Array(bytes.utf8)))
            #expect(bench.aborts == 1, "\(bytes)")
            guard case .reconnecting(_, let why) = bench.engine.link.state else {
                Issue.record("\(bench.engine.link.state)")
                return
            }
            #expect(why.code == .protocolViolation)
            bench.handle(.reconnect)
            bench.handle(.opened(bench.engine.link.attempt))
            bench.welcome()
        }
    }

    @Test mutating func `what a later server says is ignored`() {
        bench.connect()
        bench.handle(.received(bench.engine.link.attempt, Array(#"{"type":"weather","rain":true}"#.utf8)))
        bench.receive(.ok(id: 999), .unsubscribed(id: 999), .answer(999, .online("bob", 1)), .refusal(nil, .internal))
        #expect(bench.engine.link.state == .live)
        #expect(bench.engine.watchlist.people.isEmpty)
    }

    // MARK: The app's verbs

    @Test mutating func `a changed network needs no waiting`() {
        bench.connect()
        bench.handle(.reconnect)
        #expect(bench.aborts == 1)
        #expect(bench.opens == 1)
        bench.end(.lost(""))
        #expect(!bench.engine.link.isConnected)
        bench.handle(.reconnect)
        #expect(bench.aborts == 0)
        #expect(bench.opens == 1)
    }

    @Test mutating func `a changed network is nothing to who is not connecting`() {
        bench.handle(.reconnect)
        #expect(bench.directives.isEmpty)
        bench.disconnect()
        bench.handle(.reconnect)
        #expect(bench.fetches == 0)
    }

    @Test mutating func `leaving says goodbye and stays away`() {
        bench.connect()
        bench.disconnect()
        #expect(bench.bodies == [.disconnect])
        #expect(bench.closes == 1)
        #expect(bench.engine.link.state == .closed(nil))
        _ = bench.open(.presence("bob"))
        #expect(bench.opens + bench.fetches == 0)
        bench.handle(.connect)
        #expect(bench.opens == 1)
    }

    @Test mutating func `leaving before there is a connection ends the attempt`() {
        bench.handle(.connect)
        let old = bench.engine.link.attempt
        bench.disconnect()
        bench.handle(.token(old, .success("t")))
        #expect(bench.opens == 0)
        #expect(bench.engine.link.state == .closed(nil))
    }

    // MARK: Stale and live

    @Test mutating func `the server says when it does not know`() {
        bench.connect()
        bench.receive(.stale(since: 1_763_711_000_000))
        #expect(bench.engine.link.state == .stale(since: Date(timestamp: 1_763_711_000_000)))
        bench.receive(.live)
        #expect(bench.engine.link.state == .live)
    }

    @Test mutating func `a new connection knows nothing of an older one's staleness`() {
        bench.connect()
        bench.receive(.stale(since: 1))
        bench.handle(.reconnect)
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome()
        #expect(bench.engine.link.state == .live)
    }

    @Test mutating func `a loop on the state sees each change once, the newest first`() {
        let loop = bench.open(.connection)
        #expect(bench.fetches == 0)
        #expect(bench.engine.nextConnectionState(loop) == .idle)
        #expect(bench.engine.nextConnectionState(loop) == nil)
        bench.connect()
        #expect(bench.engine.nextConnectionState(loop) == .live)
        #expect(bench.engine.nextConnectionState(loop) == nil)
        bench.receive(.stale(since: 1_000))
        #expect(bench.woken == [loop])
        bench.receive(.stale(since: 1_000))
        #expect(bench.woken.isEmpty)
    }
}

extension ConnectionState {
    var isClosed: Bool { if case .closed = self { true } else { false } }
}
