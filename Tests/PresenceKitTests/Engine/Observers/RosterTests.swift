import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// The elements of a loop over many users.
@Suite struct RosterTests {
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

    @Test mutating func `a roster names the users that changed since the previous one`() {
        let loop = observe(.roster(["a", "b", "c"]), .online("a", 1), .online("b", 1), .unknown("c"))
        let first = bench.engine.nextRoster(loop)
        expect(first?.changed, equals: ["a", "b", "c"])
        expect(first?.people.map(\.user), equals: ["a", "b", "c"])
        expect(first?.online.map(\.user), equals: ["a", "b"])
        expect(first?.freshness, equals: .live)
        expect(bench.engine.nextRoster(loop), equals: nil)
        bench.receive(.event("a", 2, .busy))
        bench.receive(.event("c", 2), .event("a", 3, .offline), .event("c", 4, name: "C"))
        let second = bench.engine.nextRoster(loop)
        expect(second?.changed, equals: ["a", "c"])
        expect(second?["a"]?.isOnline, equals: false)
        expect(second?["c"]?.displayName, equals: "C")
        expect(second?["b"]?.isOnline, equals: true)
        expect(second?["d"], equals: nil)
    }

    @Test mutating func `earlier rosters of many users stay as they were`() {
        let users = (0..<1_000).map { "u\($0)" }
        let loop = bench.open(.roster(users))
        for id in [bench.lastID - 1, bench.lastID] where id > 1 {
            guard case .subscribe(let asked)? = bench.sent.first(where: { $0.id == id })?.body else { continue }
            bench.receive(.subscribed(id: id, users: asked.users.map { .unknown($0) }, conversations: [], more: false))
        }
        let first = bench.engine.nextRoster(loop)
        expect(first?.isComplete == true && first?.people.map(\.user) == users)
        var rosters: [Roster] = []
        for (version, place) in [0, 127, 128, 999, 128].enumerated() {
            bench.receive(.event(UserID(users[place])!, Int64(version + 1)))
            if let roster = bench.engine.nextRoster(loop) { rosters.append(roster) }
        }
        expect(rosters.map { $0.online.count }, equals: [1, 2, 3, 4, 4])
        expect(rosters.map(\.changed), equals: [["u0"], ["u127"], ["u128"], ["u999"], ["u128"]])
        expect(rosters[0]["u127"]?.isOnline == false && rosters[1]["u127"]?.isOnline == true)
        expect(first?.online.isEmpty, equals: true)
        expect(rosters.allSatisfy { $0.freshness == .live && $0.isComplete && $0.people.count == 1_000 })
        bench.end(.lost(""))
        let stale = bench.engine.nextRoster(loop)
        expect(stale?.freshness.staleSince != nil)
        expect(rosters[4].freshness, equals: .live)
    }

    @Test mutating func `an empty roster is complete at once`() {
        let loop = bench.open(.roster([]))
        expect(bench.engine.nextRoster(loop)?.isComplete, equals: true)
        expect(bench.engine.nextRoster(loop), equals: nil)
        expect(bench.sent.isEmpty)
    }

    @Test mutating func `a roster shows a malformed id as rejected, and the other users`() {
        let loop = observe(.roster(["a", "no id", "é"]), .online("a", 1))
        let roster = bench.engine.nextRoster(loop)
        expect(roster?.isComplete, equals: true)
        expect(roster?["a"]?.freshness, equals: .live)
        guard let error = roster?["no id"]?.problem else {
            Issue.record("not refused")
            return
        }
        expect(error.code, equals: .invalidID)
        expect(roster?.changed, equals: ["a", "no id", "é"])
        bench.receive(.event("a", 2))
        expect(bench.engine.nextRoster(loop)?.changed, equals: ["a"])
    }

    @Test mutating func `a lost connection changes the freshness of all users`() {
        let loop = observe(.roster(["a", "b"]), .online("a", 1), .online("b", 1))
        _ = bench.engine.nextRoster(loop)
        bench.end(.lost(""))
        let roster = bench.engine.nextRoster(loop)
        expect(roster?.changed, equals: ["a", "b"])
        expect(roster?.freshness.staleSince != nil)
        bench.pass(.milliseconds(250))
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome()
        bench.receive(.answer(bench.lastID, .online("a", 5), more: true))
        let half = bench.engine.nextRoster(loop)
        expect(half?.changed, equals: ["a"])
        expect(half?.freshness.staleSince != nil)
        bench.receive(.answer(bench.lastID))
        expect(bench.engine.nextRoster(loop)?.freshness, equals: .live)
    }
}
