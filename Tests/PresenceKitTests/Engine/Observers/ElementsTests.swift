import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// The elements that loops get.
@Suite struct ElementsTests {
    private var bench = Bench()

    init() { bench.connect() }

    private mutating func observe(_ topic: Topic, _ snapshots: UserSnapshot...) -> ObserverID {
        let loop = bench.open(topic)
        bench.receive(.subscribed(id: bench.lastID, users: snapshots, conversations: [], more: false))
        return loop
    }

    private mutating func comeBack() {
        bench.handle(.reconnect)
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome()
    }

    // MARK: One user

    @Test mutating func `an unknown user yields no element`() {
        let loop = bench.open(.presence("bob"))
        expect(bench.engine.nextPresence(loop), equals: nil)
    }

    @Test mutating func `the newest value wins`() {
        let loop = observe(.presence("bob"), .online("bob", 1))
        for version in 2...9 { bench.receive(.event("bob", Int64(version), .away)) }
        bench.receive(.event("bob", 10, .busy))
        expect(bench.engine.nextPresence(loop)?.status, equals: .busy)
        expect(bench.engine.nextPresence(loop), equals: nil)
    }

    @Test mutating func `each loop has its own position`() {
        let slow = observe(.presence("bob"), .online("bob", 1))
        let fast = bench.open(.presence("bob"))
        expect(bench.engine.nextPresence(fast)?.version, equals: 1)
        bench.receive(.event("bob", 2))
        expect(bench.woken, equals: [slow, fast])
        expect(bench.engine.nextPresence(fast)?.version, equals: 2)
        expect(bench.engine.nextPresence(slow)?.version, equals: 2)
        expect(bench.engine.nextPresence(fast), equals: nil)
        expect(bench.engine.nextPresence(slow), equals: nil)
    }

    @Test mutating func `a change of the other register yields no element`() {
        let presence = observe(.presence("bob"), .online("bob", 1, name: "Bob"))
        let profile = bench.open(.profile("bob"))
        let both = bench.open(.user("bob"))
        _ = bench.engine.nextPresence(presence)
        _ = bench.engine.nextProfile(profile)
        _ = bench.engine.nextPerson(both)
        bench.receive(.event("bob", 2, name: "Bobby"))
        expect(bench.engine.nextPresence(presence), equals: nil)
        expect(bench.engine.nextProfile(profile)?.displayName, equals: "Bobby")
        expect(bench.engine.nextPerson(both)?.displayName, equals: "Bobby")
        bench.receive(.event("bob", 3, .busy))
        expect(bench.engine.nextPresence(presence)?.status, equals: .busy)
        expect(bench.engine.nextProfile(profile), equals: nil)
        expect(bench.engine.nextPerson(both)?.presence.status, equals: .busy)
    }

    @Test mutating func `an older event wakes no observer`() {
        let loop = observe(.presence("bob"), .online("bob", 5))
        _ = bench.engine.nextPresence(loop)
        bench.receive(.event("bob", 5, .busy), .event("bob", 4, .offline))
        expect(bench.woken.isEmpty)
        expect(bench.engine.nextPresence(loop), equals: nil)
    }

    @Test mutating func `events about other users are ignored`() {
        let loop = observe(.presence("bob"), .online("bob", 1))
        _ = bench.engine.nextPresence(loop)
        bench.receive(.event("eve", 100), .event("eve", 100, name: "Eve"))
        expect(bench.engine.watchlist.people.count, equals: 1)
    }

    @Test mutating func `all values that the server sends of a user are shown`() {
        let loop = observe(
            .user("bob"),
            UserSnapshot(
                user: "bob",
                presence: Presence(version: 7, status: .offline, since: 2_000, lastSeen: 1_500),
                profile: .profile(
                    Profile(
                        version: 8, displayName: "Bob", photoURL: "https://e.org/b.jpg", timezone: "Europe/Paris",
                        locale: "fr", createdAt: 1_000, updatedAt: 1_200))))
        let bob = bench.engine.nextPerson(loop)
        expect(bob?.presence.lastSeen, equals: Date(timeIntervalSince1970: 1.5))
        expect(bob?.presence.since, equals: Date(timeIntervalSince1970: 2))
        expect(bob?.isOnline, equals: false)
        expect(bob?.profile.photoURL, equals: URL(string: "https://e.org/b.jpg"))
        expect(bob?.profile.timezone, equals: "Europe/Paris")
        expect(bob?.profile.createdAt, equals: Date(timeIntervalSince1970: 1))
        expect(bob?.profile.version, equals: 8)
    }

