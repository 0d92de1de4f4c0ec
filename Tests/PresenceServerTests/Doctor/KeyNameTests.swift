import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

@Suite struct KeyNameTests {
    private let families = Features.all.flatMap { $0.plan.keys }

    @Test(arguments: ["", "staging", "p-1.x_y"])
    func `every key of a partition can be parsed, and no key of other installations`(prefix: String) {
        let space = KeySpace(prefix: prefix, database: 3)
        let partitions = Partitions(count: 1_500, in: space)
        let others = ["", "other", "staging", "p"].filter { $0 != prefix }.map { KeySpace(prefix: $0) }
        func check(_ key: String, _ name: KeyName) {
            expect(KeyName(key, in: space, families), equals: name)
            for other in others { expect(KeyName(key, in: other, families), equals: .unknown) }
        }
        for index in [0, 17, 1_499] {
            let keys = partitions.keys(index)
            let id = UserID("a:b:users")!
            check(keys.user(id), .user(id, partition: index))
            check(keys.sessions(id), .sessions(id, partition: index))
            check(keys.conversation(id), .conversation(id, partition: index))
            check(keys.contacts(id), .contacts(id, partition: index))
            check(keys.blocks(id), .blocks(id, partition: index))
            for family in families where !family.isOfPartition {
                check(keys.key(family, id), .family(family, id, partition: index))
            }
            expect(keys.creations(id), equals: keys.key(families.first { $0.name == "creations" }!, id))
            expect(keys.typing(id), equals: keys.key(families.first { $0.name == "typing" }!, id))
            check(keys.shards, .shards(partition: index))
            check(keys.floor, .floor(partition: index))
            check(keys.unfinished, .unfinished(partition: index))
            check(keys.fenced("x1"), .fenced(incarnation: "x1", partition: index))
            check(keys.users(ofShard: "x1"), .users(incarnation: "x1", partition: index))
        }
        check(space.leases, .global)
        check(space.format, .global)
    }

    @Test(arguments: [
        "", "user:bob", "{p1}:user:bob", "{p017}", "{p017}:", "{p017}:user", "{pxyz}:floor",
        "{p017}x:user:bob", "{p017}:floor:2", "{p017}:user:b b", "{p017}:shard::users", "{p017}:events",
    ])
    func `any other key is unknown`(key: String) {
        expect(KeyName(key, in: KeySpace(), families), equals: .unknown)
    }
}
