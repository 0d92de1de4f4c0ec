import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Changes after a message and before its push: deletions, sign-outs, revocations and failures.
@Suite struct PushDecisionTests {
    private func texts(of talk: PushTalk) -> [String] { talk.handed.map(\.text) }

    @Test func `a deleted message hides no earlier one that is unread`() throws {
        let talk = try PushTalk(apns: true)
        try talk.register("0a0b")
        for text in ["first", "second"] { talk.say(text) }
        try talk.world.run(for: 1_000)
        talk.delete(2)
        try talk.world.run(for: 60_000)
        expect(texts(of: talk), equals: ["first"])
    }

    @Test func `a message has ten seconds of its own, though one before it that is deleted was due earlier`() throws {
        let talk = try PushTalk()
        talk.say("first")
        try talk.world.run(for: 9_000)
        talk.delete(1)
        talk.say("second")
        try talk.world.run(for: 9_500)
        expect(talk.pushes.isEmpty)
        try talk.world.run(until: "the push", within: 15_000) { talk.pushes.count == 1 }
    }

    @Test func `where all that is unread is deleted, there is no push`() throws {
        let talk = try PushTalk(apns: true)
        try talk.register("0a0b")
        talk.say()
        try talk.world.run(for: 500)
        talk.mark("read", 1)
        for _ in 0..<2 { talk.say() }
        try talk.world.run(for: 1_000)
        for number in 2...3 { talk.delete(number) }
        try talk.world.run(for: 60_000)
        expect(talk.pushes.isEmpty)
    }

