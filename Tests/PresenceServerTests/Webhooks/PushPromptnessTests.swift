import Expectations
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// How soon a push is on its way, also while some of Redis' partitions refuse commands.
@Suite struct PushPromptnessTests {
    @Test func `a push to a user without a session is handed over within half a second`() throws {
        let talk = try PushTalk(apns: true)
        try talk.register("0a0b")
        var times: [Milliseconds] = []
        for number in 1...21 {
            talk.bob.close(code: 1000)
            try talk.world.run(for: 500)
            let began = talk.world.now
            talk.say()
            try talk.world.run(until: "the push is handed over", within: 5_000) { talk.handed.count == number }
            times.append(talk.world.now - began)
            try talk.bob.connect(to: talk.world.shards[1])
            talk.mark("read", number)
            try talk.world.run(for: 1_000)
        }
        expect(times.sorted()[times.count / 2] < 500, "\(times)")
    }

    @Test(arguments: [false, true]) func `a user whose last session ends while a push is put off is pushed to at once`(
        isNewer: Bool
    ) throws {
        let talk = try PushTalk()
        let sessions = talk.world.shards[0].logic.partitions.keys(of: UserID("bob")!).sessions(UserID("bob")!)
        talk.say()
        try talk.world.run(for: 1_000)
        talk.mark("delivered", 1)
        var ended: Milliseconds?
        talk.world.redis.runs = { script, _ in
            guard script == .pushSettle, ended == nil else { return }
            ended = talk.world.now
            _ = talk.world.redis.ask(["DEL", sessions])
        }
        if isNewer {
            // Noted while the decision is made.
            talk.world.redis.ran = { script, _, _ in if script == .pushTake { talk.say() } }
        }
        try talk.world.run(until: "the push is put off", within: 15_000) { ended != nil }
        talk.world.redis.ran = { _, _, _ in }
        try talk.world.run(until: "the push", within: 500) { talk.pushes.count == 1 }
    }

    @Test func `a partition that cannot be read delays no pushes to users of others`() throws {
        let webhooks = try WebhookWorld(shards: 1, apns: true) { $0.partitions = 64 }
        let (world, shard) = (webhooks.world, webhooks.world.shards[0])
        try world.run(until: "there is a courier") { webhooks.couriers.count == 1 }
        let partitions = shard.logic.partitions
        let queue = try #require(shard.logic.feature(EventDelivery.self)?.courier?.queues.last)
        let due = partitions.keys(of: queue.receiver.id).queue(queue.receiver.id).map(\.value)[1]
        // More users of one partition than there are calls at a time.
        let broken = try #require(
            (1..<64).first { $0 != partitions.index(of: UserID("zoe")!) && !due.contains(partitions.keys($0).name) })
        let users = (0...).lazy.map { "u\($0)" }.filter { partitions.index(of: UserID($0)!) == broken }.prefix(60)
        let call = SimulatedCall(
            "PUT", "/v1/me/devices/current", ["pushToken": "0a0b", "platform": "apns"], token: "zoe", to: shard)
        try world.run(until: "zoe's device is registered") { call.status == 204 }
        shard.refusal = { [name = partitions.keys(broken).name] key in
            key.hasPrefix(name + ":") ? .server(code: "LOADING", message: "LOADING a master is loading") : nil
        }
        let events = (Array(users) + ["zoe"]).enumerated().map { place, user in
            let message = PushMessage(
                at: world.redisNow, seq: 1, pushToken: "0a0b", user: user, conversation: "c", title: "", text: "hi",
                badge: 1)
            return WaitingEvent(
                id: "e\(place)", entry: "1-\(place + 1)", at: world.redisNow + Int64(place),
                subject: message.subject, body: message.body)
        }
        func handed() -> [String] { webhooks.log.pushes.map(\.user) }
        try queue.add(events, newest: "1-\(events.count)", of: 5, in: world)
        try world.run(until: "zoe's push is handed over", within: 1_000) { handed() == ["zoe"] }
        // An operator learns of it, and not for each user.
        try world.run(for: 20_000)
        let lines = shard.log.of("partition cannot be used")
        expect(lines.count == 1 && lines.first?.fields["partition"] == "\(broken)")
        shard.refusal = { _ in nil }
        // Their devices are not registered, so there is nothing to send.
        try world.run(for: 10_000)
        try expect(world.redis.command(["ZCARD", due]).get().int, equals: 0)
        expect(handed(), equals: ["zoe"])
    }

    @Test func `a partition that takes no notes does not hold up the events of conversations with its users`() throws {
        let webhooks = try WebhookWorld(shards: 1, pushes: true) { $0.partitions = 64 }
        let (world, shard) = (webhooks.world, webhooks.world.shards[0])
        try world.run(until: "there is a courier") { webhooks.couriers.count == 1 }
        let ana = try SimulatedClient("ana", in: world).connect(to: shard)
        let partitions = shard.logic.partitions
        ana.send(.createConversation(participants: [UserID("bob")!, UserID("cy")!]))
        var made: ConversationID?
        try world.run(until: "there is a conversation") {
            made = ana.received.compactMap { if case .conversationCreated(_, let c) = $0 { c.id } else { nil } }.first
            return made != nil
        }
        let id = try #require(made)
        let (keys, bobs) = (partitions.keys(of: id), partitions.keys(of: UserID("bob")!))
        expect(![keys, partitions.keys(of: UserID("cy")!), partitions.keys(0)].contains { $0.name == bobs.name })
        shard.refusal = { [name = bobs.name] key in
            key.hasPrefix(name + ":") ? .server(code: "LOADING", message: "LOADING a master is loading") : nil
        }
        // More than the courier reads at a time.
        for number in 1...120 {
            ana.sendText(
                #"{"type":"send","id":\#(100 + number),"conversation":"\#(id)","#
                    + #""message":{"id":"m\#(number)","text":"hi"}}"#)
            try world.run(for: 20)
        }
        try world.run(until: "the endpoint has all messages", within: 1_000) {
            webhooks.calls("message.created").count == 120
        }
        expect(webhooks.calls("push.due").map(\.subject), equals: ["cy"])
        try world.run(for: 20_000)
        let lines = shard.log.of("partition cannot be used")
        expect(lines.count == 1 && lines.first?.fields["partition"] == "\(partitions.index(of: UserID("bob")!))")
        shard.refusal = { _ in nil }
        try world.run(until: "bob is pushed to", within: 5_000) { webhooks.calls("push.due", of: "bob").count == 1 }
        try world.run(for: 60_000)
        expect(webhooks.calls("message.created").count == 120 && webhooks.calls("push.due").count == 2)
        try expect(world.redis.command(["XLEN", keys.offers]).get().int, equals: 0)
    }
}
