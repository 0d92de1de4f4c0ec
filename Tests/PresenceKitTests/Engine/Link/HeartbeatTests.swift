import Expectations
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Signs of life, and the expiry of the token.
@Suite struct HeartbeatTests {
    private var bench = Bench()

    init() { bench.connect() }

    @Test mutating func `silence leads to a ping after 25 s and to a new connection after 30`() {
        bench.pass(.milliseconds(24_900))
        expect(bench.pings, equals: 0)
        bench.pass(.milliseconds(100))
        expect(bench.pings, equals: 1)
        bench.pass(.milliseconds(4_900))
        expect(bench.aborts + bench.pings, equals: 0)
        bench.pass(.milliseconds(100))
        expect(bench.aborts, equals: 1)
        expect(!bench.engine.link.isConnected)
    }

    @Test mutating func `any sign of life is sufficient`() {
        for _ in 0..<10 {
            bench.pass(.seconds(24))
            bench.handle(.alive(bench.engine.link.attempt))
            expect(bench.pings, equals: 0)
            bench.pass(.seconds(24))
            bench.receive(.live)
        }
        expect(bench.engine.link.isConnected)
    }

    @Test mutating func `a reply to the ping restarts the interval`() {
        bench.pass(.seconds(29))
        bench.handle(.alive(bench.engine.link.attempt))
        bench.pass(.milliseconds(24_900))
        expect(bench.pings, equals: 0)
        bench.pass(.milliseconds(100))
        expect(bench.pings, equals: 1)
        expect(bench.engine.link.isConnected)
    }

    @Test mutating func `an engine that slept through all of it reconnects`() {
        bench.now.uptime += .seconds(3_600)
        bench.handle(.tick)
        expect(bench.aborts, equals: 1)
        bench.pass(.seconds(1))
        expect(bench.opens, equals: 1)
    }

    // MARK: The app's lifecycle

    @Test mutating func `the background is sent, and the foreground is sent as a probe`() {
        bench.handle(.background)
        expect(bench.bodies, equals: [.activity(.background)])
        bench.handle(.foreground)
        expect(bench.bodies, equals: [.activity(.active)])
        bench.receive(.ok(id: bench.lastID))
        bench.pass(.seconds(20))
        expect(bench.engine.link.isConnected)
    }

    @Test mutating func `a connection that did not survive the background is replaced within 5 s`() {
        bench.handle(.background)
        bench.handle(.foreground)
        bench.pass(.milliseconds(4_900))
        expect(bench.opens, equals: 0)
        bench.pass(.milliseconds(100))
        expect(bench.aborts, equals: 1)
        expect(bench.opens, equals: 1)
    }

    @Test mutating func `a connection that was silent too long is replaced at once`() {
        bench.handle(.background)
        bench.now.uptime += .seconds(600)
        bench.handle(.foreground)
        expect(bench.aborts, equals: 1)
        expect(bench.opens, equals: 1)
    }

    @Test mutating func `the foreground ends the wait for the next attempt`() {
        bench.end(.lost(""))
        bench.handle(.foreground)
        expect(bench.opens, equals: 1)
    }

    @Test mutating func `activity is sent when it changes, and on every connection`() {
        bench.handle(.activity(.idle))
        expect(bench.bodies, equals: [.activity(.idle)])
        bench.handle(.activity(.idle))
        expect(bench.bodies.isEmpty)
        bench.handle(.reconnect)
        bench.handle(.opened(bench.engine.link.attempt))
        bench.handle(.activity(.background))
        expect(bench.bodies.isEmpty)
        bench.welcome()
        expect(bench.bodies, equals: [.activity(.background)])
    }

    // MARK: The token

    @Test mutating func `an expiring token is replaced`() {
        bench.receive(.tokenExpiring(expiresIn: 60_000))
        expect(bench.fetches, equals: 1)
        bench.handle(.token(bench.engine.link.attempt, .success("second")))
        expect(bench.bodies, equals: [.refresh(token: "second")])
        bench.receive(.refreshed(id: bench.lastID))
        bench.pass(.seconds(16))
        expect(bench.fetches, equals: 0)
    }

    @Test mutating func `a provider that returns the same token is called some twenty times, and nothing is sent`() {
        let token = bench.engine.link.token!
        bench.receive(.tokenExpiring(expiresIn: 60_000))
        var fetches = bench.fetches
        for _ in 0..<59 {
            bench.handle(.token(bench.engine.link.attempt, .success(token)))
            expect(bench.bodies.isEmpty)
            bench.handle(.alive(bench.engine.link.attempt))
            bench.pass(.seconds(1))
            fetches += bench.fetches
        }
        expect(fetches > 3 && fetches < 20)
    }

    @Test mutating func `a refresh that fails is retried before the expiry`() {
        bench.receive(.tokenExpiring(expiresIn: 60_000))
        bench.handle(.token(bench.engine.link.attempt, .failure(PresenceError(.tokenUnavailable, ""))))
        bench.pass(.seconds(15))
        expect(bench.fetches, equals: 1)
        bench.handle(.token(bench.engine.link.attempt, .success("bad")))
        bench.receive(.refusal(bench.lastID, .unauthorized))
        expect(bench.engine.link.isConnected)
        bench.pass(.seconds(11.25))
        expect(bench.fetches, equals: 1)
    }

    @Test mutating func `the next connection uses the newer token`() {
        bench.receive(.tokenExpiring(expiresIn: 60_000))
        bench.handle(.token(bench.engine.link.attempt, .success("second")))
        bench.receive(.refreshed(id: bench.lastID))
        bench.handle(.reconnect)
        bench.handle(.opened(bench.engine.link.attempt))
        expect(bench.bodies, equals: [.connect(.init(token: "second", device: .init()))])
    }

    @Test mutating func `a token that arrives after the connection broke is used for the next one`() {
        bench.receive(.tokenExpiring(expiresIn: 60_000))
        bench.end(.lost(""))
        bench.pass(.milliseconds(250))
        expect(bench.fetches, equals: 1)
    }
}
