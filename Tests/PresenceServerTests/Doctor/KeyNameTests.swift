import PresenceProtocol
import Testing

@testable import PresenceServer

@Suite struct KeyNameTests {
    @Test func `every key that a partition has is read back`() {
        let partitions = Partitions(count: 1_500)
        for index in [0, 17, 1_499] {
            let keys = partitions.keys(index)
            let id = UserID("a:b:users")!
            #expect(KeyName(keys.user(id)) == .user(id, partition: index))
            #expect(KeyName(keys.sessions(id)) == .sessions(id, partition: index))
            #expect(KeyName(keys.conversation(id)) == .conversation(id, partition: index))
            #expect(KeyName(keys.contacts(id)) == .contacts(id, partition: index))
            #expect(KeyName(keys.blocks(id)) == .blocks(id, partition: index))
            #expect(KeyName(keys.creations(id)) == .creations(id, partition: index))
            #expect(KeyName(keys.typing(id)) == .typing(id, partition: index))
            #expect(KeyName(keys.shards) == .shards(partition: index))
            #expect(KeyName(keys.floor) == .floor(partition: index))
            #expect(KeyName(keys.fenced("x1")) == .fenced(incarnation: "x1", partition: index))
            #expect(KeyName(keys.users(ofShard: "x1")) == .users(incarnation: "x1", partition: index))
        }
        #expect(KeyName(GlobalKeys.leases) == .global && KeyName(GlobalKeys.format) == .global)
    }

    @Test(arguments: [
        "", "user:bob", "{p1}:user:bob", "{p017}", "{p017}:", "{p017}:user", "{pxyz}:floor",
        "{p017}x:user:bob", "{p017}:floor:2", "{p017}:user:b b", "{p017}:shard::users", "{p017}:events",
    ])
    func `anything else is unknown`(key: String) {
        #expect(KeyName(key) == .unknown)
    }
}
