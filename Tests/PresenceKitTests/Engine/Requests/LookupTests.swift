import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Reading many users once.
@Suite struct LookupTests {
    private var bench = Bench()

    private static func cached(_ user: UserID, _ version: Int64 = 1, asOf: Timestamp = 5_000) -> CachedPerson {
        CachedPerson(
            user: user, asOf: Date(timestamp: asOf), presence: Presence(version: version, status: .away),
            profile: .none)
    }

    private var gets: [[UserID]] {
        bench.bodies.compactMap { if case .get(let users) = $0 { users } else { nil } }
    }

    @Test mutating func `users are read in one request and returned in the requested order`() {
        bench.connect()
        let call = bench.call(.get(["cy", "bob"]))
        expect(gets, equals: [["cy", "bob"]])
        bench.receive(.users(id: bench.lastID, [.online("bob", 1, name: "Bob"), .unknown("cy")], more: false))
        let people = bench.people(of: call)
        expect(people?.map(\.user), equals: ["bob"])
        expect(people?.first?.freshness, equals: .live)
        expect(people?.missing, equals: ["cy"])
        expect(people?.unanswered, equals: [])
        expect(people?.isComplete, equals: true)
    }

    @Test mutating func `the parts of a reply form one result`() {
        bench.connect()
        let call = bench.call(.get(["a", "b"]))
        bench.receive(.users(id: bench.lastID, [.online("a", 1)], more: true))
        expect(bench.answer(to: call) == nil)
        bench.receive(.users(id: bench.lastID, [.online("b", 1)], more: false))
        expect(bench.people(of: call)?.count, equals: 2)
    }

    @Test mutating func `more users than fit in one request are read in several`() {
        bench.connect(limits: ConnectionLimits(subscribeBatch: 2))
        let call = bench.call(.get(["a", "b", "c"]))
        expect(gets, equals: [["a", "b"], ["c"]])
        bench.receive(.users(id: bench.lastID - 1, [.online("a", 1), .online("b", 1)], more: false))
        expect(bench.answer(to: call) == nil)
        bench.receive(.users(id: bench.lastID, [.online("c", 1)], more: false))
        expect(bench.people(of: call)?.map(\.user), equals: ["a", "b", "c"])
    }

    @Test mutating func `reading no users returns at once`() {
        let call = bench.call(.get([]))
        expect(bench.people(of: call)?.isEmpty, equals: true)
    }

    @Test mutating func `who is observed and live is not asked for`() {
        bench.connect()
        _ = bench.open(.presence("bob"))
        bench.receive(.answer(bench.lastID, .online("bob", 1)))
        let one = bench.call(.get(["bob"]))
        expect(bench.sent.isEmpty)
        expect(bench.people(of: one)?.first?.isOnline, equals: true)
        let two = bench.call(.get(["bob", "cy"]))
        expect(gets, equals: [["cy"]])
        bench.receive(.users(id: bench.lastID, [.unknown("cy")], more: false))
        expect(bench.people(of: two)?.map(\.user), equals: ["bob"])
    }

    @Test mutating func `a stale server is asked, and its reply is stale`() {
        bench.connect()
        _ = bench.open(.presence("bob"))
        bench.receive(.answer(bench.lastID, .online("bob", 1)), .stale(since: 7_000))
        let call = bench.call(.get(["bob"]))
        expect(gets, equals: [["bob"]])
        bench.receive(.users(id: bench.lastID, [.online("bob", 1)], more: false))
        expect(bench.people(of: call)?.first?.freshness, equals: .stale(since: Date(timestamp: 7_000)))
    }

    @Test mutating func `read users are cached, unless they are observed`() {
        bench.connect()
        _ = bench.open(.presence("bob"))
        _ = bench.call(.get(["bob", "cy"]))
        bench.receive(.users(id: bench.lastID, [.online("bob", 1), .online("cy", 2)], more: false))
        expect(bench.cacheWrites.map(\.user), equals: ["cy"])
    }

    // MARK: Without a connection

    @Test mutating func `before the first connection it waits for that`() {
        let call = bench.call(.get(["bob"]))
        expect(bench.cacheReads.isEmpty)
        bench.connect()
        expect(gets, equals: [["bob"]])
        bench.receive(.users(id: bench.lastID, [.online("bob", 1)], more: false))
        expect(bench.people(of: call)?.count, equals: 1)
    }

