import Expectations
import PresenceProtocol
import TestSupport
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Which events of a queue are sent, and in which order, while calls hang and servers change.
@Suite struct QueueOrderTests {
    @Test func `a subject whose call hangs delays no other, however many events it has`() throws {
        let bench = try QueueBench()
        bench.answer = { ($0.id == "slow-00001" ? 14_000 : 1, .accepted) }
        let slow = try bench.add(Array(repeating: "slow", count: 1_200))
        try bench.add(["other"])
        try bench.world.run(until: "the other is called", within: 2_000) { bench.called("other").count == 1 }
        expect(bench.called("slow").count, equals: 1)
        try bench.add(["late"])
        try bench.world.run(until: "the late one is called", within: 200) { bench.called("late").count == 1 }
        // Afterwards its events are sent one after the other.
        try bench.world.run(until: "all are called", within: 60_000) { bench.called("slow").count == 1_200 }
        try bench.world.run(for: 60_000)
        expect(bench.called("slow"), equals: slow)
        // Some eight events of the subject in each script, and not a look at all others for each.
        expect(bench.world.redis.counts["queue-take", default: 0] < 1_500)
        try expect(bench.world.redis.command(["ZCARD", bench.keys()[1]]).get().int, equals: 0)
    }

    @Test func `two subjects with many events each are sent side by side`() throws {
        let bench = try QueueBench()
        bench.answer = { _ in (20, .accepted) }
        let (first, second) = (
            try bench.add(Array(repeating: "first", count: 700)), try bench.add(Array(repeating: "second", count: 100))
        )
        try bench.world.run(until: "the second is sent", within: 10_000) { bench.called("second").count == 100 }
        expect(bench.called("first").count < 300)
        try bench.world.run(until: "the first is sent", within: 30_000) { bench.called("first").count == 700 }
        expect(bench.called("first") == first && bench.called("second") == second)
    }

    @Test func `subjects whose calls end together get their next events together`() throws {
        let bench = try QueueBench()
        let subjects = (0..<10).map { "s\($0)" }
        // Each subject has nine events, one more than it may hold. The call for the last one hangs.
        bench.answer = { (Int($0.id.suffix(5))! > 80 ? 14_000 : 100, .accepted) }
        for _ in 1...9 { try bench.add(subjects) }
        try bench.world.run(until: "all are called", within: 2_000) { bench.calls.count == 90 }
    }

    @Test func `a later event does not pass earlier ones that are on their way back to the queue`() throws {
        let bench = try QueueBench()
        bench.answer = { ($0.id == "slow-00001" ? 6_000 : 1, .accepted) }
        try bench.add(Array(repeating: "slow", count: 4))
        // A reply of Redis with a later event is under way when the call ends and the others have waited for too long.
        try bench.world.run(until: "the first is called") { !bench.calls.isEmpty }
        let began = bench.calls[0].at
        try bench.world.run(for: began + 5_900 - bench.world.now)
        try bench.add(["slow", "slow"])
        bench.world.shards[0].holdReplies(.commands, for: 300)
        try bench.world.run(for: 60_000)
        expect(bench.called("slow") == bench.called("slow").sorted() && bench.called("slow").count == 6)
    }

    @Test func `an event whose call takes longer than its lease is not called again meanwhile`() throws {
        let bench = try QueueBench()
        bench.answer = { ($0.id == "slow-00001" ? 33_000 : 1, .accepted) }
        try bench.add(["slow", "other"])
        try bench.world.run(for: 31_000)
        try bench.add(["slow"])
        try bench.world.run(for: 120_000)
        expect(bench.called("slow"), equals: ["slow-00001", "slow-00003"])
    }

    @Test func `a server that stops gives back what it has not sent, and the next one sends it in order`() throws {
        let bench = try QueueBench(shards: 2)
        let first = try #require(bench.webhooks.couriers.first)
        bench.answer = { ($0.id == "a-00001" ? 3_000 : 1, .accepted) }
        try bench.add(["a", "a", "a", "b"])
        try bench.world.run(for: 100)
        first.drain()
        // Neither the lease of the courier nor those of the events are waited for.
        try bench.world.run(until: "the other one is", within: 5_000) {
            bench.webhooks.couriers.contains { $0 !== first }
        }
        try bench.add(["a", "b"])
        try bench.world.run(until: "b is called", within: 1_000) { bench.called("b").count == 2 }
        try bench.world.run(until: "all are called", within: 40_000) { bench.firstCalls("a").count == 4 }
        expect(bench.firstCalls("a"), equals: bench.firstCalls("a").sorted())
    }

    @Test func `a server that stops gives events back that wait behind a call that has ended`() throws {
        let bench = try QueueBench(shards: 2)
        let first = try #require(bench.webhooks.couriers.first)
        bench.answer = { ($0.id == "a-00001" ? 150 : 1_000, .accepted) }
        try bench.add(["a", "a", "a"])
        try bench.world.run(until: "the first is called") { !bench.calls.isEmpty }
        first.drain()
        try bench.world.run(until: "all are called, once", within: 8_000) { bench.calls.count == 3 }
        expect(bench.called("a") == bench.called("a").sorted() && bench.calls[1].server != first.name)
    }

    @Test func `events that a dead server had taken come before later ones of their subject`() throws {
        let bench = try QueueBench(shards: 2)
        let first = try #require(bench.webhooks.couriers.first)
        bench.answer = { ($0.id == "a-00001" ? 14_000 : 1, .accepted) }
        try bench.add(["a", "a", "a", "b"])
        try bench.world.run(for: 1_000)
        first.die()
        try bench.world.run(until: "the other one is", within: 20_000) { bench.webhooks.couriers.count == 1 }
        bench.answer = { _ in (1, .accepted) }
        try bench.add(["a", "b"])
        try bench.world.run(until: "b is called", within: 1_000) { bench.called("b").count == 2 }
        try bench.world.run(until: "all are called", within: 40_000) { bench.firstCalls("a").count == 4 }
        expect(bench.firstCalls("a"), equals: bench.firstCalls("a").sorted())
    }
}
