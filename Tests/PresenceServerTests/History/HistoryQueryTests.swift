import Expectations
import PresenceProtocol
import Testing

@testable import PresenceServer

@Suite struct HistoryQueryTests {
    private let intervals: [PastInterval] = (0..<5).map { (place: Int64) -> PastInterval in
        let end: Timestamp? = place == 4 ? nil : place * 100 + 50
        return PastInterval(status: "online", from: place * 100, to: end)
    }

    @Test(
        arguments: [
            ("", 0...4, false), ("from=150", 2...4, false), ("from=149", 1...4, false), ("to=200", 0...1, false),
            ("to=201", 0...2, false), ("limit=2", 3...4, true), ("limit=5", 0...4, false),
            ("limit=1&to=101", 1...1, true),
        ] as [(String, ClosedRange<Int>, Bool)])
    func `a query selects the intervals that overlap its time, and its limit keeps the newest`(
        text: String, places: ClosedRange<Int>, more: Bool
    ) throws {
        let page = try HistoryQuery(text).page(of: intervals, keptFrom: 0)
        expect(page.page, equals: Array(intervals[places]))
        expect(page.more, equals: more)
    }

    @Test func `intervals that are too old are left out, a current one never is`() throws {
        try expect(HistoryQuery("").page(of: intervals, keptFrom: 1_000).page, equals: [intervals[4]])
        try expect(HistoryQuery("").page(of: intervals, keptFrom: 249).page, equals: Array(intervals[2...]))
    }

    @Test(arguments: ["from=x", "from", "to=-1", "limit=0", "limit=1001", "viewer=a%20b", "viewer=%4", "from=5&to=4"])
    func `a malformed query is rejected`(text: String) {
        #expect(throws: DecodingFailure.self) { try HistoryQuery(text) }
    }

    @Test func `a viewer may be percent-encoded`() throws {
        try expect(HistoryQuery("viewer=a%2Fb&x=y").viewer, equals: UserID("a/b"))
    }

    @Test func `an interval can be decoded, and other bytes are rejected`() {
        let bytes: [UInt8] = [0x61, 0x01, 0x9a, 0xaa, 0x00, 0x00, 0x01, 0, 0, 0, 0, 1, 2]
        let from: Int64 = 0x019a_aa00_0001
        expect(PastInterval(packed: bytes), equals: PastInterval(status: "away", from: from, to: from + 258))
        expect(PastInterval(packed: Array(bytes.dropLast())), equals: nil)
        expect(PastInterval(packed: [0x78] + bytes.dropFirst()), equals: nil)
    }
}