    @Test mutating func `while the first connection takes long, cached people are returned after 0.3 s`() {
        let calls = [bench.call(.get(["bob"])), bench.call(.get(["bob", "cy"]))]
        bench.pass(.milliseconds(299))
        expect(bench.cacheReads.isEmpty)
        bench.pass(.milliseconds(1))
        expect(bench.cacheReads, equals: [["bob"], ["bob", "cy"]])
        bench.handle([.cached([Self.cached("bob")]), .cached([Self.cached("bob")])])
        let bob = bench.people(of: calls[0])
        expect(bob?.first?.freshness == .stale(since: Date(timestamp: 5_000)) && bob?.problem?.code == .notConnected)
        expect(bench.answer(to: calls[1]) == nil, "cy may be known to the server")

        let late = bench.call(.get(["bob"]))
        bench.handle(.cached([Self.cached("bob")]))
        expect(bench.people(of: late)?.count, equals: 1)
        bench.connect()
        expect(gets, equals: [["bob", "cy"]])
        bench.receive(.users(id: bench.lastID, [.online("bob", 1), .online("cy", 2)], more: false))
        expect(bench.people(of: calls[1])?.allSatisfy(\.freshness.isLive), equals: true)
    }

    @Test mutating func `a connection during the read of the cache counts more than the cache`() {
        let call = bench.call(.get(["bob"]))
        bench.pass(.milliseconds(300))
        bench.connect()
        bench.handle(.cached([Self.cached("bob")]))
        expect(bench.answer(to: call) == nil)
        bench.receive(.users(id: bench.lastID, [.online("bob", 1)], more: false))
        expect(bench.people(of: call)?.first?.freshness.isLive, equals: true)
    }

    @Test mutating func `without a connection the cache answers, stale`() {
        bench.connect()
        bench.end(.lost(""))
        let call = bench.call(.get(["bob", "cy"]))
        expect(bench.cacheReads, equals: [["bob", "cy"]])
        bench.handle(.cached([Self.cached("cy"), Self.cached("bob")]))
        let people = bench.people(of: call)
        expect(people?.map(\.user), equals: ["bob", "cy"])
        expect(people?.first?.presence.status, equals: .away)
        expect(people?.first?.freshness, equals: .stale(since: Date(timestamp: 5_000)))
    }

    @Test mutating func `without a connection an observed user is answered from memory`() {
        bench.connect()
        _ = bench.open(.presence("bob"))
        bench.receive(.answer(bench.lastID, .online("bob", 1)))
        bench.end(.lost(""))
        let call = bench.call(.get(["bob"]))
        bench.handle(.cached([]))
        expect(bench.people(of: call)?.first?.freshness.staleSince != nil)
    }

    @Test mutating func `without a connection the known users are returned, with the missing ids`() {
        bench.connect()
        bench.end(.lost("cable"))
        let call = bench.call(.get(["bob", "cy"]))
        bench.handle(.cached([Self.cached("cy")]))
        let people = bench.people(of: call)
        expect(people?.map(\.user), equals: ["cy"])
        expect(people?.missing, equals: ["bob"])
        expect(people?.unanswered, equals: ["bob"])
        expect(people?.problem?.code, equals: .notConnected)
    }

    @Test mutating func `an earlier cache read is not used for the call's own`() {
        bench.connect()
        bench.end(.lost(""))
        _ = bench.open(.presence("bob"))
        let call = bench.call(.get(["cy"]))
        bench.handle(.cached([]))
        expect(bench.answer(to: call) == nil)
        bench.handle(.cached([Self.cached("cy")]))
        expect(bench.people(of: call)?.map(\.user), equals: ["cy"])
    }

    @Test mutating func `if the connection breaks in flight, the cache answers at once`() {
        bench.connect()
        let call = bench.call(.get(["bob"]))
        bench.end(.lost(""))
        expect(bench.cacheReads, equals: [["bob"]])
        bench.handle(.cached([]))
        expect(bench.people(of: call)?.unanswered, equals: ["bob"])
        bench.comeBack()
        expect(gets.isEmpty)
    }

    @Test mutating func `users answered before the break are not requested again`() {
        let limits = ConnectionLimits(subscribeBatch: 1)
        bench.connect(limits: limits)
        let call = bench.call(.get(["a", "b"]))
        bench.receive(.users(id: bench.lastID - 1, [.online("a", 1)], more: false))
        bench.handle(.reconnect)
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome(limits: limits)
        expect(gets, equals: [["b"]])
        bench.receive(.users(id: bench.lastID, [.online("b", 1)], more: false))
        expect(bench.people(of: call)?.count, equals: 2)
    }

