import PresenceProtocol
import Testing

@testable import PresenceKit

/// Signs of life, and the token's end.
@Suite struct HeartbeatTests {
    private var bench = Bench()

    init() { bench.connect() }

    @Test mutating func `silence is asked about after 25 s and given up after 30`() {
        bench.pass(.milliseconds(24_900))
        #expect(bench.pings == 0)
        bench.pass(.milliseconds(100))
        #expect(bench.pings == 1)
        bench.pass(.milliseconds(4_900))
        #expect(bench.aborts + bench.pings == 0)
        bench.pass(.milliseconds(100))
        #expect(bench.aborts == 1)
        #expect(!bench.session.isConnected)
    }

    @Test mutating func `any sign of life is enough`() {
        for _ in 0..<10 {
            bench.pass(.seconds(24))
            bench.handle(.alive(bench.session.attempt))
            #expect(bench.pings == 0)
            bench.pass(.seconds(24))
            bench.receive(.live)
        }
        #expect(bench.session.isConnected)
    }

    @Test mutating func `an answer to the ping begins anew`() {
        bench.pass(.seconds(29))
        bench.handle(.alive(bench.session.attempt))
        bench.pass(.milliseconds(24_900))
        #expect(bench.pings == 0)
        bench.pass(.milliseconds(100))
        #expect(bench.pings == 1)
        #expect(bench.session.isConnected)
    }

    @Test mutating func `a session that slept through all of it comes back`() {
        bench.now.uptime += .seconds(3_600)
        bench.handle(.tick)
        #expect(bench.aborts == 1)
        bench.pass(.seconds(1))
        #expect(bench.opens == 1)
    }

    // MARK: The app's life

    @Test mutating func `the background is told, and the foreground is told and asks for a sign of life`() {
        bench.turn { $0.background(at: $1) }
        #expect(bench.bodies == [.activity(.background)])
        bench.turn { $0.foreground(at: $1) }
        #expect(bench.bodies == [.activity(.active)])
        bench.receive(.ok(id: bench.lastID))
        bench.pass(.seconds(20))
        #expect(bench.session.isConnected)
    }

    @Test mutating func `a connection that did not survive the background is replaced within 5 s`() {
        bench.turn { $0.background(at: $1) }
        bench.turn { $0.foreground(at: $1) }
        bench.pass(.milliseconds(4_900))
        #expect(bench.opens == 0)
        bench.pass(.milliseconds(100))
        #expect(bench.aborts == 1)
        #expect(bench.opens == 1)
    }

    @Test mutating func `one that was silent too long is replaced at once`() {
        bench.turn { $0.background(at: $1) }
        bench.now.uptime += .seconds(600)
        bench.turn { $0.foreground(at: $1) }
        #expect(bench.aborts == 1)
        #expect(bench.opens == 1)
    }

    @Test mutating func `the foreground ends the waiting for the next attempt`() {
        bench.end(.lost(""))
        bench.turn { $0.foreground(at: $1) }
        #expect(bench.opens == 1)
    }

    @Test mutating func `activity is said when it changes, and on every connection`() {
        bench.turn { session, _ in session.setActivity(.idle) }
        #expect(bench.bodies == [.activity(.idle)])
        bench.turn { session, _ in session.setActivity(.idle) }
        #expect(bench.bodies.isEmpty)
        bench.turn { $0.reconnectNow(at: $1) }
        bench.handle(.opened(bench.session.attempt))
        bench.turn { session, _ in session.setActivity(.background) }
        #expect(bench.bodies.isEmpty)
        bench.welcome()
        #expect(bench.bodies == [.activity(.background)])
    }

    // MARK: The token

    @Test mutating func `an expiring token is replaced`() {
        bench.receive(.tokenExpiring(expiresIn: 60_000))
        #expect(bench.fetches == 1)
        bench.handle(.token(bench.session.attempt, .success("second")))
        #expect(bench.bodies == [.refresh(token: "second")])
        bench.receive(.refreshed(id: bench.lastID))
        bench.pass(.seconds(16))
        #expect(bench.fetches == 0)
    }

    @Test mutating func `a refresh that fails is tried again before the end`() {
        bench.receive(.tokenExpiring(expiresIn: 60_000))
        bench.handle(.token(bench.session.attempt, .failure(PresenceError(.tokenUnavailable, ""))))
        bench.pass(.seconds(15))
        #expect(bench.fetches == 1)
        bench.handle(.token(bench.session.attempt, .success("bad")))
        bench.receive(.refusal(bench.lastID, .unauthorized))
        #expect(bench.session.isConnected)
        bench.receive(.tokenExpiring(expiresIn: 1_000))
        #expect(bench.fetches == 1)
    }

    @Test mutating func `the next connection uses the newer token`() {
        bench.receive(.tokenExpiring(expiresIn: 60_000))
        bench.handle(.token(bench.session.attempt, .success("second")))
        bench.receive(.refreshed(id: bench.lastID))
        bench.turn { $0.reconnectNow(at: $1) }
        bench.handle(.opened(bench.session.attempt))
        #expect(bench.bodies == [.connect(.init(token: "second", device: .init()))])
    }

    @Test mutating func `a token that comes after the connection broke is used for the next one`() {
        bench.receive(.tokenExpiring(expiresIn: 60_000))
        bench.end(.lost(""))
        bench.pass(.milliseconds(250))
        #expect(bench.fetches == 1)
    }
}
