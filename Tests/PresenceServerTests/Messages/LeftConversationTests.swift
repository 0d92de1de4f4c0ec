import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// An inbox keeps a limited number of left conversations, and no user continues to see one that they left.
@Suite struct LeftConversationTests {
    private let world: World
    private let bob = UserID("bob")!

    init() throws { world = try World(shards: 2) }

    private var keys: PartitionKeys { world.shards[0].logic.partitions.keys(of: bob) }

    private func enroll(_ id: String, _ state: String, _ version: Timestamp) throws {
        let answer = world.redis.run(
            .enroll,
            keys: [
                keys.shards, keys.floor, keys.unfinished, keys.inbox(bob), keys.user(bob), keys.pushed(bob),
                keys.contacts(bob),
            ],
            arguments: [
                String(world.redisNow), keys.events, world.shards[0].logic.link.incarnation, "joining \(id)", id, state,
                String(version), "2000",
            ])
        try expect(answer.get().array?.first?.string, equals: "OK")
    }

    private func inbox() throws -> [String: String] {
        let words = try world.redis.command(["HGETALL", keys.inbox(bob)]).get().array?.compactMap(\.string) ?? []
        return Dictionary(
            uniqueKeysWithValues: stride(from: 0, to: words.count - 1, by: 2).map { (words[$0], words[$0 + 1]) })
    }

    @Test func `conversations left long ago are dropped if there are many`() throws {
        let began = world.redisNow
        for number in 0..<20 { try enroll("stays\(number)", "in", began) }
        for number in 0..<500 { try enroll("c\(number)", "out", began + Timestamp(number)) }
        try expect(inbox().count, equals: 520)
        // An earlier step that arrives late finds the later state.
        try enroll("new", "out", began + 500)
        try enroll("new", "in", began + 499)
        try expect(inbox()["new"] == "out \(began + 500)" && inbox()["c0"] == "out \(began)")
        world.redisEpoch += 3_700_000
        try enroll("last", "out", world.redisNow)
        let left = try inbox()
        expect(left.values.filter { $0.hasPrefix("in ") }.count, equals: 20)
        expect(left.values.filter { $0.hasPrefix("out ") }.count, equals: 400)
        expect(left["last"] != nil && left["new"] != nil && left["c102"] != nil)
        expect(left["c101"] == nil && left[" dropped"] == String(began + 101))
    }

    @Test func `conversations left within the hour are kept, however many`() throws {
        for number in 0..<700 { try enroll("c\(number)", "out", world.redisNow) }
        try expect(inbox().values.filter { $0.hasPrefix("out ") }.count, equals: 700)
    }

    private func watchList() throws -> SimulatedClient {
        let client = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        client.sendText(#"{"type":"subscribe","id":90,"conversationList":true}"#)
        try world.run(for: 1_000)
        return client
    }

    @Test(arguments: [true, false])
    func `after a break only a watcher that may have missed dropped conversations is closed`(isSince: Bool) throws {
        let client = try watchList()
        world.shards[1].cutAll()
        let dropped = world.redisNow + (isSince ? 0 : -600_000)
        _ = world.redis.command(["HSET", keys.inbox(bob), " dropped", String(dropped)])
        try world.run(until: "live again") { world.shards[1].logic.link.isLive }
        try world.run(for: 1_000)
        expect(client.closeCode, equals: isSince ? .tooSlow : nil)
    }

    @Test func `a removed user who missed the event gets it after a break, even if the inbox was not updated`() throws {
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        ana.send(.createConversation(participants: [bob, UserID("cy")!]))
        try world.run(for: 500)
        let id = try #require(
            ana.received.compactMap { if case .conversationCreated(_, let made) = $0 { made.id } else { nil } }.first)
        let client = try watchList()
        world.redis.refuse = { script, _ in
            script == .enroll ? .server(code: "MISCONF", message: "MISCONF no disk") : nil
        }
        world.shards[1].subscription.missesEvents = true
        ana.sendText(#"{"type":"changeMembers","id":91,"conversation":"\#(id.string)","remove":["bob"]}"#)
        try world.run(for: 500)
        try expect(inbox()[id.string]?.hasPrefix("in "), equals: true)
        world.shards[1].subscription.missesEvents = false
        world.shards[1].cutSubscription()
        try world.run(until: "live again") { world.shards[1].logic.link.isLive }
        try world.run(for: 1_000)
        expect(client.texts.contains { $0.contains(#""removed":true"#) && $0.contains(id.string) })
        expect(!client.isStale && client.isConnected)
    }

    /// Several versions within one ms are ahead of the clock.
    @Test func `a user who leaves is notified, however many private changes came before`() throws {
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        ana.send(.createConversation(participants: [bob, UserID("cy")!]))
        try world.run(for: 500)
        let id = try #require(
            ana.received.compactMap { if case .conversationCreated(_, let made) = $0 { made.id } else { nil } }.first)
        let client = try watchList()
        let keys = world.shards[0].logic.partitions.keys(of: id)
        let head = [String(world.redisNow), keys.events, world.shards[0].logic.link.incarnation]
        for muted in ["-1", "0", "-1", "0"] {
            let set = world.redis.run(
                .settings, keys: [keys.shards, keys.floor, keys.conversation(id)],
                arguments: head + [id.string, "bob", muted, ""])
            try expect(set.get().array?.first?.string, equals: "OK")
        }
        let left = world.redis.run(
            .members,
            keys: [keys.shards, keys.floor] + keys.whole(id).map(\.value),
            arguments: head + ["joining \(id)", id.string, "bob", "10", "-", "bob"])
        try expect(left.get().array?.first?.string, equals: "OK")
        try world.run(for: 15_000)
        var list = TalkList()
        for text in client.texts {
            let message = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
            for told in message?["conversationList"] as? [[String: Any]] ?? [] { expect(list.apply(told), equals: nil) }
            if let told = message?["conversation"] as? [String: Any] { expect(list.apply(told), equals: nil) }
        }
        expect(list.entries[id.string]?.isRemoved, equals: true)
    }

    @Test func `a returning client is notified of each conversation that it no longer has, dropped or not`() throws {
        try enroll("c1", "out", world.redisNow)
        _ = world.redis.command(["HSET", keys.inbox(bob), " dropped", String(world.redisNow)])
        let client = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        client.sendText(#"{"type":"subscribe","id":90,"conversationList":true,"known":{"c1":5,"c2":7}}"#)
        try world.run(for: 1_000)
        let reply = try #require(client.texts.first { $0.contains(#""type":"subscribed""#) })
        expect(reply.contains(#""id":"c2","version":8,"removed":true"#))
        expect(reply.contains(#""id":"c1""#) && !reply.contains("dropped"))
    }
}
