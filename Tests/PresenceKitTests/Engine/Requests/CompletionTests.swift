import Expectations
import PresenceProtocol
import Testing

@testable import PresenceKit

/// The waits of a goodbye, a sign-out and a clearing of the cache.
@Suite struct CompletionTests {
    private var bench = Bench()

    init() { bench.connect() }

    @Test mutating func `a goodbye ends when the connection has ended`() {
        let attempt = bench.engine.link.attempt
        let call = bench.disconnect()
        expect(bench.closes, equals: 1)
        expect(bench.answer(to: call) == nil)
        bench.handle(.ended(attempt - 1, .lost("")))
        expect(bench.answer(to: call) == nil)
        bench.handle(.ended(attempt, .lost("closed")))
        expect(bench.isDone(call))
    }

    @Test mutating func `a goodbye takes at most 2 s`() {
        let attempt = bench.engine.link.attempt
        let call = bench.disconnect()
        bench.pass(.milliseconds(1_999))
        expect(bench.answer(to: call) == nil)
        bench.pass(.milliseconds(1))
        expect(bench.isDone(call))
        bench.handle(.ended(attempt, .lost("closed")))
        expect(bench.answer(to: call) == nil, "it was answered once")
    }

    @Test mutating func `without a connection there is no goodbye to wait for`() {
        let attempt = bench.engine.link.attempt
        let first = bench.disconnect()
        let second = bench.disconnect()
        expect(bench.isDone(second))
        bench.handle(.connect)
        bench.handle(.ended(attempt, .lost("closed")))
        expect(bench.isDone(first))
        bench = Bench()
        let third = bench.disconnect()
        expect(bench.isDone(third))
    }

    @Test mutating func `an attempt that is dialling must end, too`() {
        bench = Bench()
        bench.handle(.connect)
        bench.handle(.token(bench.engine.link.attempt, .success("t")))
        let attempt = bench.engine.link.attempt
        let call = bench.disconnect()
        expect(bench.closes, equals: 1)
        expect(bench.answer(to: call) == nil)
        bench.handle(.ended(attempt, .lost("")))
        expect(bench.isDone(call))
    }

    @Test mutating func `a goodbye cannot be cancelled`() {
        let call = bench.disconnect()
        bench.handle(.cancel(call))
        expect(bench.answer(to: call) == nil)
    }

    @Test mutating func `a sign-out waits for the goodbye and the cache`() {
        for cacheIsFirst in [true, false] {
            bench = Bench()
            bench.connect()
            let attempt = bench.engine.link.attempt
            let call = bench.signOut()
            let ended = Input.ended(attempt, .lost("closed"))
            let cleared = Input.cacheCleared(bench.clearings[0])
            bench.handle(cacheIsFirst ? cleared : ended)
            expect(bench.answer(to: call) == nil)
            bench.handle(cacheIsFirst ? ended : cleared)
            expect(bench.isDone(call))
        }
    }

    @Test mutating func `a change of user and a clearing wait for the cache, each for its own clearing`() {
        let change = bench.switchUser()
        let first = bench.clearings[0]
        let clearing = bench.clearCache()
        let second = bench.clearings[0]
        bench.handle(.cacheCleared(first))
        expect(bench.isDone(change))
        expect(bench.answer(to: clearing) == nil)
        bench.handle(.cacheCleared(second))
        expect(bench.isDone(clearing))
    }

    @Test mutating func `an abandoned client says goodbye and waits for nothing`() {
        bench.close(bench.open(.presence("bob")))
        bench.handle(.abandon)
        expect(bench.bodies, equals: [.disconnect])
        expect(bench.closes, equals: 1)
        expect(bench.engine.nextDeadline, equals: nil)
    }
}
