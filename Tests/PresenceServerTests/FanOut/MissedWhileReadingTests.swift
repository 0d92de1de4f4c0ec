import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Events that are missed while Redis' answer to a first read is on its way: the shard reads again all topics that it
/// knows, and this one is not among them yet.
@Suite struct MissedWhileReadingTests {
    @Test func `a user who is read while a slot moves is shown correctly`() throws {
        let world = try World(shards: 2)
        let shard = world.shards[0]
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        let watcher = try SimulatedClient("ana", in: world).connect(to: shard)
        try world.run(for: 100)
        shard.holdReplies(.commands, for: 400)
        watcher.send(.subscribe(.init(users: [UserID("bob")!])))
        try world.run(for: 100)
        shard.subscription.missesEvents = true
        bob.send(.status(.init(status: .busy)))
        try world.run(for: 100)
        shard.subscription.missesEvents = false
        let partition = shard.logic.partitions.index(of: UserID("bob")!)
        shard.input { $0.handle(.rerouted(partitions: [partition])) }
        try world.run(until: "bob is shown") { watcher.presences[UserID("bob")!] != nil }
        try world.run(for: 1_000)
        expect(watcher.status(of: "bob"), equals: .busy)
        expect(shard.logic.link.isLive)
    }
}
