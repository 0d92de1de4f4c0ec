import Expectations
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// An unreadable record makes no other user stale: after a break the shard becomes live, whatever a feature has to
/// read.
@Suite struct DamagedRecordTests {
    private func reconnect(_ shard: SimulatedShard, in world: World) throws {
        shard.cut(.commands)
        try world.run(until: "the break is noticed") { !shard.logic.link.isLive }
        try world.run(until: "the shard is live", within: 30_000) { shard.logic.link.isLive }
        let incarnation = shard.logic.link.incarnation
        try world.run(for: 60_000)
        expect(shard.logic.link.isLive && shard.logic.link.incarnation == incarnation)
        expect(shard.logic.metrics.damagedRecords > 0)
    }

    private func subscribe(_ client: SimulatedClient, to what: String, _ id: Int, in world: World) throws -> String {
        client.sendText(#"{"type":"subscribe","id":\#(id),"\#(what)":true}"#)
        var answer: String?
        try world.run(until: "an answer about \(what)") {
            answer = client.texts.last { $0.contains(#""id":\#(id)"#) }
            return answer != nil
        }
        return answer!
    }

    @Test func `an inbox: its user can reconnect, and gets errors until it is repaired`() throws {
        let world = try World(shards: 1)
        let shard = world.shards[0]
        let ana = try SimulatedClient("ana", in: world).connect(to: shard)
        let bob = try SimulatedClient("bob", in: world).connect(to: shard)
        try expect(subscribe(ana, to: "conversationList", 90, in: world).contains("subscribed"))
        try expect(subscribe(bob, to: "conversationList", 90, in: world).contains("subscribed"))
        let inbox = shard.logic.partitions.keys(of: UserID("ana")!).inbox(UserID("ana")!)
        _ = try world.redis.command(["SET", inbox, "x"]).get()
        try reconnect(shard, in: world)
        expect(ana.closeCode == .tooSlow && bob.isConnected)
        try ana.connect(to: shard)
        try expect(subscribe(ana, to: "conversationList", 91, in: world).contains("internal"))
        _ = try world.redis.command(["DEL", inbox]).get()
        try expect(subscribe(ana, to: "conversationList", 92, in: world).contains("subscribed"))
    }

    @Test(arguments: ["of another type", "with an index that is none"])
    func `notifications: their user gets them once they are repaired`(damage: String) throws {
        let world = try World(shards: 1)
        let shard = world.shards[0]
        let user = UserID("ana")!
        let ana = try SimulatedClient("ana", in: world).connect(to: shard)
        try expect(subscribe(ana, to: "notifications", 90, in: world).contains("subscribed"))
        let keys = shard.logic.partitions.keys(of: user)
        let isIndex = damage == "with an index that is none"
        _ = try world.redis.command(
            isIndex ? ["HSET", keys.notifications(user), "index", "xyz"] : ["SET", keys.notifications(user), "x"]
        ).get()
        try reconnect(shard, in: world)
        expect(ana.isConnected)
        _ = try world.redis.command(["DEL", keys.notifications(user)]).get()
        let before = ana.texts.count
        try world.run(until: "ana is told", within: 61_000) {
            ana.texts[before...].contains { $0.contains(#""unseen":0"#) }
        }
    }

    @Test func `an account: its owner gets no event about it`() throws {
        let accounts = try AccountWorld()
        let (world, shard) = (accounts.world, accounts.world.shards[0])
        try SimulatedClient("ana", in: world).connect(to: shard)
        world.redis.refuse = { script, _ in
            script == .account ? .server(code: "WRONGTYPE", message: "WRONGTYPE no hash") : nil
        }
        try reconnect(shard, in: world)
    }

    @Test(arguments: ["pairKey", "addressKey"])
    func `a key of the installation: servers that have read it keep working, new ones do all else`(key: String) throws {
        let accounts = try AccountWorld()
        let (world, shard) = (accounts.world, accounts.world.shards[0])
        let space = shard.logic.partitions.space
        let name = key == "pairKey" ? space.pairKey : space.addressKey
        _ = try world.redis.command(["DEL", name]).get()
        _ = try world.redis.command(["RPUSH", name, "x"]).get()
        shard.cut(.commands)
        try world.run(until: "the break is noticed") { !shard.logic.link.isLive }
        try world.run(until: "the shard is live", within: 30_000) { shard.logic.link.isLive }
        try expect(isMade(at: shard, in: world))
        let later = try world.addShard()
        try world.run(until: "the later shard is live", within: 30_000) { later.logic.link.isLive }
        try expect(isMade(at: later, in: world), equals: key == "addressKey")
        expect(later.logic.feature(Accounts.self)?.logins == nil, equals: key == "addressKey")
    }

    /// Whether a direct conversation can be created at a shard.
    private func isMade(at shard: SimulatedShard, in world: World) throws -> Bool {
        let ana = try SimulatedClient("ana", in: world).connect(to: shard)
        let asked = ana.send(.createConversation(participants: [UserID("bob")!]))
        var isMade = false
        try world.run(until: "ana is answered") {
            ana.received.contains {
                switch $0 {
                case .conversationCreated(let id, _):
                    isMade = id == asked
                    return isMade
                case .error(let error): return error.id == asked
                default: return false
                }
            }
        }
        return isMade
    }
}
