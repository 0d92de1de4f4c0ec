import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer

/// The ends of sessions that a process keeps.
@Suite struct SessionEndsTests {
    private static func user(_ number: Int) -> UserID { UserID("u\(number)")! }

    @Test func `as many as allowed are kept, and one more drops the oldest quarter`() {
        let ends = SessionEnds(most: 8)
        for number in 1...8 { ends.record("\(number)", of: Self.user(number)) }
        for number in 1...8 { expect(ends.read(Self.user(number)).ends, equals: ["\(number)"]) }
        ends.record("again", of: Self.user(8))
        for number in 1...2 { expect(ends.read(Self.user(number)).ends.isEmpty) }
        expect(ends.read(Self.user(3)).ends == ["3"] && ends.read(Self.user(8)).ends == ["8", "again"])
    }

    @Test func `the newest twenty of a user are read, since the first shard was live`() {
        let ends = SessionEnds()
        expect(ends.read(Self.user(1)).since, equals: nil)
        ends.begin(at: 5)
        ends.begin(at: 7)
        for number in 1...21 { ends.record("\(number)", of: Self.user(1)) }
        let read = ends.read(Self.user(1))
        expect(read.ends == (2...21).map(String.init) && read.since == 5)
    }

    @Test func `a user with many ends displaces no other user's`() {
        let ends = SessionEnds(most: 30)
        ends.record("one", of: Self.user(1))
        for number in 1...1_000 { ends.record("\(number)", of: Self.user(2)) }
        expect(ends.read(Self.user(1)).ends == ["one"] && ends.read(Self.user(2)).ends.last == "1000")
    }

    @Test func `each close has its word`() {
        func how(_ code: UInt16, _ reason: String = "") -> String {
            Console.how(Closing(code: CloseCode(rawValue: code), reason: reason))
        }
        expect(how(1000) == "closed" && how(1005) == "closed" && how(1006) == "lost")
        expect(how(1001) == "left" && how(1001, "no answer to pings") == "silent")
        expect(
            how(4001) == "revoked" && how(4002) == "expired" && how(4004) == "replaced" && how(4006) == "disconnected")
        expect(
            how(1012) == "restarted" && how(4005) == "slow" && how(1008) == "refused" && Console.how(nil) == "refused")
    }
}
