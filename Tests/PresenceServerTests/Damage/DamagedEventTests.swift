import Expectations
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// An unreadable record does not stop the events of other users from reaching their receivers.
@Suite struct DamagedEventTests {
    private let talk: PushTalk
    private let bob = UserID("bob")!

    init() throws {
        talk = try PushTalk(apns: true)
        try talk.register("0a0b")
        talk.bob.close(code: 1000)
        try talk.world.run(for: 1_000)
    }

    private var partitions: Partitions { talk.world.shards[0].logic.partitions }

    private func redis(_ words: String...) throws -> RedisValue { try talk.world.redis.command(words).get() }

    /// Sends a message to a new group of ana, bob and cy.
    private func sendToAll() throws {
        talk.ana.sendText(
            #"{"type":"createConversation","id":700,"participants":["bob","cy"],"name":"All"}"#)
        var group: ConversationID?
        try talk.world.run(until: "there is a group") {
            let made = talk.ana.received.compactMap {
                if case .conversationCreated(_, let c) = $0 { c.id } else { nil }
            }
            group = made.count > 1 ? made.last : nil
            return group != nil
        }
        talk.ana.sendText(
            #"{"type":"send","id":701,"conversation":"\#(group!)","message":{"id":"all","text":"hi all"}}"#)
    }

    private func expectNothingWaits() throws {
        try talk.world.run(until: "the streams are empty", within: 60_000) {
            (0..<partitions.count).allSatisfy {
                (try? talk.world.redis.ask(["XLEN", partitions.keys($0).offers]).get().int) == 0
            }
        }
    }

    /// The webhook endpoint and each push service have their own queue.
    private func queue(_ place: Int) -> (keys: [String], receiver: any EventReceiver) {
        let queues = talk.world.shards[0].logic.feature(EventDelivery.self)!.courier!.queues
        let receiver = queues[place].receiver
        return (partitions.keys(of: receiver.id).queue(receiver.id).map(\.value), receiver)
    }

    @Test(arguments: 0...2) func `a damaged queue holds up no other receiver`(key: Int) throws {
        let damaged = queue(0).keys[key]
        _ = try redis("DEL", damaged)
        _ = try redis("SET", damaged, "x")
        talk.say()
        try talk.world.run(until: "APNs is handed it", within: 20_000) { talk.handed.count == 1 }
        try expectNothingWaits()
        // The damaged queue does not grow, either.
        try expect(redis("TYPE", damaged).string, equals: "string")
        for other in queue(0).keys where other != damaged && other != queue(0).keys[0] {
            try expect(redis("EXISTS", other).int, equals: 0)
        }
        expect(talk.webhooks.couriers[0].logic.metrics.damagedRecords > 0)
    }

    @Test func `a malformed event in a queue is removed, and those behind it are delivered`() throws {
        let (keys, _) = queue(0)
        for number in 0..<40 {
            _ = try redis("ZADD", keys[1], "1", "damaged\(number)")
            _ = try redis("HSET", keys[2], "damaged\(number)", "x")
        }
        talk.say()
        try talk.world.run(until: "the endpoint is told", within: 20_000) {
            talk.webhooks.calls("message.created").count == 1
        }
        try talk.world.run(until: "nothing waits", within: 60_000) {
            (try? redis("ZCARD", keys[1]).int) == 0 && (try? redis("HLEN", keys[2]).int) == 0
        }
    }

    @Test func `a damaged list of one user's pushes does not stop those of others`() throws {
        _ = try redis("DEL", partitions.keys(of: bob).pushed(bob))
        _ = try redis("SET", partitions.keys(of: bob).pushed(bob), "x")
        try sendToAll()
        try talk.world.run(until: "cy is told of", within: 20_000) {
            talk.webhooks.calls("push.due", of: "cy").count == 1
        }
        try expectNothingWaits()
        expect(talk.pushes.isEmpty)
        // After a repair, the next message causes a push.
        _ = try redis("DEL", partitions.keys(of: bob).pushed(bob))
        talk.say()
        try talk.world.run(until: "bob is told of", within: 20_000) { talk.pushes.count == 1 }
    }

    @Test(arguments: ["sessions", "pushed"]) func `a push is dropped if a record is damaged meanwhile`(what: String)
        throws
    {
        // With an open session, the push is decided ten seconds later.
        try talk.bob.connect(to: talk.world.shards[1])
        talk.say()
        try talk.world.run(for: 3_000)
        let keys = partitions.keys(of: bob)
        try expect(redis("ZCARD", keys.push).int, equals: 1)
        let damaged = what == "sessions" ? keys.sessions(bob) : keys.pushed(bob)
        _ = try redis("DEL", damaged)
        _ = try redis("SET", damaged, "x")
        try talk.world.run(for: 20_000)
        try expect(redis("ZCARD", keys.push).int, equals: 0)
    }

    @Test func `one user's damaged devices hold up no pushes to others`() throws {
        let body = ["pushToken": "0c0d", "platform": "apns"]
        let call = SimulatedCall(
            "PUT", "/v1/me/devices/current", body, token: "cy", to: talk.world.shards[0])
        try talk.world.run(until: "cy's device is registered") { call.status == 204 }
        // Both wait in one queue.
        talk.answer(.failed("status 503", retryAfter: 0))
        try sendToAll()
        try talk.world.run(until: "both were tried", within: 20_000) { Set(talk.handed.map(\.user)).count == 2 }
        _ = try redis("DEL", partitions.keys(of: bob).devices(bob))
        _ = try redis("SET", partitions.keys(of: bob).devices(bob), "x")
        talk.answer(.accepted)
        let before = talk.handed.count
        try talk.world.run(until: "cy's is taken", within: 120_000) {
            talk.handed[before...].contains { $0.user == "cy" }
        }
        try talk.world.run(until: "nothing waits", within: 3_600_000) {
            (try? redis("ZCARD", queue(1).keys[1]).int) == 0
        }
    }

    @Test func `a conversation that is damaged before its event was delivered holds up no other`() throws {
        // Events cannot be read for a moment.
        talk.world.redis.refuse = { _, words in
            words.first == "XRANGE" ? .server(code: "BUSY", message: "BUSY a script is running") : nil
        }
        talk.say("lost")
        try talk.world.run(for: 1_000)
        let key = partitions.keys(of: talk.id).conversation(talk.id)
        _ = try redis("DEL", key)
        _ = try redis("SET", key, "x")
        talk.world.redis.refuse = { _, _ in nil }
        try sendToAll()
        try talk.world.run(until: "bob is told of the other", within: 60_000) { talk.pushes.count == 1 }
        try expectNothingWaits()
    }
}
