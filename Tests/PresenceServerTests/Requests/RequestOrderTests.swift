import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Requests of one connection take effect in the order in which they were sent.
@Suite struct RequestOrderTests {
    @Test func `pipelined requests of one connection are carried out in order`() async throws {
        let sum = try await DrawnHistories<OrderHistory>(count: 80).run()
        print(sum)
        expect(sum.faults.isEmpty, "\(sum.faults.joined(separator: "\n"))")
        expect(sum["requests"] > 500)
    }

    @Test func `a lane that does not keep the order is detected by the same histories`() async throws {
        let found = try await onThread {
            let redis = try SimulatedRedis()
            return try (1...20).contains { seed in
                do {
                    try OrderHistory(seed: UInt64(seed), on: redis, isOpen: true).play()
                    return false
                } catch is HistoryFault {
                    return true
                }
            }
        }
        expect(found)
    }

    private func group(_ ana: SimulatedClient, in world: World) throws -> ConversationID {
        ana.sendText(#"{"type":"createConversation","id":90,"participants":["bob","cy"],"name":"Trip"}"#)
        var made: ConversationID?
        try world.run(until: "there is a group") {
            for case .conversationCreated(_, let talk) in ana.received { made = talk.id }
            return made != nil
        }
        return made!
    }

    private func send(_ id: ConversationID, _ name: String, _ number: Int) -> String {
        #"{"type":"send","id":\#(number),"conversation":"\#(id)","message":{"id":"\#(name)","text":"\#(name)"}}"#
    }

    private func log(of id: ConversationID, in world: World) throws -> Int64? {
        try world.redis.command(["LLEN", world.shards[0].logic.partitions.keys(of: id).log(id)]).get().int
    }

    @Test func `requests waiting on a connection are dropped when it ends`() throws {
        let world = try World(shards: 1)
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let id = try group(ana, in: world)
        world.shards[0].hold(.commands, for: 500)
        for number in 0..<5 { ana.sendText(send(id, "m\(number)", 100 + number)) }
        ana.lost()
        try world.run(for: 5_000)
        try expect(log(of: id, in: world), equals: 1)
        expect(world.shards[0].inboxBytes, equals: 0)
    }

    @Test func `requests after a failed one are carried out`() throws {
        let world = try World(shards: 1)
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let id = try group(ana, in: world)
        world.shards[0].hold(.commands, for: 500)
        for number in 0..<5 { ana.sendText(send(id, "m\(number)", 100 + number)) }
        try world.run(for: 10)
        world.shards[0].cut(.commands)
        try world.run(until: "all are answered", within: 5_000) {
            (100..<105).allSatisfy { number in ana.texts.contains { $0.contains("\"id\":\(number)") } }
        }
        try world.run(for: 10_000)
        ana.sendText(send(id, "after", 200))
        try world.run(until: "it is sent") { ana.texts.contains { $0.contains("\"sent\",\"id\":200") } }
        expect(world.shards[0].inboxBytes, equals: 0)
    }

    /// The first server's connection to Redis is slow; the device reconnects on the second one.
    @Test func `late writes of a replaced session change nothing`() throws {
        let world = try World(shards: 2)
        let old = try SimulatedClient("ana", in: world).connect(to: world.shards[0], device: "phone")
        let id = try group(old, in: world)
        world.shards[0].hold(.commands, for: 3_000)
        world.shards[0].holdEvents(for: 3_000)
        old.send(.updateProfile(.init(displayName: .set("Old"))))
        old.send(.setVisibility(.init(presence: .everyone)))
        old.lost()
        let other = try SimulatedClient("ana", in: world).connect(to: world.shards[0], device: "tablet")
        other.close(code: 1000)
        let new = try SimulatedClient("ana", in: world).connect(to: world.shards[1], device: "phone")
        new.send(.updateProfile(.init(displayName: .set("New"))))
        new.send(.setVisibility(.init(presence: .nobody)))
        new.send(.status(.init(status: .invisible)))
        try world.run(for: 500)
        expect(new.received.count { if case .ok = $0 { true } else { false } } >= 2)
        let late = try SimulatedClient("ana", in: world).connect(to: world.shards[1], device: "web")
        _ = id
        try world.run(for: 10_000)
        late.send(.get(users: [UserID("ana")!]))
        try world.run(for: 100)
        guard
            case .users(_, let users, _)? = late.received.last(where: { if case .users = $0 { true } else { false } }),
            case .profile(let profile)? = users.first?.profile
        else { Issue.record("no answer"); return }
        expect(profile.displayName, equals: "New")
        expect(world.shards[1].logic.policies[UserID("ana")!]?.head.visibility.presence, equals: .nobody)
    }

    @Test func `messages received during a pause of the loop are dropped if their client has left`() throws {
        let world = try World(shards: 2)
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        let cy = try SimulatedClient("cy", in: world).connect(to: world.shards[1]).watch("ana", "bob")
        world.shards[0].stop()
        for client in [ana, bob] { client.send(.updateProfile(.init(displayName: .set("Late")))) }
        ana.lost()
        try world.run(for: 2_000)
        world.shards[0].wakeUp()
        try world.run(for: 5_000)
        // A client that is still connected is only delayed.
        guard case .profile(let shown)? = cy.profiles[UserID("bob")!] else { Issue.record("no profile"); return }
        expect(shown.displayName, equals: "Late")
        expect(cy.profiles[UserID("ana")!]?.version ?? 0 == 0)
    }

    @Test func `one member's flood of changes leaves room for others`() throws {
        let world = try World(shards: 1)
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let id = try group(ana, in: world)
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        let flood = try (0..<40).map { _ in try SimulatedClient("ana", in: world).connect(to: world.shards[0]) }
        for (number, client) in flood.enumerated() {
            client.sendText(
                #"{"type":"changeMembers","id":7,"conversation":"\#(id)","add":["person-\#(number % 4)"]}"#)
        }
        bob.sendText(#"{"type":"changeMembers","id":7,"conversation":"\#(id)","add":["dan"]}"#)
        try world.run(until: "all are answered") {
            (flood + [bob]).allSatisfy { $0.texts.contains { $0.contains("\"id\":7") } }
        }
        expect(flood.contains { $0.texts.contains { $0.contains("unavailable") } })
        expect(bob.texts.contains(#"{"type":"ok","id":7}"#))
    }
}
