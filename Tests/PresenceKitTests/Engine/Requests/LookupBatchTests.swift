import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Reading more users than fit in one request, some of which fail.
@Suite struct LookupBatchTests {
    private var bench = Bench()

    private static func cached(_ user: UserID) -> CachedPerson {
        CachedPerson(
            user: user, asOf: Date(timestamp: 5_000), presence: Presence(version: 1, status: .away), profile: .none)
    }

    private var gets: [[UserID]] {
        bench.bodies.compactMap { if case .get(let users) = $0 { users } else { nil } }
    }

    @Test mutating func `users of a failed request come from the cache, and the other request's reply is awaited`() {
        for cacheIsFirst in [true, false] {
            bench = Bench()
            bench.connect(limits: ConnectionLimits(subscribeBatch: 2))
            let call = bench.call(.get(["a", "b", "c", "d"]))
            expect(gets, equals: [["a", "b"], ["c", "d"]])
            let (first, second) = (bench.lastID - 1, bench.lastID)
            bench.receive(.refusal(first, .unavailable))
            expect(bench.cacheReads, equals: [["a", "b", "c", "d"]])
            let cached = Input.cached([Self.cached("a"), Self.cached("c")])
            let answer = ServerMessage.users(id: second, [.online("c", 2), .unknown("d")], more: false)
            if cacheIsFirst { bench.handle(cached) } else { bench.receive(answer) }
            expect(bench.answer(to: call) == nil)
            if cacheIsFirst { bench.receive(answer) } else { bench.handle(cached) }
            let people = bench.people(of: call)
            expect(people?.map(\.user) == ["a", "c"] && people?.missing == ["b", "d"])
            expect(people?.map(\.freshness), equals: [.stale(since: Date(timestamp: 5_000)), .live])
            expect(people?.unanswered == ["b"] && people?.problem?.code == .unavailable)
        }
    }

    @Test mutating func `users requested again after a failed request may all be answered`() {
        bench.connect(limits: ConnectionLimits(subscribeBatch: 2))
        let call = bench.call(.get(["a", "b", "c"]))
        let (first, second) = (bench.lastID - 1, bench.lastID)
        bench.receive(.refusal(second, .rateLimited, retryAfter: 1_000))
        bench.receive(.refusal(first, .unavailable))
        bench.handle(.cached([]))
        expect(bench.answer(to: call) == nil)
        bench.pass(.seconds(1))
        expect(gets, equals: [["a", "b"], ["c"]])
        bench.receive(.users(id: bench.lastID - 1, [.online("a", 1), .online("b", 1)], more: false))
        bench.receive(.users(id: bench.lastID, [.online("c", 1)], more: false))
        expect(bench.people(of: call)?.count == 3 && bench.people(of: call)?.problem == nil)
    }

    @Test mutating func `without a connection for the rest, the cache returns what it has`() {
        bench.connect(limits: ConnectionLimits(subscribeBatch: 1))
        let call = bench.call(.get(["a", "b"]))
        bench.receive(.users(id: bench.lastID - 1, [.online("a", 1)], more: false))
        bench.receive(.refusal(bench.lastID, .rateLimited, retryAfter: 5_000))
        bench.end(.lost("cable"))
        expect(bench.cacheReads, equals: [["b"]])
        bench.handle(.cached([Self.cached("b")]))
        let people = bench.people(of: call)
        expect(people?.map(\.user) == ["a", "b"] && people?.problem?.code == .notConnected)
    }
}
