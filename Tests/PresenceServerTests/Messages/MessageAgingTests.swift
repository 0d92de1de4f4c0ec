import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Messages that expire are removed without any writer, in simulated time.
@Suite struct MessageAgingTests {
    /// Ana and bob, on servers that keep messages for an hour, so a sweep runs every minute.
    private final class Room {
        let world: World
        let ana: SimulatedClient
        let bob: SimulatedClient
        let id: ConversationID
        private var sent = 0

        init() throws {
            let world = try World(shards: 2) { $0[Messages.keepFor] = 3_600_000 }
            self.world = world
            ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
            bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
            ana.send(.createConversation(participants: [UserID("bob")!]))
            let ana = ana
            var made: ConversationID?
            try world.run(until: "there is a conversation") {
                made =
                    ana.received.compactMap { if case .conversationCreated(_, let c) = $0 { c.id } else { nil } }.first
                return made != nil
            }
            id = made!
        }

        var keys: PartitionKeys { world.shards[0].logic.partitions.keys(of: id) }

        func send() throws {
            sent += 1
            ana.sendText(
                #"{"type":"send","id":\#(100 + sent),"conversation":"\#(id)","#
                    + #""message":{"id":"m\#(sent)","text":"hi","priority":{"reason":"now"}}}"#)
            try world.run(for: 100)
        }

        func heard(_ type: String, by client: SimulatedClient) -> [[String: Any]] {
            client.texts.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
                .filter { $0["type"] as? String == type }
        }

        /// Bob's answer about the conversation.
        func info() throws -> [String: Any] {
            let count = heard("conversationInfo", by: bob).count
            bob.sendText(#"{"type":"getConversation","id":900,"conversation":"\#(id)"}"#)
            try world.run(until: "the answer") { heard("conversationInfo", by: bob).count > count }
            return heard("conversationInfo", by: bob).last?["conversation"] as? [String: Any] ?? [:]
        }
    }

    @Test func `expired messages are removed within a minute, and members are notified`() throws {
        let room = try Room()
        room.bob.sendText(#"{"type":"subscribe","id":1,"conversationList":true}"#)
        for _ in 0..<3 { try room.send() }
        try room.world.run(for: 1_800_000)
        try room.send()
        try room.world.run(for: 1_790_000)
        var info = try room.info()
        expect(info["first"] as? Int == 1 && info["unread"] as? Int == 4 && info["priorityCount"] as? Int == 4)
        try room.world.run(for: 75_000)
        info = try room.info()
        expect(info["first"] as? Int == 4 && info["last"] as? Int == 4)
        expect(info["unread"] as? Int == 1 && info["priorityCount"] as? Int == 1)
        let told = room.heard("conversation", by: room.bob).last?["conversation"] as? [String: Any]
        expect(told?["first"] as? Int == 4 && told?["version"] as? Int == info["version"] as? Int)
        try room.world.run(for: 1_800_000)
        info = try room.info()
        expect(info["first"] as? Int == 5 && info["last"] as? Int == 4 && info["lastMessage"] == nil)
        expect(info["unread"] as? Int == 0 && info["priorityCount"] == nil)
        // Numbers continue.
        try room.send()
        info = try room.info()
        expect(info["first"] as? Int == 5 && info["last"] as? Int == 5 && info["unread"] as? Int == 1)
    }

    @Test func `others do not see removed messages as read`() throws {
        let room = try Room()
        try room.send()
        try room.world.run(for: 3_700_000)
        room.ana.sendText(#"{"type":"getConversation","id":901,"conversation":"\#(room.id)"}"#)
        try room.world.run(for: 100)
        let info = room.heard("conversationInfo", by: room.ana).last?["conversation"] as? [String: Any]
        let bob = (info?["members"] as? [[String: Any]])?.first { $0["user"] as? String == "bob" }
        expect(bob?["read"] as? Int, equals: 0)
    }

    @Test func `conversations from before the setting was enabled are found`() throws {
        let room = try Room()
        for _ in 0..<3 { try room.send() }
        // As if they had been sent before.
        for key in [room.keys.aging, room.keys.agingFound] { _ = try room.world.redis.command(["DEL", key]).get() }
        room.world.shards[0].die()
        room.world.shards[1].die()
        for place in 0...1 { room.world.replaceShard(at: place) }
        try room.world.run(for: 3_700_000)
        try expect(room.world.redis.command(["LLEN", room.keys.log(room.id)]).get().int, equals: 0)
        try expect(room.world.redis.command(["EXISTS", room.keys.aging]).get().int, equals: 0)
    }

    @Test func `all keys are scanned twice, for all partitions at once`() throws {
        let room = try Room()
        let world = room.world
        func walks() -> Int { world.redis.counts["find-aging"] ?? 0 }
        func found() throws -> [String?] {
            try (0..<4).map {
                try world.redis.ask(["GET", world.shards[0].logic.partitions.keys($0).agingFound]).get().string
            }
        }
        try world.run(until: "all are walked over") { try! found().allSatisfy { $0 != nil } }
        // Each of the two servers may do it.
        try world.run(for: 60_000)
        expect((1...2).contains(walks()))
        let once = walks()
        try world.run(for: 600_000)
        expect(walks(), equals: once)
        // A day later any server does it once more.
        func restart() {
            for place in 0...1 {
                world.shards[place].die()
                world.replaceShard(at: place)
            }
        }
        for partition in 0..<4 {
            let key = world.shards[0].logic.partitions.keys(partition).agingFound
            _ = try world.redis.command(["SET", key, String(world.redisNow - 25 * 3_600_000)]).get()
        }
        restart()
        try world.run(until: "that is done") { try! found() == Array(repeating: "done", count: 4) }
        try world.run(for: 60_000)
        let twice = walks()
        expect((once + 1...once + 2).contains(twice))
        restart()
        try world.run(for: 600_000)
        expect(walks(), equals: twice)
    }

    @Test func `conversations written while the setting was off are found once it is on again`() throws {
        // A server without the setting starts, so a later server with it scans again.
        let world = try World(shards: 1)
        let found = world.shards[0].logic.partitions.keys(0).agingFound
        _ = try world.redis.command(["SET", found, "done"]).get()
        world.shards[0].die()
        world.replaceShard(at: 0)
        try world.run(for: 5_000)
        try expect(world.redis.command(["EXISTS", found]).get().int, equals: 0)
    }

    @Test func `a mark cleared while the last scan is being noted stays cleared`() throws {
        let room = try Room()
        let world = room.world
        let keys = (0..<4).map { world.shards[0].logic.partitions.keys($0).agingFound }
        func found() throws -> [String?] { try keys.map { try world.redis.ask(["GET", $0]).get().string } }
        try world.run(until: "all are walked over") { try! found().allSatisfy { $0 != nil } }
        // The other server may be about to note the same scan.
        try world.run(for: 10_000)
        for key in keys { _ = try world.redis.ask(["SET", key, String(world.redisNow - 25 * 3_600_000)]).get() }
        // A server without the setting starts before any server has noted the scan.
        var isForgotten = false
        world.redis.refuse = { [unowned redis = world.redis] _, words in
            if words.first == "SET", words[1] == keys[1], !isForgotten {
                isForgotten = true
                _ = redis.ask(["DEL", keys[1]])
            }
            return nil
        }
        for place in 0...1 {
            world.shards[place].die()
            world.replaceShard(at: place)
        }
        // A scan that was not noted, because its shard reconnected, runs again after its pause.
        try world.run(until: "the others are done", within: 200_000) { try! found().count { $0 == "done" } == 3 }
        try world.run(for: 600_000)
        expect(isForgotten)
        try expect(found()[1].flatMap(Int64.init) != nil)
    }

    @Test func `the note of the scan is cleared, however often Redis fails`() throws {
        let world = try World(shards: 1)
        let keys = (0..<4).map { world.shards[0].logic.partitions.keys($0).agingFound }
        for key in keys { _ = try world.redis.command(["SET", key, "done"]).get() }
        var refused = 0
        world.redis.refuse = { _, words in
            guard words.first == "DEL", words.last == keys[2], refused < 3 else { return nil }
            refused += 1
            return refused == 2 ? .timedOut(sent: false) : .server(code: "BUSY", message: "BUSY for a moment")
        }
        world.shards[0].die()
        world.replaceShard(at: 0)
        try world.wait(until: "all are forgotten", within: 300_000) {
            try keys.allSatisfy { try world.redis.ask(["EXISTS", $0]).get().int == 0 }
        }
        expect(refused, equals: 3)
        // It is not cleared again.
        world.redis.counts = [:]
        try world.run(for: 300_000)
        expect(world.redis.counts["DEL"], equals: nil)
    }

    @Test func `a client that missed a message gets no event of it once it is removed`() throws {
        let room = try Room()
        room.bob.sendText(#"{"type":"subscribe","id":1,"conversations":[{"id":"\#(room.id)","after":0}]}"#)
        room.bob.sendText(#"{"type":"activity","id":2,"state":"background"}"#)
        try room.world.run(for: 100)
        try room.send()
        try room.world.run(for: 3_700_000)
        room.bob.sendText(#"{"type":"activity","id":3,"state":"active"}"#)
        try room.world.run(for: 1_000)
        expect(room.heard("message", by: room.bob).isEmpty)
        expect(room.heard("messagesReset", by: room.bob).count, equals: 1)
        room.bob.sendText(
            #"{"type":"subscribe","id":4,"conversations":[{"id":"\#(room.id)","after":0,"messagesVersion":0}]}"#)
        try room.world.run(for: 100)
        let answer = room.heard("subscribed", by: room.bob).last?["conversations"] as? [[String: Any]]
        expect(answer?.first?["reset"] as? Bool == true && answer?.first?["first"] as? Int == 2)
    }

    @Test func `many expired messages are removed in steps, and counted`() throws {
        let room = try Room()
        try room.send()
        let keys = room.keys
        // As after a long time without the setting.
        for seq in 2...1_200 {
            let at = room.world.redisNow
            _ = try room.world.redis.command([
                "RPUSH", keys.log(room.id), "x\(seq) \(seq) \(seq) \(at) ana 0 0 0 -\u{1F}\"t\"\u{1F}\u{1F}",
            ]).get()
        }
        let prints = String(repeating: "p", count: 8 * 1_200)
        _ = try room.world.redis.command(["SET", keys.prints(room.id), prints]).get()
        _ = try room.world.redis.command(["HSET", keys.conversation(room.id), "last", "1200"]).get()
        room.world.redis.counts = [:]
        try room.world.run(for: 3_700_000)
        try expect(room.info()["first"] as? Int, equals: 1_201)
        expect(room.world.redis.counts["expire-messages"]! >= 3)
    }

    @Test func `an unreadable conversation holds up no others`() throws {
        let room = try Room()
        try room.send()
        let sent = try #require(room.world.redis.command(["ZSCORE", room.keys.aging, room.id.string]).get().string)
        _ = try room.world.redis.command(["LSET", room.keys.log(room.id), "0", "damaged"]).get()
        try room.world.run(for: 3_700_000)
        let score = try #require(room.world.redis.command(["ZSCORE", room.keys.aging, room.id.string]).get().string)
        expect(Double(score)! > Double(sent)! + 3_600_000)
        expect(room.world.shards.contains { $0.logic.metrics.damagedRecords > 0 })
    }

    @Test func `a time below a second is rejected`() {
        var configuration = ServerConfiguration()
        for (time, isGood) in [(0, true), (999, false), (1_000, true)] {
            configuration[Messages.keepFor] = Int64(time)
            let isTaken = (try? Messages.plan.check(configuration)) != nil
            expect(isTaken, equals: isGood)
        }
    }
}
