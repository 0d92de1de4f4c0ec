import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Which users are subscribed to, when, and in how many messages.
@Suite struct WatchingTests {
    private var bench = Bench()

    init() { bench.connect() }

    private func subscribes() -> [ClientMessage.Subscribe] {
        bench.bodies.compactMap { if case .subscribe(let subscribe) = $0 { subscribe } else { nil } }
    }

    private func unsubscribes() -> [[UserID]] {
        bench.bodies.compactMap { if case .unsubscribe(let users, _, _, _) = $0 { users } else { nil } }
    }

    // MARK: Sharing

    @Test mutating func `observations of one turn share one message`() {
        _ = bench.open(["cy", "bob", "ana"].map { .presence($0) })
        expect(subscribes(), equals: [.init(users: ["ana", "bob", "cy"])])
    }

    @Test mutating func `several loops on one user share one subscription`() {
        let first = bench.open(.presence("bob"))
        expect(subscribes(), equals: [.init(users: ["bob"])])
        let others = [bench.open(.profile("bob")), bench.open(.user("bob")), bench.open(.roster(["bob"]))]
        expect(bench.sent.isEmpty)
        bench.receive(.answer(bench.lastID, .online("bob", 1, name: "Bob")))
        expect(bench.engine.nextPresence(first)?.status, equals: .online)
        expect(bench.engine.nextProfile(others[0])?.displayName, equals: "Bob")
        expect(bench.engine.nextPerson(others[1])?.isFound, equals: true)
        expect(bench.engine.nextRoster(others[2])?.people.count, equals: 1)

        for loop in [first] + others.dropLast() { bench.close(loop) }
        bench.pass(.seconds(10))
        expect(bench.sent.isEmpty)
        bench.close(others[2])
        bench.pass(.seconds(1))
        expect(unsubscribes(), equals: [["bob"]])
        expect(bench.engine.watchlist.people.isEmpty)
    }

    @Test mutating func `a later loop is answered from memory`() {
        _ = bench.open(.presence("bob"))
        bench.receive(.answer(bench.lastID, .online("bob", 1)))
        let second = bench.open(.presence("bob"))
        expect(bench.sent.isEmpty)
        expect(bench.engine.nextPresence(second)?.isOnline, equals: true)
    }

    // MARK: Leaving

    @Test mutating func `a return within the grace period needs no new subscription`() {
        let loop = bench.open(.presence("bob"))
        bench.receive(.answer(bench.lastID, .online("bob", 1)))
        bench.close(loop)
        bench.pass(.milliseconds(900))
        expect(bench.sent.isEmpty)
        _ = bench.open(.presence("bob"))
        bench.pass(.seconds(15))
        expect(bench.sent.isEmpty)
    }

    @Test mutating func `a user left before the reply is unsubscribed when it arrives`() {
        let loop = bench.open(.presence("bob"))
        let request = bench.lastID
        bench.close(loop)
        bench.pass(.seconds(5))
        expect(bench.sent.isEmpty)
        bench.receive(.answer(request, .online("bob", 1)))
        expect(unsubscribes(), equals: [["bob"]])
        expect(bench.engine.watchlist.people.isEmpty)
        expect(bench.engine.watchlist.subscriptions, equals: 0)
    }

    @Test mutating func `a user left before a rejection is removed with it`() {
        let loop = bench.open(.presence("bob"))
        let request = bench.lastID
        bench.close(loop)
        bench.pass(.seconds(5))
        bench.receive(.refusal(request, .forbidden))
        expect(bench.sent.isEmpty)
        expect(bench.engine.watchlist.people.isEmpty)
    }

    @Test mutating func `a user left during an outage is not subscribed again`() {
        let loop = bench.open(.presence("bob"))
        bench.receive(.answer(bench.lastID, .online("bob", 1)))
        bench.end(.lost(""))
        bench.close(loop)
        bench.pass(.seconds(1))
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome()
        expect(subscribes().isEmpty)
        expect(bench.engine.watchlist.people.isEmpty)
    }

