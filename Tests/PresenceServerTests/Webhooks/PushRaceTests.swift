import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Events during the decision on a push, between its reads and its script.
@Suite struct PushRaceTests {
    /// Runs `action` once, before the script of the first push.
    private func beforeTelling(_ talk: PushTalk, _ action: @escaping (PartitionKeys, PartitionKeys) -> Void) {
        var isDone = false
        let partitions = talk.world.shards[0].logic.partitions
        talk.world.redis.runs = { script, arguments in
            // The push's contents follow the message's number.
            guard script == .pushSettle, !isDone, arguments[8] != "" else { return }
            isDone = true
            action(partitions.keys(of: talk.id), partitions.keys(of: UserID("bob")!))
        }
    }

    private func read(_ talk: PushTalk, _ keys: PartitionKeys, upTo seq: Int) {
        talk.run(
            .mark, [keys.shards, keys.floor, keys.conversation(talk.id)], keys.events,
            [talk.id.string, "bob", "\(seq)", "\(seq)", "n"])
    }

    /// Stores a message and notes its push at once.
    private func write(_ talk: PushTalk, _ keys: PartitionKeys, _ bobs: PartitionKeys, _ seq: Int, read: Int) {
        let (id, bob) = (talk.id, UserID("bob")!)
        talk.run(
            .send, [keys.shards, keys.floor] + keys.written(id, verdict: nil).map(\.value), keys.events,
            [id.string, "ana", "x\(seq)", "\"newer\"", "", "", "100", "0", "0", "87381", "0", ""])
        talk.run(
            .pushNote, [bobs.shards, bobs.floor, bobs.push, bobs.pushed(bob), bobs.sessions(bob), bobs.user(bob)],
            bobs.events, ["bob", id.string, "\(read)", "10000", ""])
    }

    @Test func `a message that comes after a read, while the one before is told, is told too`() throws {
        let talk = try PushTalk()
        beforeTelling(talk) { keys, bobs in
            read(talk, keys, upTo: 1)
            write(talk, keys, bobs, 2, read: 1)
        }
        talk.say()
        try talk.world.run(until: "the first push", within: 12_000) { talk.pushes.count == 1 }
        try talk.world.run(for: 9_000)
        expect(talk.pushes.count, equals: 1)
        try talk.world.run(until: "the second push", within: 3_000) { talk.pushes.count == 2 }
        try talk.world.run(for: 120_000)
        expect(talk.pushes.count, equals: 2)
    }

    @Test
    func `who came back, read and left again is pushed for at once, though an earlier message has a time of its own`()
        throws
    {
        let talk = try PushTalk()
        talk.bob.close(code: 1000)
        try talk.world.run(for: 1_000)
        beforeTelling(talk) { keys, bobs in write(talk, keys, bobs, 2, read: 0) }
        talk.say()
        try talk.world.run(until: "the first push", within: 500) { talk.pushes.count == 1 }
        for _ in 0..<2 {
            try talk.world.run(for: 2_000)
            try talk.bob.connect(to: talk.world.shards[1])
            talk.mark("read", 2)
            try talk.world.run(for: 500)
            talk.bob.close(code: 1000)
            try talk.world.run(for: 400)
        }
        talk.say("third")
        try talk.world.run(until: "the second push", within: 500) { talk.pushes.count == 2 }
        try talk.world.run(for: 120_000)
        expect(talk.pushes.count, equals: 2)
    }

    @Test func `who left before the time of an earlier message is over is pushed for at once when the next one comes`()
        throws
    {
        let talk = try PushTalk()
        talk.say()
        try talk.world.run(for: 2_000)
        talk.mark("read", 1)
        try talk.world.run(for: 500)
        talk.bob.close(code: 1000)
        try talk.world.run(for: 400)
        talk.say("second")
        try talk.world.run(until: "the push", within: 500) { talk.pushes.count == 1 }
        try talk.world.run(for: 120_000)
        expect(talk.pushes.count, equals: 1)
    }

    @Test func `a message that is deleted while it is told is not told, and the one before is`() throws {
        let talk = try PushTalk()
        beforeTelling(talk) { _, _ in
            talk.deleteUntold(2)
            talk.withdraw(2)
        }
        for text in ["first", "second"] { talk.say(text) }
        try talk.world.run(for: 120_000)
        expect(talk.pushes.count, equals: 1)
        expect(talk.pushes.map { String(decoding: $0.body, as: UTF8.self) }.first?.contains("first"), equals: true)
    }

    @Test func `a message that comes while one is told that stays unread is not told`() throws {
        let talk = try PushTalk()
        beforeTelling(talk) { keys, bobs in write(talk, keys, bobs, 2, read: 0) }
        talk.say()
        try talk.world.run(for: 120_000)
        expect(talk.pushes.count, equals: 1)
        let keys = talk.world.shards[0].logic.partitions.keys(of: UserID("bob")!)
        try expect(talk.world.redis.command(["ZCARD", keys.push]).get().int, equals: 0)
    }