    @Test func `an idle desktop that has the message does not hide a phone whose connection broke`() throws {
        let talk = try PushTalk()
        let desktop = try SimulatedClient("bob", in: talk.world)
            .connect(to: talk.world.shards[0], device: "desktop", activity: .idle)
        try talk.world.run(for: 100)
        // The loss is not known yet.
        talk.bob.vanish()
        talk.say()
        try talk.world.run(for: 100)
        desktop.sendText(#"{"type":"mark","id":501,"conversation":"\#(talk.id)","delivered":1}"#)
        try talk.world.run(for: 8_000)
        expect(talk.pushes.isEmpty)
        try talk.world.run(until: "the push", within: 60_000) { talk.pushes.count == 1 }
        try talk.world.run(for: 120_000)
        expect(talk.pushes.count, equals: 1)
    }

    @Test func `a message that comes while another is put off has a time of its own`() throws {
        let talk = try PushTalk()
        talk.say()
        try talk.world.run(for: 100)
        talk.mark("delivered", 1)
        try talk.world.run(for: 15_000)
        talk.say()
        try talk.world.run(for: 9_000)
        expect(talk.pushes.isEmpty)
        try talk.world.run(until: "the push", within: 3_000) { talk.pushes.count == 1 }
    }

    @Test func `what waits is not sent to a device that was taken away`() throws {
        let talk = try PushTalk(apns: true)
        try talk.register("0a0b")
        talk.answer(.failed("status 503", retryAfter: 0))
        talk.say()
        try talk.world.run(until: "the first try", within: 15_000) { talk.handed.count == 1 }
        try talk.unregister()
        try talk.world.run(for: 900_000)
        expect(talk.handed.count, equals: 1)
    }

    @Test func `what waits is not sent to a session that was signed out`() throws {
        let talk = try PushTalk(apns: true)
        let keys = talk.world.shards[0].logic.partitions.keys(of: UserID("bob")!)
        let grant = String(repeating: "k", count: 16) + "1 9000000000000 1 - phone \"x\""
        _ = try talk.world.redis.command(["HSET", keys.grants(UserID("bob")!), "g1", grant]).get()
        let devices = keys.devices(UserID("bob")!)
        let value = #"apns 1 "0a0b""#
        _ = try talk.world.redis.command(["HSET", devices, "g:g1", value]).get()
        talk.answer(.failed("status 503", retryAfter: 0))
        talk.say()
        try talk.world.run(until: "two tries", within: 60_000) { talk.handed.count == 2 }
        _ = try talk.world.redis.command(["HDEL", keys.grants(UserID("bob")!), "g1"]).get()
        try talk.world.run(for: 900_000)
        expect(talk.handed.count, equals: 2)
        // No service reported the device as gone.
        try expect(talk.world.redis.command(["HLEN", devices]).get().int, equals: 1)
    }

    @Test func `after tokens were revoked, a device of the app's own gets nothing, nor what waits for it`() throws {
        let talk = try PushTalk(apns: true)
        try talk.register("0a0b")
        talk.answer(.failed("status 503", retryAfter: 0))
        talk.say()
        try talk.world.run(until: "the first try", within: 15_000) { talk.handed.count == 1 }
        var isRevoked = false
        talk.world.shards[0].input {
            $0.run($0.revokingTokens(of: UserID("bob")!)) { isRevoked = $0.failure == nil }
        }
        try talk.world.run(until: "they are revoked") { isRevoked }
        try talk.world.run(for: 900_000)
        expect(talk.handed.count, equals: 1)
    }

    @Test func `the newest 20 devices are told, and none that has not been used for long`() throws {
        let talk = try PushTalk()
        let bob = UserID("bob")!
        let keys = talk.world.shards[0].logic.partitions.keys(of: bob)
        for number in 1...23 {
            let used = number == 23 ? 1 : 9_000_000_000_000
            let grant = String(repeating: "k", count: 16) + "1 \(used) 1 - phone \"x\""
            _ = try talk.world.redis.command(["HSET", keys.grants(bob), "g\(number)", grant]).get()
            let value = "fcm \(number) \"t\(number)\""
            _ = try talk.world.redis.command(["HSET", keys.devices(bob), "g:g\(number)", value]).get()
        }
        talk.say()
        try talk.world.run(until: "the push", within: 15_000) { talk.pushes.count == 1 }
        let body = try #require(talk.pushes.first).body
        let told = PushMessage.all(for: "fcm", in: body, at: 0, of: 1).map(\.pushToken)
        expect(told, equals: (3...22).reversed().map { "t\($0)" })
    }

    @Test func `a device is stored for a session that is there, and a token once`() throws {
        let talk = try PushTalk(apns: true)
        let bob = UserID("bob")!
        let keys = talk.world.shards[0].logic.partitions.keys(of: bob)
        func set(_ device: String, _ token: String) throws {
            let shard = talk.world.shards[0]
            shard.run(
                .setDevice,
                keys: [
                    keys.shards, keys.floor, keys.devices(bob), keys.grants(bob), keys.user(bob), keys.pushed(bob),
                ],
                arguments: [keys.events, shard.logic.link.incarnation, device, "apns", "\"\(token)\""],
                lane: .commands
            ) { _ in }
            try talk.world.run(for: 100)
        }
        func devices() throws -> [String] {
            try talk.world.redis.command(["HKEYS", keys.devices(bob)]).get().array?.compactMap(\.string).sorted() ?? []
        }
        try set("g:gone", "0a")
        try expect(devices(), equals: [])
        let grant = String(repeating: "k", count: 16) + "1 9000000000000 1 - phone \"x\""
        _ = try talk.world.redis.command(["HSET", keys.grants(bob), "g1", grant]).get()
        _ = try talk.world.redis.command(["HSET", keys.grants(bob), "g2", grant]).get()
        try set("-", "0a")
        try set("g:g1", "0a")
        try expect(devices(), equals: ["g:g1"])
        try set("g:g2", "0b")
        try expect(devices(), equals: ["g:g1", "g:g2"])
        // The device of an ended session is removed by the next call.
        _ = try talk.world.redis.command(["HDEL", keys.grants(bob), "g1"]).get()
        try set("g:g2", "0b")
        try expect(devices(), equals: ["g:g2"])
    }

    @Test func `a further new device writes nothing where no push counts already`() throws {
        let talk = try PushTalk(apns: true)
        try talk.register("0a")
        talk.say()
        try talk.world.run(until: "the push", within: 60_000) { talk.handed.count == 1 }
        let bob = UserID("bob")!
        let keys = talk.world.shards[0].logic.partitions.keys(of: bob)
        func record() throws -> String {
            try talk.world.redis.command(["HGET", keys.pushed(bob), talk.id.string]).get().string ?? ""
        }
        try expect(record().hasPrefix("1 "))
        try talk.register("0b")
        let forgotten = try record()
        expect(forgotten.hasPrefix("0 0|"))
        try talk.world.run(for: 1_000)
        try talk.register("0c")
        try expect(record(), equals: forgotten)
        talk.say("next")
        try talk.world.run(until: "the next push", within: 60_000) { talk.handed.count == 2 }
        expect(talk.handed[1].pushToken, equals: "0c")
    }

    @Test func `a pause that is asked for one device holds up no other push`() throws {
        let talk = try PushTalk(apns: true)
        try talk.register("0a0b")
        talk.answer(.failed("status 429", retryAfter: 600_000))
        talk.say()
        try talk.world.run(until: "the first try", within: 15_000) { talk.handed.count == 1 }
        talk.mark("read", 1)
        try talk.world.run(for: 1_000)
        talk.say("next")
        try talk.world.run(until: "the next push", within: 15_000) { texts(of: talk).last == "next" }
    }

    @Test func `a new token hears of conversations whose push reached nobody`() throws {
        let talk = try PushTalk(apns: true)
        talk.say()
        try talk.world.run(until: "it is told to no device", within: 15_000) { talk.pushes.count == 1 }
        try talk.register("0a0b")
        talk.say("second")
        try talk.world.run(until: "the push", within: 15_000) { texts(of: talk) == ["second"] }
        // The same token again is not a new one.
        try talk.register("0a0b")
        talk.say("third")
        try talk.world.run(for: 60_000)
        expect(texts(of: talk), equals: ["second"])
    }

    @Test func `a push that was put too far ahead by a clock that went back is decided`() throws {
        let talk = try PushTalk()
        let keys = talk.world.shards[0].logic.partitions.keys(of: UserID("bob")!)
        talk.say()
        try talk.world.run(for: 1_000)
        _ = try talk.world.redis.command(["ZADD", keys.push, "XX", "9000000000000", "bob \(talk.id)"]).get()
        try talk.world.run(until: "the push", within: 45_000) { talk.pushes.count == 1 }
    }

    @Test func `what falls due while a partition is looked at is decided after it, not with the next round`() throws {
        let webhooks = try WebhookWorld(pushes: true)
        let world = webhooks.world
        try world.run(until: "there is a courier") { webhooks.couriers.count == 1 }
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        // More than are noted at a time, and several in each partition.
        let users = (0..<54).map { UserID("u\($0)")! }
        for group in 0..<6 { ana.send(.createConversation(participants: Array(users[group * 9..<group * 9 + 9]))) }
        var made: [ConversationID] = []
        try world.run(until: "there are conversations") {
            made = ana.received.compactMap { if case .conversationCreated(_, let c) = $0 { c.id } else { nil } }
            return made.count == 6
        }
        // Rounds run every 30 s.
        try world.run(for: 31_000)
        for (number, id) in made.enumerated() {
            ana.sendText(
                #"{"type":"send","id":\#(500 + number),"conversation":"\#(id)","message":{"id":"m","text":"hi"}}"#)
        }
        try world.run(until: "all are told", within: 5_000) {
            Set(webhooks.calls("push.due").map(\.subject)).count == users.count
        }
    }
}
