import Expectations
import Foundation
import PresenceProtocol
import TestSupport
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Servers with an endpoint, in simulated time. Calls are recorded, and answered as the test requests.
final class WebhookWorld {
    let world: World
    let log = Log()
    private let files: ScratchDirectory

    /// Written by jobs, which the simulation runs one at a time on its own thread.
    final class Log: @unchecked Sendable {
        // @unchecked: everything runs on the test's thread.
        private(set) var calls: [QueuedEvent] = []
        /// The calls to push services.
        private(set) var pushes: [PushMessage] = []
        var answer: (QueuedEvent) -> DeliveryOutcome? = { _ in .accepted }
        /// By type of event: tests ask again and again while they wait.
        private var found: [String: (searched: Int, calls: [QueuedEvent])] = [:]

        func receive(_ event: QueuedEvent) -> DeliveryOutcome? {
            calls.append(event)
            if let push = PushMessage(event.body) { pushes.append(push) }
            return answer(event)
        }

        func forget() { (calls, pushes, found) = ([], [], [:]) }

        func calls(_ type: String) -> [QueuedEvent] {
            var known = found[type] ?? (0, [])
            known.calls += calls[known.searched...].filter {
                String(decoding: $0.body, as: UTF8.self).contains("\"type\":\"\(type)\"")
            }
            known.searched = calls.count
            found[type] = known
            return known.calls
        }
    }

    /// - Parameter apns: Whether pushes are also sent to APNs.
    init(
        shards: Int = 2, queue: Int = 1_000, pushes: Bool = false, apns: Bool = false, seed: UInt64 = 1,
        redis: SimulatedRedis? = nil, interests: Bool? = nil, _ adjust: (inout ServerConfiguration) -> Void = { _ in }
    ) throws {
        let files = try ScratchDirectory()
        self.files = files
        let secret = try files.write("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", to: "secret")
        let key = try files.write(TestKeys.ecdsa, to: "key.p8")
        let events = WebhookEndpoint.types.filter { pushes || apns || $0 != "push.due" }
        for file in [secret, key] { chmod(file, 0o600) }
        world = try World(shards: shards, seed: seed, redis: redis) {
            $0[Webhooks.endpoints] = ["http://127.0.0.1:1/ \(secret) " + events.joined(separator: " ")]
            $0[Webhooks.queue] = queue
            if let interests { $0.redis.interests = interests }
            adjust(&$0)
            guard apns else { return }
            $0[Push.queue] = queue
            $0[Push.apnsFile] = key
            ($0[Push.apnsKeyID], $0[Push.apnsTeamID]) = ("KEY1234567", "TEAM123456")
            $0[Push.apnsTopic] = "org.example.app"
        }
        for shard in world.shards { record(shard) }
    }

    func record(_ shard: SimulatedShard) {
        let logic = shard.logic!
        for queue in logic.feature(EventDelivery.self)!.courier!.queues {
            // A job, so that a call takes a simulated time.
            queue.send = { [log, unowned logic] event, _ in
                (try? await logic.work(.files) { log.receive(event) }) ?? nil
            }
        }
    }

    var couriers: [SimulatedShard] {
        world.shards.filter { $0.logic.feature(EventDelivery.self)!.courier!.isCourier && !$0.isDead }
    }

    func calls(_ type: String, of user: String? = nil) -> [QueuedEvent] {
        log.calls(type).filter { (user ?? $0.subject) == $0.subject }
    }
}

@Suite struct WebhookSimulationTests {
    @Test func `one server at a time is the courier, and another one after its death`() throws {
        let webhooks = try WebhookWorld()
        let world = webhooks.world
        try world.run(until: "there is a courier") { webhooks.couriers.count == 1 }
        try world.run(for: 60_000)
        expect(webhooks.couriers.count, equals: 1)
        let first = try #require(webhooks.couriers.first)
        first.die()
        try world.run(until: "the other one is", within: 20_000) { webhooks.couriers.count == 1 }
        let other = try #require(webhooks.couriers.first)
        try SimulatedClient("ana", in: world).connect(to: other)
        try world.run(until: "it tells of ana") { webhooks.calls("user.online", of: "ana").count == 1 }
    }

    @Test func `an event that is offered when nobody is the courier is told by the next one`() throws {
        let webhooks = try WebhookWorld(shards: 1)
        let world = webhooks.world
        try world.run(until: "there is a courier") { webhooks.couriers.count == 1 }
        webhooks.log.answer = { _ in nil }
        try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        try world.run(for: 50)
        world.shards[0].die()
        world.replaceShard(at: 0)
        webhooks.record(world.shards[0])
        webhooks.log.answer = { _ in .accepted }
        try world.run(until: "ana is told of") { webhooks.calls("user.online", of: "ana").count >= 1 }
        try world.run(for: 120_000)
        expect(Set(webhooks.calls("user.online", of: "ana").map(\.id)).count, equals: 1)
    }

    @Test func `no more events wait for an endpoint than may, and those that wait are told`() throws {
        let webhooks = try WebhookWorld(shards: 1, queue: 100)
        let world = webhooks.world
        try world.run(until: "there is a courier") { webhooks.couriers.count == 1 }
        webhooks.log.answer = { _ in .failed("timeout", retryAfter: 0) }
        let people = try (0..<60).map { try SimulatedClient("p\($0)", in: world).connect(to: world.shards[0]) }
        try world.run(for: 60_000)
        for person in people { person.close(code: 1000) }
        _ = try (0..<20).map { try SimulatedClient("q\($0)", in: world).connect(to: world.shards[0]) }
        try world.run(for: 5_000)
        webhooks.log.answer = { _ in .accepted }
        webhooks.log.forget()
        try world.run(for: 3_600_000)
        expect(webhooks.log.calls.count, equals: 100)
    }