    @Test(arguments: [true, false]) func `what is decided for longer than its lease is decided again`(isMuted: Bool)
        throws
    {
        let talk = try PushTalk()
        let partitions = talk.world.shards[0].logic.partitions
        let (keys, bobs) = (partitions.keys(of: talk.id), partitions.keys(of: UserID("bob")!))
        // More conversations than are counted at a time.
        let others = (0..<80).flatMap { ["other\($0)", "in 1"] }
        _ = try talk.world.redis.command(["HSET", bobs.inbox(UserID("bob")!)] + others).get()
        var end: Milliseconds?
        // While they are counted, each answer is late.
        talk.world.redis.refuse = { script, words in
            guard script == nil, words.count == 6, words[2] == "last" else { return nil }
            if end == nil {
                end = talk.world.now + PushScheduler.lease + 1_000
                if isMuted {
                    talk.run(
                        .settings, [keys.shards, keys.floor, keys.conversation(talk.id)], keys.events,
                        [talk.id.string, "bob", "-1", ""])
                }
            }
            guard let end, talk.world.now < end else { return nil }
            for shard in talk.webhooks.couriers { shard.holdReplies(.commands, for: 4_500) }
            return nil
        }
        talk.say()
        try talk.world.run(until: "it is decided", within: 15_000) { end != nil }
        try talk.world.run(for: PushScheduler.lease)
        expect(talk.pushes.isEmpty)
        try talk.world.run(for: 120_000)
        expect(talk.pushes.count, equals: isMuted ? 0 : 1)
        try expect(talk.world.redis.command(["ZCARD", bobs.push]).get().int, equals: 0)
    }

    @Test(arguments: [true, false]) func `who leaves, or whose account is deleted, while a push is decided is not told`(
        isDeleted: Bool
    ) throws {
        let talk = try PushTalk()
        let (id, bob) = (talk.id, UserID("bob")!)
        beforeTelling(talk) { keys, bobs in
            let names = [keys.shards, keys.floor] + keys.whole(id).map(\.value)
            if isDeleted {
                _ = talk.world.redis.ask(["HSET", bobs.user(bob), "deletedAt", "1"])
                talk.run(
                    .depart, names, keys.events, ["departing bob", id.string, "bob"])
            } else {
                talk.run(
                    .participants, names, keys.events, ["joining \(id)", id.string, "ana"])
                talk.run(
                    .enroll,
                    [
                        bobs.shards, bobs.floor, bobs.unfinished, bobs.inbox(bob), bobs.user(bob), bobs.pushed(bob),
                        bobs.contacts(bob),
                    ], bobs.events, ["joining \(id)", id.string, "out", "9000000000000", "2000"])
            }
        }
        talk.say()
        try talk.world.run(for: 120_000)
        expect(talk.pushes.isEmpty)
        let keys = talk.world.shards[0].logic.partitions.keys(of: bob)
        try expect(talk.world.redis.command(["EXISTS", keys.pushed(bob)]).get().int, equals: 0)
        try expect(talk.world.redis.command(["ZCARD", keys.push]).get().int, equals: 0)
    }

    @Test func `two servers that decide the same tell it once`() throws {
        let talk = try PushTalk()
        // The other server has pushed it, and has another entry to decide.
        beforeTelling(talk) { _, bobs in
            _ = talk.world.redis.ask(["HSET", bobs.pushed(UserID("bob")!), talk.id.string, "1 1 -"])
        }
        talk.say()
        try talk.world.run(for: 120_000)
        expect(talk.pushes.isEmpty)
    }

    @Test func `after a push that was given up the next message is told`() throws {
        let talk = try PushTalk(apns: true)
        try talk.register("0a0b")
        talk.answer(.refused("status 400 BadDeviceToken"))
        talk.say()
        try talk.world.run(until: "it is refused", within: 15_000) { talk.handed.count == 1 }
        try talk.world.run(for: 1_000)
        talk.answer(.accepted)
        talk.say("second")
        try talk.world.run(until: "the next push", within: 15_000) { talk.handed.count == 2 }
        talk.say("third")
        try talk.world.run(for: 120_000)
        expect(talk.handed.map(\.text), equals: ["hi", "second"])
    }

    @Test func `after a push that was dropped because too many waited the next message is told`() throws {
        let talk = try PushTalk(apns: true, queue: 100)
        try talk.register("0a0b")
        talk.say()
        talk.answer(.failed("status 503", retryAfter: 0))
        try talk.world.run(until: "it is tried", within: 15_000) { talk.handed.count == 1 }
        try talk.world.run(for: 1_000)
        // Other events take its place.
        let queue = try #require(
            talk.webhooks.couriers.first?.logic.feature(EventDelivery.self)?.courier?.queues.first {
                $0.receiver is PushService
            })
        let others = (0..<100).map { number in
            WaitingEvent(id: "o\(number)", entry: "9000000000000-\(number)", at: 1, subject: "o\(number)", body: [0x7B])
        }
        talk.answer(nil)
        try queue.add(others, newest: "9000000000000-99", of: 77, in: talk.world)
        let keys = talk.world.shards[0].logic.partitions.keys(of: UserID("bob")!)
        try talk.world.run(for: 1_000)
        let record = try talk.world.redis.command(["HGET", keys.pushed(UserID("bob")!), talk.id.string]).get().string
        // No push counts.
        expect(record?.hasPrefix("0 "), equals: true, "\(record ?? "none")")
    }

    @Test func `what one device does not get is not told again while another has it`() throws {
        let talk = try PushTalk(apns: true)
        try talk.register("0a0b")
        let (bob, keys) = (UserID("bob")!, talk.world.shards[0].logic.partitions.keys(of: UserID("bob")!))
        let grant = String(repeating: "k", count: 16) + "1 9000000000000 1 - phone \"x\""
        _ = try talk.world.redis.command(["HSET", keys.grants(bob), "g1", grant]).get()
        _ = try talk.world.redis.command(["HSET", keys.devices(bob), "g:g1", #"apns 1 "0c0d""#]).get()
        talk.webhooks.log.answer = {
            PushMessage($0.body)?.pushToken == "0c0d" ? .refused("status 400 BadDeviceToken") : .accepted
        }
        talk.say()
        try talk.world.run(until: "both are handed over", within: 15_000) { talk.handed.count == 2 }
        talk.say()
        try talk.world.run(for: 120_000)
        expect(talk.handed.count, equals: 2)
    }
}