    @Test mutating func `a user left while requested, before the connection broke, is removed`() {
        let loop = bench.open(.presence("bob"))
        bench.close(loop)
        bench.pass(.seconds(5))
        bench.end(.lost(""))
        expect(bench.engine.watchlist.people.isEmpty)
    }

    @Test mutating func `a user observed again after the unsubscribe is subscribed again`() {
        let loop = bench.open(.presence("bob"))
        bench.receive(.answer(bench.lastID, .online("bob", 1)))
        bench.close(loop)
        bench.pass(.seconds(1))
        let again = bench.open(.presence("bob"))
        expect(subscribes(), equals: [.init(users: ["bob"])])
        expect(bench.engine.nextPresence(again), equals: nil)
        bench.receive(.event("bob", 7, .busy))
        bench.receive(.answer(bench.lastID, .online("bob", 2)))
        expect(bench.engine.nextPresence(again)?.version, equals: 2)
    }

    @Test mutating func `closing a loop twice has no effect`() {
        let one = bench.open(.presence("bob"))
        _ = bench.open(.presence("bob"))
        bench.close(one)
        bench.close(one)
        expect(bench.engine.watchlist.people["bob"]?.watch.observers, equals: 1)
    }

    // MARK: Batches

    @Test mutating func `a message names no more users than the server accepts`() {
        bench = Bench()
        bench.connect(limits: ConnectionLimits(subscribeBatch: 3))
        let users = (1...7).map { "u\($0)" }
        _ = bench.open(.roster(users))
        expect(subscribes().map(\.users.count), equals: [3, 3, 1])
        expect(Set(subscribes().flatMap(\.users)).count, equals: 7)
    }

    @Test mutating func `a message is no longer than the server accepts, however long the ids`() {
        let limits = ConnectionLimits(maxMessageBytes: 4_096)
        bench = Bench()
        bench.connect(limits: limits)
        let users = (100...199).map { String(repeating: "\\", count: 125) + "\($0)" }
        _ = bench.open(.roster(users))
        // Known versions make the message longer still.
        bench.receive(
            .subscribed(
                id: bench.lastID, users: users.map { .online(UserID($0)!, .max / 2, name: "x") }, conversations: [],
                more: false))
        bench.end(.lost(""))
        bench.pass(.milliseconds(250))
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome(limits: limits)
        let sizes = bench.directives.compactMap { if case .send(let bytes) = $0 { bytes.count } else { nil } }
        expect(sizes.count > 5)
        expect(sizes.allSatisfy { $0 <= 4_096 })
        expect(subscribes().flatMap(\.users).count, equals: 100)
    }

    @Test mutating func `beyond the limit users are rejected, and subscribed once there is room`() {
        bench = Bench()
        bench.connect(limits: ConnectionLimits(subscriptions: 2))
        let first = bench.open(.presence("a"))
        _ = bench.open(.presence("b"))
        let third = bench.open(.presence("c"))
        expect(bench.sent.isEmpty)
        guard let error = bench.engine.nextPresence(third)?.problem else {
            Issue.record("not refused")
            return
        }
        expect(error.code, equals: .tooMany)
        bench.receive(.answer(bench.lastID - 1, .online("a", 1)), .answer(bench.lastID, .online("b", 1)))
        bench.close(first)
        bench.pass(.seconds(1))
        expect(unsubscribes(), equals: [["a"]])
        expect(subscribes(), equals: [.init(users: ["c"])])
        bench.receive(.answer(bench.lastID, .online("c", 1)))
        expect(bench.engine.nextPresence(third)?.freshness, equals: .live)
    }

    @Test mutating func `a user in their grace period makes room for an observed one`() {
        bench = Bench()
        bench.connect(limits: ConnectionLimits(subscriptions: 2))
        let old = bench.open(.roster(["a", "b"]))
        bench.receive(.answer(bench.lastID, .online("a", 1), .online("b", 1)))
        bench.close(old)
        expect(bench.sent.isEmpty)
        _ = bench.open(.roster(["b", "c"]))
        expect(bench.bodies, equals: [.unsubscribe(users: ["a"], conversations: []), .subscribe(.init(users: ["c"]))])
        expect(bench.engine.watchlist.subscriptions, equals: 2)
    }