    @Test
    func
        `what nobody takes is bounded in bytes too, long messages take nothing from short ones, and how many went is told`()
        throws
    {
        let webhooks = try WebhookWorld(shards: 1, queue: 10_000)
        let world = webhooks.world
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        try world.run(until: "there is a courier") { webhooks.couriers.count == 1 }
        ana.send(.createConversation(participants: [UserID("bob")!]))
        var made: ConversationID?
        try world.run(until: "there is a conversation") {
            made = ana.received.compactMap { if case .conversationCreated(_, let c) = $0 { c.id } else { nil } }.first
            return made != nil
        }
        let id = try #require(made)
        world.redis.refuse = { _, words in
            words.first == "XRANGE" ? .server(code: "BUSY", message: "BUSY a script is running") : nil
        }
        let (long, count) = (String(repeating: "x", count: 4_900), 2_000)
        let short = (0..<count).filter { $0 % 20 == 0 }
        for number in 0..<count {
            let text = number % 20 == 0 ? "short \(number)" : long
            ana.sendText(
                #"{"type":"send","id":\#(100 + number),"conversation":"\#(id)","#
                    + #""message":{"id":"m\#(number)","text":"\#(text)"}}"#)
            try world.run(for: 20)
        }
        let stream = world.shards[0].logic.partitions.keys(of: id).offers
        let kept = try #require(world.redis.ask(["MEMORY", "USAGE", stream, "SAMPLES", "0"]).get().int)
        expect(kept > 4 << 20 && kept < 6 << 20)
        world.redis.refuse = { _, _ in nil }
        try world.run(for: 180_000)
        let receiver = world.shards[0].logic.feature(EventDelivery.self)!.courier!.queues[0].receiver.id
        let state = world.shards[0].logic.partitions.keys(of: receiver).queue(receiver)[0].value
        let dropped = try #require(world.redis.ask(["HGET", state, "dropped"]).get().int)
        let told = webhooks.calls("message.created").map(\.id)
        expect(Set(told).count == told.count && told.count + Int(dropped) == count)
        let texts = webhooks.calls("message.created").map { String(decoding: $0.body, as: UTF8.self) }
        expect(texts.count { $0.contains(#""text":"short "#) }, equals: short.count)
        expect(texts.count > 800 && texts.count < 1_000)
        try expect(world.redis.ask(["XLEN", stream]).get().int, equals: 0)
    }

    @Test func `a message with long earlier texts is told without them, in less than 20 KB`() throws {
        let webhooks = try WebhookWorld(shards: 1)
        let world = webhooks.world
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        ana.send(.createConversation(participants: [UserID("bob")!]))
        var made: ConversationID?
        try world.run(until: "there is a conversation") {
            made = ana.received.compactMap { if case .conversationCreated(_, let c) = $0 { c.id } else { nil } }.first
            return made != nil
        }
        let id = try #require(made)
        ana.sendText(#"{"type":"send","id":100,"conversation":"\#(id)","message":{"id":"m","text":"0"}}"#)
        for number in 1...6 {
            try world.run(for: 500)
            let text = String(repeating: String(number), count: 4_000)
            ana.sendText(
                #"{"type":"editMessage","id":\#(100 + number),"conversation":"\#(id)","message":"m","text":"\#(text)"}"#
            )
        }
        try world.run(until: "all are told") { webhooks.calls("message.changed").count == 6 }
        let bodies = webhooks.calls("message.changed").map { String(decoding: $0.body, as: UTF8.self) }
        expect(bodies.allSatisfy { $0.utf8.count < 20_000 && $0.contains(#""editCount":"#) })
        expect(bodies.map { $0.contains(#""edits":"#) }, equals: [true, true, true, true, false, false])
        // The message itself keeps them.
        expect(ana.texts.last { $0.contains("messageUpdated") }?.contains(#""edits":"#), equals: true)
    }

    @Test func `an event that a queue could not take is not lost behind a newer one`() throws {
        let talk = try PushTalk()
        try talk.world.run(for: 1_000)
        var refusals = 1
        talk.world.redis.refuse = { script, _ in
            guard script == .queueAdd, refusals > 0 else { return nil }
            refusals -= 1
            return .server(code: "MISCONF", message: "MISCONF for a moment")
        }
        talk.say()
        try talk.world.run(until: "it is not in the queue") { refusals == 0 }
        try talk.world.run(for: 100)
        talk.say()
        try talk.world.run(for: 5_000)
        let calls = talk.webhooks.calls("message.created")
        expect(calls.count == 2 && calls.map(\.id) == calls.map(\.id).sorted())
    }

    @Test func `events of one ms are told in their order`() throws {
        let ids = (0...11).map {
            OfferedEvent(entry: "1763712000123-\($0)", type: "user.online", at: 0, subject: "u", rest: []).id(
                partition: 17)
        }
        expect(ids.sorted(), equals: ids)
    }

    @Test func `scripts get the stream of their partition as the last key`() {
        let keys = Partitions(count: 4, in: KeySpace(prefix: "a")).keys(2)
        expect(
            PartitionKeys.offering([keys.shards, keys.floor]), equals: [keys.shards, keys.floor, "a:{p002}:offers"])
        expect(PartitionKeys.offering(["leases"]) == ["leases"] && PartitionKeys.offering([]).isEmpty)
    }

    @Test func `an id that looks like the stream of offers is none`() throws {
        let world = try World(shards: 1)
        let user = "x:offers"
        try SimulatedClient(user, in: world).connect(to: world.shards[0])
        try world.run(for: 1_000)
        let answer = try world.redis.command(["KEYS", "*}:offers"]).get()
        expect(answer.array?.isEmpty, equals: true)
    }
}
