import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// What loops get to see.
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

    // MARK: One person

    @Test mutating func `nothing is shown of whom nothing was heard`() {
        let loop = bench.open(.presence("bob"))
        #expect(bench.engine.nextPresence(loop) == nil)
    }

    @Test mutating func `the newest value wins`() {
        let loop = observe(.presence("bob"), .online("bob", 1))
        for version in 2...9 { bench.receive(.event("bob", Int64(version), .away)) }
        bench.receive(.event("bob", 10, .busy))
        #expect(bench.engine.nextPresence(loop)?.status == .busy)
        #expect(bench.engine.nextPresence(loop) == nil)
    }

    @Test mutating func `each loop has its own place`() {
        let slow = observe(.presence("bob"), .online("bob", 1))
        let fast = bench.open(.presence("bob"))
        #expect(bench.engine.nextPresence(fast)?.version == 1)
        bench.receive(.event("bob", 2))
        #expect(bench.woken == [slow, fast])
        #expect(bench.engine.nextPresence(fast)?.version == 2)
        #expect(bench.engine.nextPresence(slow)?.version == 2)
        #expect(bench.engine.nextPresence(fast) == nil)
        #expect(bench.engine.nextPresence(slow) == nil)
    }

    @Test mutating func `a change of the other register is no news`() {
        let presence = observe(.presence("bob"), .online("bob", 1, name: "Bob"))
        let profile = bench.open(.profile("bob"))
        let both = bench.open(.user("bob"))
        _ = bench.engine.nextPresence(presence)
        _ = bench.engine.nextProfile(profile)
        _ = bench.engine.nextPerson(both)
        bench.receive(.event("bob", 2, name: "Bobby"))
        #expect(bench.engine.nextPresence(presence) == nil)
        #expect(bench.engine.nextProfile(profile)?.displayName == "Bobby")
        #expect(bench.engine.nextPerson(both)?.displayName == "Bobby")
        bench.receive(.event("bob", 3, .busy))
        #expect(bench.engine.nextPresence(presence)?.status == .busy)
        #expect(bench.engine.nextProfile(profile) == nil)
        #expect(bench.engine.nextPerson(both)?.presence.status == .busy)
    }

    @Test mutating func `an older event wakes nobody`() {
        let loop = observe(.presence("bob"), .online("bob", 5))
        _ = bench.engine.nextPresence(loop)
        bench.receive(.event("bob", 5, .busy), .event("bob", 4, .offline))
        #expect(bench.woken.isEmpty)
        #expect(bench.engine.nextPresence(loop) == nil)
    }

    @Test mutating func `events about others are none of ours`() {
        let loop = observe(.presence("bob"), .online("bob", 1))
        _ = bench.engine.nextPresence(loop)
        bench.receive(.event("eve", 100), .event("eve", 100, name: "Eve"))
        #expect(bench.engine.watchlist.people.count == 1)
    }

    @Test mutating func `everything that the server says of a person is shown`() {
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
        #expect(bob?.presence.lastSeen == Date(timeIntervalSince1970: 1.5))
        #expect(bob?.presence.since == Date(timeIntervalSince1970: 2))
        #expect(bob?.isOnline == false)
        #expect(bob?.profile.photoURL == URL(string: "https://e.org/b.jpg"))
        #expect(bob?.profile.timezone == "Europe/Paris")
        #expect(bob?.profile.createdAt == Date(timeIntervalSince1970: 1))
        #expect(bob?.profile.version == 8)
    }

    @Test mutating func `a change knows how long it took, an answer does not`() {
        let loop = observe(.presence("bob"), .online("bob", 1))
        #expect(bench.engine.nextPresence(loop)?.changeLatency == nil)
        bench.now.uptime += .milliseconds(12)
        bench.now.wall += 0.012
        bench.receive(.event("bob", 2, at: 1_763_712_000_002))
        let latency = bench.engine.nextPresence(loop)?.changeLatency
        #expect(latency.map { abs(($0 - .milliseconds(10)).timeInterval) < 0.000_1 } == true)
    }

    @Test mutating func `the parts of an answer are shown as they come`() {
        let loop = bench.open(.roster(["a", "b"]))
        bench.receive(.answer(bench.lastID, .online("a", 1), more: true))
        let first = bench.engine.nextRoster(loop)
        #expect(first?.people.map(\.user) == ["a"])
        #expect(first?.isComplete == false)
        #expect(first?.people[0].freshness == .live)
        bench.receive(.answer(bench.lastID, .online("b", 1)))
        #expect(bench.engine.nextRoster(loop)?.isComplete == true)
    }

    // MARK: Stale and live

    @Test mutating func `a loss makes everything stale since it was last heard of`() {
        let loop = observe(.presence("bob"), .online("bob", 1))
        _ = bench.engine.nextPresence(loop)
        bench.pass(.seconds(7))
        bench.handle(.alive(bench.engine.link.attempt))
        let heard = bench.now.wall
        bench.pass(.seconds(3))
        bench.end(.lost(""))
        let bob = bench.engine.nextPresence(loop)
        #expect(bob?.status == .online)
        #expect(bob?.freshness.staleSince.map { abs($0.timeIntervalSince(heard)) < 0.001 } == true)
    }

    @Test mutating func `the time of staleness stays over failed attempts`() {
        let loop = observe(.presence("bob"), .online("bob", 1))
        bench.end(.lost(""))
        let since = bench.engine.nextPresence(loop)?.freshness
        bench.pass(.seconds(60))
        bench.handle(.opened(bench.engine.link.attempt))
        bench.end(.lost(""))
        #expect(bench.engine.nextPresence(loop) == nil)
        let later = bench.open(.presence("bob"))
        #expect(bench.engine.nextPresence(later)?.freshness == since)
    }

    @Test mutating func `the server's stale is everybody's, until it is live`() {
        let loop = observe(.presence("bob"), .online("bob", 1))
        _ = bench.engine.nextPresence(loop)
        bench.receive(.stale(since: 5_000))
        #expect(bench.engine.nextPresence(loop)?.freshness == .stale(since: Date(timestamp: 5_000)))
        bench.receive(.event("bob", 2, .busy))
        let bob = bench.engine.nextPresence(loop)
        #expect(bob?.status == .busy)
        #expect(bob?.freshness == .stale(since: Date(timestamp: 5_000)))
        bench.receive(.live)
        #expect(bench.engine.nextPresence(loop)?.freshness == .live)
    }

    @Test mutating func `who is asked for while the server is stale is stale too`() {
        bench.receive(.stale(since: 5_000))
        let loop = observe(.presence("bob"), .online("bob", 1))
        #expect(bench.engine.nextPresence(loop)?.freshness == .stale(since: Date(timestamp: 5_000)))
    }

    @Test mutating func `lost while the server was stale, it is stale since the server was`() {
        let loop = observe(.presence("bob"), .online("bob", 1))
        bench.receive(.stale(since: 5_000))
        bench.end(.lost(""))
        #expect(bench.engine.nextPresence(loop)?.freshness == .stale(since: Date(timestamp: 5_000)))
    }

    @Test mutating func `connected again, nobody is live before their own answer`() {
        let loop = observe(.presence("bob"), .online("bob", 1))
        bench.receive(.stale(since: 5_000))
        _ = bench.engine.nextPresence(loop)
        comeBack()
        bench.receive(.live)
        #expect(bench.engine.nextPresence(loop)?.freshness.isLive != true)
        bench.receive(.answer(bench.lastID))
        #expect(bench.engine.nextPresence(loop)?.freshness == .live)
    }

    // MARK: Rosters

    @Test mutating func `a roster names who changed since it was last looked at`() {
        let loop = observe(.roster(["a", "b", "c"]), .online("a", 1), .online("b", 1), .unknown("c"))
        let first = bench.engine.nextRoster(loop)
        #expect(first?.changed == ["a", "b", "c"])
        #expect(first?.people.map(\.user) == ["a", "b", "c"])
        #expect(first?.online.map(\.user) == ["a", "b"])
        #expect(first?.freshness == .live)
        #expect(bench.engine.nextRoster(loop) == nil)
        bench.receive(.event("a", 2, .busy))
        bench.receive(.event("c", 2), .event("a", 3, .offline), .event("c", 4, name: "C"))
        let second = bench.engine.nextRoster(loop)
        #expect(second?.changed == ["a", "c"])
        #expect(second?["a"]?.isOnline == false)
        #expect(second?["c"]?.displayName == "C")
        #expect(second?["b"]?.isOnline == true)
        #expect(second?["d"] == nil)
    }

    @Test mutating func `rosters of many are each as they were when they were given`() {
        let users = (0..<1_000).map { "u\($0)" }
        let loop = bench.open(.roster(users))
        for id in [bench.lastID - 1, bench.lastID] where id > 1 {
            guard case .subscribe(let asked)? = bench.sent.first(where: { $0.id == id })?.body else { continue }
            bench.receive(.subscribed(id: id, users: asked.users.map { .unknown($0) }, conversations: [], more: false))
        }
        let first = bench.engine.nextRoster(loop)
        #expect(first?.isComplete == true && first?.people.map(\.user) == users)
        var rosters: [Roster] = []
        for (version, place) in [0, 127, 128, 999, 128].enumerated() {
            bench.receive(.event(UserID(users[place])!, Int64(version + 1)))
            if let roster = bench.engine.nextRoster(loop) { rosters.append(roster) }
        }
        #expect(rosters.map { $0.online.count } == [1, 2, 3, 4, 4])
        #expect(rosters.map(\.changed) == [["u0"], ["u127"], ["u128"], ["u999"], ["u128"]])
        #expect(rosters[0]["u127"]?.isOnline == false && rosters[1]["u127"]?.isOnline == true)
        #expect(first?.online.isEmpty == true)
        #expect(rosters.allSatisfy { $0.freshness == .live && $0.isComplete && $0.people.count == 1_000 })
        bench.end(.lost(""))
        let stale = bench.engine.nextRoster(loop)
        #expect(stale?.freshness.staleSince != nil)
        #expect(rosters[4].freshness == .live)
    }

    @Test mutating func `an empty roster is complete at once`() {
        let loop = bench.open(.roster([]))
        #expect(bench.engine.nextRoster(loop)?.isComplete == true)
        #expect(bench.engine.nextRoster(loop) == nil)
        #expect(bench.sent.isEmpty)
    }

    @Test mutating func `a roster with what is no id shows it as refused and the rest as it is`() {
        let loop = observe(.roster(["a", "no id", "é"]), .online("a", 1))
        let roster = bench.engine.nextRoster(loop)
        #expect(roster?.isComplete == true)
        #expect(roster?["a"]?.freshness == .live)
        guard case .refused(let error) = roster?["no id"]?.freshness else {
            Issue.record("not refused")
            return
        }
        #expect(error.code == .invalidID)
        #expect(roster?.changed == ["a", "no id", "é"])
        bench.receive(.event("a", 2))
        #expect(bench.engine.nextRoster(loop)?.changed == ["a"])
    }

    @Test mutating func `a lost connection changes everybody's freshness`() {
        let loop = observe(.roster(["a", "b"]), .online("a", 1), .online("b", 1))
        _ = bench.engine.nextRoster(loop)
        bench.end(.lost(""))
        let roster = bench.engine.nextRoster(loop)
        #expect(roster?.changed == ["a", "b"])
        #expect(roster?.freshness.staleSince != nil)
        bench.pass(.milliseconds(250))
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome()
        bench.receive(.answer(bench.lastID, .online("a", 5), more: true))
        let half = bench.engine.nextRoster(loop)
        #expect(half?.changed == ["a"])
        #expect(half?.freshness.staleSince != nil)
        bench.receive(.answer(bench.lastID))
        #expect(bench.engine.nextRoster(loop)?.freshness == .live)
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

    @Test mutating func `the own user is left out`() {
        let loop = observeTyping(["ana", "bob"])
        #expect(bench.engine.nextTyping(loop)?.users == ["bob"])
        bench.receive(.typing(.init(conversation: "c1", version: 2, users: ["ana"], at: 1)))
        #expect(bench.engine.nextTyping(loop)?.isAnyone == false)
    }

    @Test mutating func `typing follows versions as people do`() {
        let loop = observeTyping(["bob"], version: 5)
        _ = bench.engine.nextTyping(loop)
        bench.receive(.typing(.init(conversation: "c1", version: 5, users: [])))
        #expect(bench.engine.nextTyping(loop) == nil)
        bench.receive(.typing(.init(conversation: "c1", version: 6, users: ["cy"], more: 3, at: 1_763_712_000_000)))
        let typing = bench.engine.nextTyping(loop)
        #expect(typing?.users == ["cy"])
        #expect(typing?.more == 3)
        #expect(typing?.arrival != nil)
        bench.receive(.typing(.init(conversation: "c2", version: 9, users: ["cy"])))
        #expect(bench.engine.watchlist.conversations.count == 1)
    }

    @Test mutating func `without a connection nobody is shown typing`() {
        let loop = observeTyping(["bob"])
        _ = bench.engine.nextTyping(loop)
        bench.end(.lost(""))
        let typing = bench.engine.nextTyping(loop)
        #expect(typing?.users == [])
        #expect(typing?.freshness.isLive == false)
    }

    @Test mutating func `typing is live again after a break`() {
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
        #expect(typing?.users == ["cy"])
        #expect(typing?.freshness == .live)
    }

    @Test mutating func `a conversation is left after the last loop`() {
        let loop = observeTyping(["bob"])
        bench.close(loop)
        bench.pass(.seconds(1))
        #expect(bench.bodies == [.unsubscribe(users: [], conversations: ["c1"])])
        #expect(bench.engine.watchlist.conversations.isEmpty)
    }

    // MARK: The own status

    @Test mutating func `the own status comes with the connection and with every change`() {
        let loop = bench.open(.ownStatus)
        #expect(bench.engine.nextOwnStatus(loop)?.status == .auto)
        bench.receive(.ownStatus(OwnStatus(status: .busy, text: "lunch", clearAt: 7_000)))
        let status = bench.engine.nextOwnStatus(loop)
        #expect(status?.status == .busy)
        #expect(status?.text == "lunch")
        #expect(status?.clearsAt == Date(timestamp: 7_000))
        #expect(status?.freshness == .live)
        bench.end(.lost(""))
        #expect(bench.engine.nextOwnStatus(loop)?.freshness.isLive == false)
        bench.pass(.milliseconds(250))
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome(status: nil)
        #expect(bench.engine.nextOwnStatus(loop) == nil)
        bench.receive(.ownStatus(OwnStatus(status: .invisible)))
        #expect(bench.engine.nextOwnStatus(loop)?.freshness == .live)
    }
}