    @Test mutating func `a change has a latency, a reply does not`() {
        let loop = observe(.presence("bob"), .online("bob", 1))
        expect(bench.engine.nextPresence(loop)?.changeLatency, equals: nil)
        bench.now.uptime += .milliseconds(12)
        bench.now.wall += 0.012
        bench.receive(.event("bob", 2, at: 1_763_712_000_002))
        let latency = bench.engine.nextPresence(loop)?.changeLatency
        expect(latency.map { abs(($0 - .milliseconds(10)).timeInterval) < 0.000_1 }, equals: true)
    }

    @Test mutating func `the parts of a reply are shown as they arrive`() {
        let loop = bench.open(.roster(["a", "b"]))
        bench.receive(.answer(bench.lastID, .online("a", 1), more: true))
        let first = bench.engine.nextRoster(loop)
        expect(first?.people.map(\.user), equals: ["a"])
        expect(first?.isComplete, equals: false)
        expect(first?.people[0].freshness, equals: .live)
        bench.receive(.answer(bench.lastID, .online("b", 1)))
        expect(bench.engine.nextRoster(loop)?.isComplete, equals: true)
    }

    // MARK: Stale and live

    @Test mutating func `a loss makes everything stale since the last sign of life`() {
        let loop = observe(.presence("bob"), .online("bob", 1))
        _ = bench.engine.nextPresence(loop)
        bench.pass(.seconds(7))
        bench.handle(.alive(bench.engine.link.attempt))
        let heard = bench.now.wall
        bench.pass(.seconds(3))
        bench.end(.lost(""))
        let bob = bench.engine.nextPresence(loop)
        expect(bob?.status, equals: .online)
        expect(bob?.freshness.staleSince.map { abs($0.timeIntervalSince(heard)) < 0.001 }, equals: true)
    }

    @Test mutating func `failed attempts do not change the time of staleness`() {
        let loop = observe(.presence("bob"), .online("bob", 1))
        bench.end(.lost(""))
        let since = bench.engine.nextPresence(loop)?.freshness
        bench.pass(.seconds(60))
        bench.handle(.opened(bench.engine.link.attempt))
        bench.end(.lost(""))
        expect(bench.engine.nextPresence(loop), equals: nil)
        let later = bench.open(.presence("bob"))
        expect(bench.engine.nextPresence(later)?.freshness, equals: since)
    }

    @Test mutating func `a stale server makes all values stale, until it is live`() {
        let loop = observe(.presence("bob"), .online("bob", 1))
        _ = bench.engine.nextPresence(loop)
        bench.receive(.stale(since: 5_000))
        expect(bench.engine.nextPresence(loop)?.freshness, equals: .stale(since: Date(timestamp: 5_000)))
        bench.receive(.event("bob", 2, .busy))
        let bob = bench.engine.nextPresence(loop)
        expect(bob?.status, equals: .busy)
        expect(bob?.freshness, equals: .stale(since: Date(timestamp: 5_000)))
        bench.receive(.live)
        expect(bench.engine.nextPresence(loop)?.freshness, equals: .live)
    }

    @Test mutating func `a user who is requested from a stale server is stale too`() {
        bench.receive(.stale(since: 5_000))
        let loop = observe(.presence("bob"), .online("bob", 1))
        expect(bench.engine.nextPresence(loop)?.freshness, equals: .stale(since: Date(timestamp: 5_000)))
    }

    @Test mutating func `a loss while the server is stale keeps the server's time`() {
        let loop = observe(.presence("bob"), .online("bob", 1))
        bench.receive(.stale(since: 5_000))
        bench.end(.lost(""))
        expect(bench.engine.nextPresence(loop)?.freshness, equals: .stale(since: Date(timestamp: 5_000)))
    }