    // MARK: Rejections

    @Test mutating func `after a temporary error it is requested again after the named delay`() {
        let loop = bench.open(.presence("bob"))
        bench.receive(.refusal(bench.lastID, .unavailable, retryAfter: 2_000))
        bench.pass(.milliseconds(1_999))
        expect(bench.sent.isEmpty)
        bench.pass(.milliseconds(1))
        expect(subscribes(), equals: [.init(users: ["bob"])])
        expect(bench.engine.nextPresence(loop), equals: nil)
        bench.receive(.answer(bench.lastID, .online("bob", 1)))
        expect(bench.engine.nextPresence(loop)?.freshness, equals: .live)
    }

    @Test mutating func `an error without a delay does not cause a flood of requests`() {
        _ = bench.open(.presence("bob"))
        for retryAfter in [nil, 0] as [Milliseconds?] {
            bench.receive(.refusal(bench.lastID, .internal, retryAfter: retryAfter))
            bench.pass(.milliseconds(99))
            expect(bench.sent.isEmpty)
            bench.pass(.seconds(1))
            expect(subscribes().count, equals: 1)
        }
    }

    @Test mutating func `a forbidden conversation is rejected, and the others are not`() {
        let one = bench.open(.typing("c1"))
        let request = bench.lastID
        let two = bench.open(.typing("c2"))
        expect(subscribes(), equals: [.init(conversations: ["c2"])])
        bench.receive(.refusal(request, .forbidden))
        bench.receive(
            .subscribed(
                id: bench.lastID, users: [],
                conversations: [.init(conversation: "c2", version: 1, typing: ["bob"])], more: false))
        guard let error = bench.engine.nextTyping(one)?.problem else {
            Issue.record("not refused")
            return
        }
        expect(error.code, equals: .forbidden)
        expect(bench.engine.nextTyping(two)?.users, equals: ["bob"])
    }

    @Test mutating func `a rejected conversation is requested again on the next connection`() {
        let loop = bench.open(.typing("c1"))
        bench.receive(.refusal(bench.lastID, .forbidden))
        _ = bench.engine.nextTyping(loop)
        bench.handle(.reconnect)
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome()
        expect(subscribes(), equals: [.init(conversations: ["c1"])])
    }

    // MARK: Reconnecting

    @Test mutating func `after a reconnect all users are requested, with their known versions`() {
        _ = bench.open(.roster(["bob", "cy"]))
        bench.receive(.answer(bench.lastID, .online("bob", 3, name: "Bob"), .unknown("cy")))
        bench.receive(.event("bob", 8, .busy))
        bench.end(.lost(""))
        bench.pass(.milliseconds(250))
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome()
        expect(subscribes(), equals: [.init(users: ["bob", "cy"], known: ["bob": .init(presence: 8, profile: 3)])])
    }

    @Test mutating func `a user omitted from the reply is unchanged, and live again`() {
        let loop = bench.open(.presence("bob"))
        bench.receive(.answer(bench.lastID, .online("bob", 3, name: "Bob")))
        _ = bench.engine.nextPresence(loop)
        bench.end(.lost(""))
        expect(bench.engine.nextPresence(loop)?.freshness.isLive, equals: false)
        bench.pass(.milliseconds(250))
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome()
        expect(bench.engine.nextPresence(loop), equals: nil)
        bench.receive(.answer(bench.lastID))
        let bob = bench.engine.nextPresence(loop)
        expect(bob?.freshness, equals: .live)
        expect(bob?.version, equals: 3)
    }

    @Test mutating func `a subscription in flight when the connection breaks is made again`() {
        let loop = bench.open(.presence("bob"))
        bench.end(.lost(""))
        bench.pass(.milliseconds(250))
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome()
        expect(subscribes(), equals: [.init(users: ["bob"])])
        bench.receive(.answer(bench.lastID, .online("bob", 1)))
        expect(bench.engine.nextPresence(loop)?.freshness, equals: .live)
    }

    @Test mutating func `observing connects`() {
        bench = Bench()
        _ = bench.open(.presence("bob"))
        expect(bench.fetches, equals: 1)
    }
}
