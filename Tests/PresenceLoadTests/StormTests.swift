import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import presence_load

@Suite struct StormTests {
    private let start = Instant(nanoseconds: 1_000_000_000_000)

    @Test(arguments: [1012, 1013] as [UInt16])
    func `a client comes back exactly at the server's time`(code: UInt16) {
        var random = SeededRandom(seed: 1)
        var comeback = Comeback()
        let closing = Closing.closed(code: code, reason: #"{"reconnectAfter":4321}"#)
        expect(comeback.wait(after: closing, now: start, random: &random), equals: .milliseconds(4_321))
    }

    @Test func `without advice waits are drawn below a bound that doubles, within linger up to a quarter of it`() throws
    {
        var random = SeededRandom(seed: 1)
        let failures = [
            (0, 0.5), (1, 1), (2, 2), (3, 2.5), (4, 2.5), (12, 5), (13, 10), (14, 20), (15, 30), (90, 30.0),
        ]
        for failure in 0..<failures.count {
            var longest: Nanoseconds = 0
            for _ in 0..<300 {
                var comeback = Comeback()
                for (second, _) in failures[..<failure] {
                    _ = comeback.wait(after: .lost("gone"), now: start + .seconds(Double(second)), random: &random)
                }
                let now = start + .seconds(Double(failures[failure].0))
                longest = max(longest, try #require(comeback.wait(after: .lost("gone"), now: now, random: &random)))
            }
            let bound = failures[failure].1
            expect(longest <= .seconds(bound) && longest > .seconds(bound * 0.9))
        }
    }

    @Test func `a connection that lasted ends the counting of failures`() throws {
        var random = SeededRandom(seed: 1)
        var comeback = Comeback()
        for _ in 0..<20 { _ = comeback.wait(after: .refused("nobody"), now: start, random: &random) }
        comeback.connected(at: start, linger: 10_000)
        let wait = try #require(comeback.wait(after: .lost("gone"), now: start + .seconds(5), random: &random))
        expect(wait <= .milliseconds(500))
    }

    @Test(arguments: [1008, 4001, 4004, 4006] as [UInt16])
    func `a client that must not return stays away`(code: UInt16) {
        var random = SeededRandom(seed: 1)
        var comeback = Comeback()
        expect(comeback.wait(after: .closed(code: code, reason: ""), now: start, random: &random), equals: nil)
    }

    @Test func `screens are right when everyone is online and the bystanders' texts are the last ones`() {
        var screens = StormScreens(
            ring: Ring(total: 4, watching: 2), clients: NumberedUsers(prefix: "c"),
            bystanders: NumberedUsers(prefix: "b"), bystandersWatched: 1, bystanderCount: 2)
        expect(screens.wrong, equals: 8)
        expect(screens.subscription(of: 3).users.map(\.string), equals: ["c0", "c1", "b1"])
        func presence(_ version: Int64, _ status: PresenceStatus, _ text: String? = nil) -> Presence {
            Presence(version: version, status: status, text: text)
        }
        func snapshot(_ user: String, _ presence: Presence) -> UserSnapshot {
            UserSnapshot(user: UserID(user)!, presence: presence, profile: ProfileRegister.none)
        }
        screens.apply(snapshot("c0", presence(5, .online)), by: 3)
        screens.apply(snapshot("c1", presence(6, .offline)), by: 3)
        screens.apply(snapshot("b1", presence(7, .online, "change 9")), by: 3)
        expect(screens.wrong, equals: 7)
        expect(!screens.isRight(3, newest: [0, 9]))
        screens.apply(presence(4, .online), of: UserID("c1")!, by: 3)
        expect(screens.wrong, equals: 7, "an older event changes nothing")
        screens.apply(presence(8, .online), of: UserID("c1")!, by: 3)
        expect(screens.wrong, equals: 6)
        expect(screens.isRight(3, newest: [0, 9]))
        expect(!screens.isRight(3, newest: [0, 10]))
        expect(screens.subscription(of: 3).known[UserID("c1")!], equals: .init(presence: 8, profile: 0))
        expect(screens.subscription(of: 2).known.isEmpty)
    }

    @Test func `a metrics page is read by series, and a restart is known by a counter that fell`() {
        let page = """
            # HELP presence_deliveries_total events
            # TYPE presence_deliveries_total counter
            presence_deliveries_total 120
            presence_connections 7
            presence_batch_events_bucket{le="1"} 30

            """
        let before = ServerMetrics(page: page)
        expect(before["deliveries_total"], equals: 120)
        expect(before[#"batch_events_bucket{le="1"}"#], equals: 30)
        expect(before["nothing"], equals: 0)
        let fewer = ServerMetrics(page: page.replacing("connections 7", with: "connections 2"))
        expect(!fewer.isRestarted(since: before), "connections may end without a restart")
        let anew = ServerMetrics(page: page.replacing("deliveries_total 120", with: "deliveries_total 3"))
        expect(anew.isRestarted(since: before))
    }

    @Test(arguments: [("exit 0", 0), ("exit 3", 3), ("kill -KILL $$", 128 + 9)] as [(String, Int32)])
    func `the restart command reports its exit status`(command: String, expected: Int32) throws {
        let command = try RestartCommand(command)
        var status = command.status()
        while status == nil {
            sched_yield()
            status = command.status()
        }
        expect(status, equals: expected)
    }

    @Test(arguments: [["--clients", "1"], ["--watch", "0"], ["--bystanders", "1"], ["--calm", "-1"]])
    func `a bad flag is refused`(arguments: [String]) {
        let needed = ["--restart-command", "true", "--bystander-url", "ws://127.0.0.1:1"]
        #expect(throws: Never.self) { _ = try StormCommand.parse(needed) }
        #expect(throws: (any Error).self) { _ = try StormCommand.parse(needed + arguments) }
    }
}
