import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// The queue of an endpoint, at its limit and when clocks step.
@Suite struct WebhookQueueTests {
    @Test func `what is on its way when its queue is full is not dropped`() throws {
        let webhooks = try WebhookWorld(shards: 1, queue: 100)
        let world = webhooks.world
        try world.run(until: "there is a courier") { webhooks.couriers.count == 1 }
        let shard = world.shards[0]
        let queue = try #require(shard.logic.feature(EventDelivery.self)?.courier?.queues.first)
        let keys = shard.logic.partitions.keys(of: queue.receiver.id).queue(queue.receiver.id).map(\.value)
        shard.workers.times = 500...500
        var added = 0
        func add(_ count: Int) throws {
            let events = (added..<added + count).map {
                WaitingEvent(id: "e\($0)", entry: "1-\($0 + 1)", at: 1, subject: "s\($0)", body: Array("{}".utf8))
            }
            added += count
            try queue.add(events, newest: "1-\(added)", of: 5, in: world)
        }
        try add(10)
        try world.run(until: "some are on their way") { !webhooks.log.calls.isEmpty }
        let underWay = webhooks.log.calls.map(\.id)
        try add(200)
        // They count as waiting.
        try expect(world.redis.command(["ZCARD", keys[1]]).get().int, equals: 100)
        try expect(world.redis.command(["HGET", keys[0], "dropped"]).get().string, equals: "110")
        for id in underWay { try expect(world.redis.command(["HEXISTS", keys[2], id]).get().int, equals: 1, "\(id)") }
        try world.run(for: 60_000)
        let called = webhooks.log.calls.map(\.id)
        expect(called.count == 100 && Set(called).count == 100)
        try expect(world.redis.command(["HGET", keys[0], "sent"]).get().string, equals: "100")
    }

    @Test func `a user who sends much takes no other's place in the queue of an endpoint that is down`() throws {
        let webhooks = try WebhookWorld(shards: 1, queue: 100)
        let world = webhooks.world
        try world.run(until: "there is a courier") { webhooks.couriers.count == 1 }
        webhooks.log.answer = { _ in .failed("timeout", retryAfter: 0) }
        let queue = try #require(world.shards[0].logic.feature(EventDelivery.self)?.courier?.queues.first)
        let keys = world.shards[0].logic.partitions.keys(of: queue.receiver.id).queue(queue.receiver.id).map(\.value)
        var added = 0
        func add(_ type: String, of beginning: String, _ rest: String, _ count: Int) throws {
            let events = (added..<added + count).map { number in
                let event = OfferedEvent(
                    entry: "1-\(number + 1)", type: type, at: 1, subject: "\(beginning)\(number)",
                    rest: Array(rest.utf8)[...])
                return WaitingEvent(
                    id: event.subject, entry: event.entry, at: 1, subject: event.subject, body: event.body!)
            }
            added += count
            try queue.add(events, newest: "1-\(added)", of: 5, in: world)
        }
        func left(_ beginning: String) throws -> Int {
            let ids = try world.redis.ask(["HKEYS", keys[2]]).get().array ?? []
            return ids.count { $0.string?.hasPrefix(beginning) == true }
        }
        // Events of other users have failed, and are due later than all new ones.
        try add("user.online", of: "p", "{}", 20)
        try world.run(for: 20_000)
        // One user's events are each in another conversation, and imitate those of others where possible.
        let text = "m 7 9 5 ana 6 1 0 -\u{1F}\"\\\",\\\"from\\\":\\\"p\\\"\"\u{1F}\u{1F}\u{1F}5 \"h\""
        try add("message.created", of: "c", text, 80)
        try expect(world.redis.ask(["HEXISTS", keys[0], "dropped"]).get().int, equals: 0)
        try expect(left("p") == 20 && left("c") == 80)
        for _ in 0..<20 { try add("message.created", of: "c", text, 50) }
        try expect(left("p") == 20 && left("c") == 80)
        // One more event of another user.
        try add("message.created", of: "d", text.replacing(" ana ", with: " bob "), 1)
        try expect(left("p") == 20 && left("c") == 79 && left("d") == 1)
        try expect(world.redis.ask(["HGET", keys[0], "dropped"]).get().string, equals: "1001")
    }

    @Test func `a call without an answer delays the later events of its subject alone, and they keep their order`()
        throws
    {
        let webhooks = try WebhookWorld(shards: 1)
        let world = webhooks.world
        try world.run(until: "there is a courier") { webhooks.couriers.count == 1 }
        let shard = world.shards[0]
        let queue = try #require(shard.logic.feature(EventDelivery.self)?.courier?.queues.first)
        var calls: [String] = []
        var answers: [(DeliveryOutcome?) -> Void] = []
        let tasks = shard.logic.tasks
        queue.send = { event, _ in
            calls.append(event.id)
            guard event.id == "slow0" else { return .accepted }
            return await tasks.wait { answers.append($0) }
        }
        let ids = (0..<3).map { "slow\($0)" } + (0..<60).map { "e\($0)" } + ["slow3"]
        let events = ids.enumerated().map { place, id in
            let subject = id.hasPrefix("slow") ? "slow" : id
            return WaitingEvent(
                id: id, entry: "1-\(place + 1)", at: Int64(place), subject: subject, body: Array("{}".utf8))
        }
        try queue.add(events, newest: "1-\(events.count)", of: 5, in: world)
        try world.run(until: "all others are called", within: 1_000) { calls.count { $0.hasPrefix("e") } == 60 }
        // Longer than they are held.
        try world.run(for: 14_000)
        expect(calls.filter { $0.hasPrefix("slow") }, equals: ["slow0"])
        shard.input { _ in answers.removeFirst()(.accepted) }
        try world.run(until: "they are called", within: 1_000) { calls.count == ids.count }
        expect(calls.filter { $0.hasPrefix("slow") }, equals: ["slow0", "slow1", "slow2", "slow3"])
        try world.run(for: 60_000)
        expect(calls.count, equals: ids.count)
    }

    @Test func `a try waits no longer when Redis' clock goes back`() throws {
        let webhooks = try WebhookWorld(shards: 1)
        let world = webhooks.world
        try world.run(until: "there is a courier") { webhooks.couriers.count == 1 }
        webhooks.log.answer = { _ in .failed("timeout", retryAfter: 0) }
        try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        try world.run(until: "it has failed twice") { webhooks.calls("user.online").count == 2 }
        // The next try is due in five minutes, give or take a fifth.
        webhooks.log.answer = { _ in .accepted }
        for hours in [1, 24] as [Milliseconds] {
            try world.run(for: 60_000)
            world.redisEpoch -= hours * 3_600_000
        }
        try world.run(for: 100_000)
        expect(webhooks.calls("user.online").count, equals: 2)
        try world.run(until: "it is tried", within: 240_000) { webhooks.calls("user.online").count == 3 }
        try world.run(for: 3_600_000)
        expect(webhooks.calls("user.online").count, equals: 3)
    }
}

extension DeliveryQueue {
    /// Adds events as the courier does, on the first server.
    func add(_ events: [WaitingEvent], newest: String, of partition: Int, in world: World) throws {
        var isAdded = false
        world.shards[0].input { logic in
            logic.tasks.run { isAdded = await self.add(events, newest: newest, lost: 0, of: partition) }
        }
        try world.run(until: "they are added") { isAdded }
    }
}
