import Expectations
import Installation
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// How installations that share a Redis are separated.
@Suite struct KeySpaceTests {
    @Test func `without a prefix keys and channels keep their names`() {
        let keys = Partitions(count: 128).keys(17)
        expect(keys.user(UserID("bob")!), equals: "{p017}:user:bob")
        expect(keys.events, equals: "{p017}:events")
        expect(KeySpace().leases == "leases" && KeySpace().format == "presence:format")
    }

    @Test func `a prefix precedes every key and channel, a database only channels`() {
        let partitions = Partitions(count: 128, in: KeySpace(prefix: "staging", database: 2))
        let keys = partitions.keys(17)
        expect(keys.user(UserID("bob")!), equals: "staging:{p017}:user:bob")
        expect(keys.events, equals: "staging:@2:{p017}:events")
        expect(partitions.eventChannels[17], equals: keys.events)
        expect(partitions.space.leases == "staging:leases" && partitions.space.format == "staging:presence:format")
        expect(KeySpace(database: 2).keys.isEmpty && KeySpace(database: 2).channels == "@2:")
    }

    @Test func `with interests the partition's channel is the prefix of its users' and conversations' channels`() {
        let partitions = Partitions(count: 128, in: KeySpace(prefix: "staging", database: 2, hasInterests: true))
        let keys = partitions.keys(17)
        expect(keys.events == "staging:@2:{p017}:events:" && partitions.eventChannels[17] == keys.events)
        expect(keys.events(of: UserID("bob")!), equals: "staging:@2:{p017}:events:bob")
        expect(keys.offered, equals: "staging:@2:{p017}:offers")
        expect(partitions.space.subjects, equals: "staging:@2:{p*}:events:?*")
        expect(keys.user(UserID("bob")!), equals: "staging:{p017}:user:bob")
    }

    @Test func `the installation's format includes whether it has interests`() {
        let (off, on) = (KeySpace(), KeySpace(hasInterests: true))
        expect(Partitions(count: 4, in: off).format == "2 4" && Partitions(count: 4, in: on).format == "2 4 interests")
        for space in [off, on] {
            expect(Partitions(format: "2 4", in: space)?.space.hasInterests, equals: false)
            expect(Partitions(format: "2 4 interests", in: space)?.space.hasInterests, equals: true)
            for wrong in ["", "2", "1 4", "2 0", "2 4 ", "2 4 interest", "2 4 interests 2", "2 x"] {
                expect(Partitions(format: wrong, in: space) == nil, "\(wrong)")
            }
        }
    }

    @Test func `no channel belongs to two installations`() {
        let spaces = ["", "db1", "1", "canary", "staging"].flatMap { prefix in
            [0, 1, 11].map { KeySpace(prefix: prefix, database: $0) }
        }
        let channels = spaces.flatMap { Partitions(count: 4, in: $0).eventChannels }
        expect(Set(channels).count, equals: channels.count)
    }

    @Test func `in a cluster the prefix changes no partition's slot`() {
        let plain = Partitions(count: 128)
        let named = Partitions(count: 128, in: KeySpace(prefix: String(repeating: "z", count: 64)))
        for index in 0..<128 {
            expect(HashSlot.of(plain.keys(index).shards), equals: HashSlot.of(named.keys(index).shards))
            expect(HashSlot.of(plain.keys(index).shards), equals: HashSlot.of(named.keys(index).events))
        }
    }

    @Test(arguments: ["a", "A-1_b.c", "", String(repeating: "x", count: 64)])
    func `a valid prefix is accepted`(text: String) { expect(KeySpace.isPrefix(text)) }

    @Test(arguments: ["a:", "{a}", "a}", "@1", "a b", "a*", "é", "a\n", String(repeating: "x", count: 65)])
    func `an invalid prefix is rejected`(text: String) {
        expect(!KeySpace.isPrefix(text))
        var configuration = ServerConfiguration()
        configuration.redis.prefix = text
        let error = #expect(throws: InvalidConfiguration.self) { try configuration.validate() }
        expect(error?.key, equals: "redis.prefix")
    }
}