    @Test mutating func `a closed client answers from its cache and reports the reason`() {
        bench.connect()
        bench.end(code: 4006)
        let good = bench.call(.get(["bob"]))
        bench.handle(.cached([Self.cached("bob")]))
        expect(bench.people(of: good)?.count, equals: 1)
        let bad = bench.call(.get(["cy"]))
        bench.handle(.cached([]))
        expect(bench.people(of: bad)?.problem?.code, equals: .disconnectedByAdministrator)
    }

    // MARK: Errors of the server

    @Test mutating func `unavailable is answered by the cache, or thrown`() {
        bench.connect()
        let good = bench.call(.get(["bob"]))
        bench.receive(.refusal(bench.lastID, .unavailable, retryAfter: 1_000))
        expect(bench.cacheReads, equals: [["bob"]])
        bench.handle(.cached([Self.cached("bob")]))
        expect(bench.people(of: good)?.first?.freshness, equals: .stale(since: Date(timestamp: 5_000)))

        let bad = bench.call(.get(["cy"]))
        bench.receive(.refusal(bench.lastID, .unavailable, retryAfter: 1_000))
        bench.handle(.cached([]))
        expect(bench.people(of: bad)?.problem?.code, equals: .unavailable)
        expect(bench.people(of: bad)?.problem?.retryAfter, equals: .seconds(1))
    }

    @Test mutating func `forbidden is thrown at once`() {
        bench.connect()
        let call = bench.call(.get(["bob"]))
        bench.receive(.refusal(bench.lastID, .forbidden))
        expect(bench.error(of: call)?.code, equals: .forbidden)
    }

    @Test mutating func `a server that omits a user does not leave the call hanging`() {
        bench.connect()
        let call = bench.call(.get(["bob", "cy"]))
        bench.receive(.users(id: bench.lastID, [.online("bob", 1)], more: false))
        expect(bench.error(of: call)?.code, equals: .protocolViolation)
    }

    // MARK: The cache and loops

    @Test mutating func `without a connection a loop shows cached values`() {
        let loop = bench.open(.presence("bob"))
        expect(bench.cacheReads, equals: [["bob"]])
        bench.handle(.cached([Self.cached("bob", 7)]))
        expect(bench.woken, equals: [loop])
        let bob = bench.engine.nextPresence(loop)
        expect(bob?.status, equals: .away)
        expect(bob?.freshness, equals: .stale(since: Date(timestamp: 5_000)))
        bench.connect()
        expect(bench.bodies, equals: [.subscribe(.init(users: ["bob"], known: ["bob": .init(presence: 7)]))])
    }

    @Test mutating func `a late reply of the cache changes nothing`() {
        let loop = bench.open(.presence("bob"))
        bench.connect()
        bench.receive(.answer(bench.lastID, .online("bob", 3)))
        bench.handle(.cached([Self.cached("bob", 9)]))
        expect(bench.engine.nextPresence(loop)?.version, equals: 3)
    }

    @Test mutating func `with a connection the cache is not read`() {
        bench.connect()
        _ = bench.open(.presence("bob"))
        expect(bench.cacheReads.isEmpty)
    }

    @Test mutating func `every change is cached, once per turn`() {
        bench.connect()
        _ = bench.open(.presence("bob"))
        bench.receive(.answer(bench.lastID, .online("bob", 1)))
        expect(bench.cacheWrites.map(\.presenceRegister.version), equals: [1])
        bench.receive(.event("bob", 2), .event("bob", 3, .busy), .event("bob", 4, name: "Bob"))
        expect(bench.cacheWrites.map(\.presenceRegister.version), equals: [3])
        expect(bench.cacheWrites.map(\.profileRegister.version), equals: [4])
    }

    @Test mutating func `users that are no longer observed or current are cached with that time`() {
        bench.connect()
        let loop = bench.open(.presence("bob"))
        bench.receive(.answer(bench.lastID, .online("bob", 1)))
        bench.pass(.seconds(5))
        bench.close(loop)
        bench.pass(.seconds(2))
        expect(bench.cacheWrites.map(\.asOf), equals: [Date(timeIntervalSince1970: 1_763_712_006)])
    }
}