    @Test mutating func `after a reconnect, no user is live before their own reply`() {
        let loop = observe(.presence("bob"), .online("bob", 1))
        bench.receive(.stale(since: 5_000))
        _ = bench.engine.nextPresence(loop)
        comeBack()
        bench.receive(.live)
        expect(bench.engine.nextPresence(loop)?.freshness.isLive != true)
        bench.receive(.answer(bench.lastID))
        expect(bench.engine.nextPresence(loop)?.freshness, equals: .live)
    }

    // MARK: Typing

    private mutating func observeTyping(_ users: [UserID], version: Int64 = 1) -> ObserverID {
        let loop = bench.open(.typing("c1"))
        bench.receive(
            .subscribed(
                id: bench.lastID, users: [],
                conversations: [.init(conversation: "c1", version: version, typing: users)], more: false))
        return loop
    }

    @Test mutating func `the signed-in user is excluded`() {
        let loop = observeTyping(["ana", "bob"])
        expect(bench.engine.nextTyping(loop)?.users, equals: ["bob"])
        bench.receive(.typing(.init(conversation: "c1", version: 2, users: ["ana"], at: 1)))
        expect(bench.engine.nextTyping(loop)?.isAnyone, equals: false)
    }

    @Test mutating func `typing follows versions as users do`() {
        let loop = observeTyping(["bob"], version: 5)
        _ = bench.engine.nextTyping(loop)
        bench.receive(.typing(.init(conversation: "c1", version: 5, users: [])))
        expect(bench.engine.nextTyping(loop), equals: nil)
        bench.receive(.typing(.init(conversation: "c1", version: 6, users: ["cy"], more: 3, at: 1_763_712_000_000)))
        let typing = bench.engine.nextTyping(loop)
        expect(typing?.users, equals: ["cy"])
        expect(typing?.othersCount, equals: 3)
        expect(typing?.arrival != nil)
        bench.receive(.typing(.init(conversation: "c2", version: 9, users: ["cy"])))
        expect(bench.engine.watchlist.conversations.count, equals: 1)
    }

    @Test mutating func `without a connection typing is empty`() {
        let loop = observeTyping(["bob"])
        _ = bench.engine.nextTyping(loop)
        bench.end(.lost(""))
        let typing = bench.engine.nextTyping(loop)
        expect(typing?.users, equals: [])
        expect(typing?.freshness.isLive, equals: false)
    }

    @Test mutating func `typing is live again after a reconnect`() {
        let loop = observeTyping(["bob"])
        bench.end(.lost(""))
        bench.pass(.milliseconds(250))
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome()
        bench.receive(
            .subscribed(
                id: bench.lastID, users: [],
                conversations: [.init(conversation: "c1", version: 2, typing: ["cy"])], more: false))
        let typing = bench.engine.nextTyping(loop)
        expect(typing?.users, equals: ["cy"])
        expect(typing?.freshness, equals: .live)
    }

    @Test mutating func `a conversation is unsubscribed after the last loop`() {
        let loop = observeTyping(["bob"])
        bench.close(loop)
        bench.pass(.seconds(1))
        expect(bench.bodies, equals: [.unsubscribe(users: [], conversations: ["c1"])])
        expect(bench.engine.watchlist.conversations.isEmpty)
    }

    // MARK: The user's own status

    @Test mutating func `the user's status arrives with the connection and with every change`() {
        let loop = bench.open(.ownStatus)
        expect(bench.engine.nextOwnStatus(loop)?.status, equals: .auto)
        bench.receive(.ownStatus(OwnStatus(status: .busy, text: "lunch", clearAt: 7_000)))
        let status = bench.engine.nextOwnStatus(loop)
        expect(status?.status, equals: .busy)
        expect(status?.text, equals: "lunch")
        expect(status?.clearsAt, equals: Date(timestamp: 7_000))
        expect(status?.freshness, equals: .live)
        bench.end(.lost(""))
        expect(bench.engine.nextOwnStatus(loop)?.freshness.isLive, equals: false)
        bench.pass(.milliseconds(250))
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome(status: nil)
        expect(bench.engine.nextOwnStatus(loop), equals: nil)
        bench.receive(.ownStatus(OwnStatus(status: .invisible)))
        expect(bench.engine.nextOwnStatus(loop)?.freshness, equals: .live)
    }
}
