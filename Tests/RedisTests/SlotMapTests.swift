import Expectations
import Testing

@testable import Redis

struct SlotMapTests {
    // As `CLUSTER KEYSLOT` answers.
    @Test(arguments: [
        ("foo", 12182), ("123456789", 12739), ("{user1000}.following", 3443), ("user1000", 3443), ("", 0),
        ("leases", 14949), ("{p017}:events", 14272), ("{}x{a}", 684), ("{a}x{b}", 15495), ("a{b", 13340),
        ("x}{y}", 12222),
    ])
    func `a key's slot is its tag's`(key: String, slot: Int) {
        expect(HashSlot.of(key), equals: slot)
    }

    private static let sayer = ClusterNode(host: "sayer", port: 1)

    private static func range(_ first: Int, _ last: Int, _ places: (String?, Int)...) -> RedisValue {
        .array(
            [.integer(Int64(first)), .integer(Int64(last))]
                + places.map { host, port in
                    .array([
                        host.map { .bytes(Array($0.utf8)) } ?? .null, .integer(Int64(port)), .bytes([]), .array([]),
                    ])
                })
    }

    @Test func `a map is read, and has the master of each slot`() throws {
        let answer = RedisValue.array([
            Self.range(0, 99, ("a", 1), ("r", 2)), Self.range(100, 16383, ("", 3)), Self.range(50, 50, ("a", 1)),
        ])
        let map = try #require(SlotMap(answer, from: Self.sayer))
        expect(map.isComplete)
        expect(map[0], equals: ClusterNode(host: "a", port: 1))
        // A node that does not know its own address is at the address that was asked.
        expect(map[16383], equals: ClusterNode(host: "sayer", port: 3))
        expect(map.masters.count, equals: 2)
        expect(map.nodes.contains(ClusterNode(host: "r", port: 2)))
    }

    @Test func `a map with a hole is not complete, and nothing else is a map`() {
        expect(SlotMap(.array([Self.range(0, 16382, ("a", 1))]), from: Self.sayer)?.isComplete, equals: false)
        for answer: RedisValue in [
            .array([]), .null, .integer(1), .array([Self.range(0, 16384, ("a", 1))]),
            .array([Self.range(5, 4, ("a", 1))]), .array([Self.range(0, 5)]), .array([Self.range(0, 5, ("a", 70_000))]),
        ] {
            expect(SlotMap(answer, from: Self.sayer), equals: nil)
        }
    }

    @Test func `a moving slot is distinguished from a replaced master`() throws {
        func map(_ ranges: RedisValue...) throws -> SlotMap { try #require(SlotMap(.array(ranges), from: Self.sayer)) }
        let before = try map(Self.range(0, 99, ("a", 1)), Self.range(100, 16383, ("b", 1)))
        let moved = try map(Self.range(0, 98, ("a", 1)), Self.range(99, 16383, ("b", 1)))
        let replaced = try map(Self.range(0, 99, ("r", 1)), Self.range(100, 16383, ("b", 1)))
        expect(!moved.hasLost(aMasterOf: before))
        expect(replaced.hasLost(aMasterOf: before))
    }

    @Test func `a redirection without a host stays on the same one`() {
        expect(ClusterNode(redirection: "10.0.0.1:7", from: Self.sayer), equals: ClusterNode(host: "10.0.0.1", port: 7))
        expect(ClusterNode(redirection: "::1:7", from: Self.sayer), equals: ClusterNode(host: "::1", port: 7))
        expect(ClusterNode(redirection: ":7", from: Self.sayer), equals: ClusterNode(host: "sayer", port: 7))
        expect(ClusterNode(redirection: "?:7", from: Self.sayer), equals: ClusterNode(host: "sayer", port: 7))
        expect(ClusterNode(redirection: "nonsense", from: Self.sayer), equals: nil)
    }
}
