import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

extension ScriptKeyTests {
    @Test func `every key that a script of pushes touches is declared`() throws {
        let webhooks = try WebhookWorld(pushes: true)
        let world = webhooks.world
        try world.run(until: "there is a courier") { webhooks.couriers.count == 1 }
        try watch(at: world, running: Script.push.filter { !Script.holding.contains($0) }) {
            let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
            let (bob, shard) = (UserID("bob")!, world.shards[0])
            let keys = shard.logic.partitions.keys(of: bob)
            func run(_ script: Script, _ names: [String], _ arguments: [String]) {
                shard.run(
                    script, keys: [keys.shards, keys.floor, keys.devices(bob)] + names,
                    arguments: [keys.events, shard.logic.link.incarnation] + arguments, lane: .commands
                ) { _ in }
            }
            for token in ["\"first\"", "\"second\""] {
                run(.setDevice, [keys.grants(bob), keys.user(bob), keys.pushed(bob)], ["-", "fcm", token])
            }
            ana.send(.createConversation(participants: [bob]))
            try world.run(for: 1_000)
            let made = try #require(
                ana.received.compactMap { if case .conversationCreated(_, let c) = $0 { c.id } else { nil } }.first)
            ana.sendText(#"{"type":"send","id":1,"conversation":"\#(made)","message":{"id":"m","text":"hi"}}"#)
            try world.run(until: "the push") { webhooks.calls("push.due", of: "bob").count == 1 }
            let told = String(decoding: webhooks.calls("push.due")[0].body, as: UTF8.self)
            expect(told.contains(#""devices":[{"platform":"fcm","pushToken":"second"}]"#), "\(told)")
            try runOthers(on: shard, of: bob, in: made, world)
            try withdraw(on: shard, of: bob, in: made, world)
            // Registered later, of another platform, with another token; then the right one.
            func forget(_ platform: String, _ token: String, _ time: String) {
                run(.pushForget, [keys.pushed(bob)], [made.string, "1", platform, token, time])
            }
            forget("fcm", "\"second\"", "1")
            forget("apns", "\"second\"", "9000000000000")
            forget("fcm", "\"first\"", "9000000000000")
            try world.run(for: 100)
            try expect(world.redis.command(["HLEN", keys.devices(bob)]).get().int, equals: 1)
            forget("fcm", "\"second\"", "9000000000000")
            try world.run(for: 100)
            try expect(world.redis.command(["HLEN", keys.devices(bob)]).get().int, equals: 0)
        }
    }

    /// Runs the scripts for a deleted message, a postponed decision, and the check before a push.
    private func runOthers(on shard: SimulatedShard, of bob: UserID, in made: ConversationID, _ world: World) throws {
        let (keys, own) = (shard.logic.partitions.keys(of: made), shard.logic.partitions.keys(of: bob))
        var answers: [String] = []
        func run(_ script: Script, _ names: [String], _ arguments: [String]) {
            shard.run(script, keys: names, arguments: arguments, lane: .commands) {
                let words = (try? $0.get())?.array ?? []
                // The facts have whether the device may be pushed to.
                let word = script == .pushMessage ? words.last : script == .pushFacts ? words[7] : words.first
                answers.append(word?.string ?? "")
            }
        }
        run(.pushMessage, [keys.conversation(made), keys.log(made)], ["0", "10", "1", "9000000000000"])
        run(
            .pushFacts,
            [
                own.push, own.pushed(bob), own.sessions(bob), own.blocks(bob), own.devices(bob), own.grants(bob),
                own.user(bob),
            ], ["bob", made.string, "fcm", "\"second\"", "1000"])
        _ = try world.redis.command(["ZADD", own.push, "1", "bob \(made)"]).get()
        let record = try world.redis.command(["HGET", own.pushed(bob), made.string]).get().string ?? ""
        run(
            .pushSettle,
            [
                own.shards, own.floor, own.push, own.pushed(bob), own.devices(bob), own.grants(bob), own.user(bob),
                own.inbox(bob), own.sessions(bob), own.held, own.notifications(bob),
            ],
            [
                own.events, shard.logic.link.incarnation, "bob", made.string, "9000000000000", "1000", "0", "", record,
                "60000", "", "1", "", "0",
            ])
        run(
            .pushForget, [own.shards, own.floor, own.devices(bob), own.pushed(bob)],
            [own.events, shard.logic.link.incarnation, made.string, "1", "fcm", "\"second\"", ""])
        try world.run(until: "they are answered") { answers.count == 4 }
        expect(answers[0].hasPrefix("m 1 ") && answers[1...] == ["1", "OK", "OK"])
    }
    /// Withdraws a deleted message: with its notification stored, and before it is.
    private func withdraw(on shard: SimulatedShard, of bob: UserID, in made: ConversationID, _ world: World) throws {
        let keys = shard.logic.partitions.keys(of: bob)
        let (notifications, marks) = (keys.notifications(bob), keys.notificationMarks(bob))
        let sender = [keys.events, shard.logic.link.incarnation]
        for (place, at) in ["5", "6"].enumerated() {
            let id = "message-\(at)-\(made)"
            _ = try world.redis.command(["HSET", keys.pushed(bob), made.string, "1 \(at)"]).get()
            var answers: [[String]] = []
            func run(_ script: Script, _ names: [String], _ arguments: [String]) {
                shard.run(script, keys: names, arguments: sender + arguments, lane: .commands) {
                    answers.append((try? $0.get().array?.compactMap(\.string)) ?? [])
                }
            }
            if place == 0 {
                run(
                    .notify,
                    [keys.shards, keys.floor, keys.push, notifications, marks, keys.sessions(bob), keys.user(bob)],
                    ["10", "100000", id, "", "", at, "0", "\"message\"", "bob"])
            }
            run(
                .pushWithdraw,
                [
                    keys.shards, keys.floor, keys.pushed(bob), notifications, marks, keys.push, keys.sessions(bob),
                ], ["bob", made.string, "1", "10", "100000", "10000", id])
            try world.run(until: "they are answered") { answers.count == (place == 0 ? 2 : 1) }
            // The answer has the time of its decision: the user was pushed for it.
            expect(answers.last?.first == "OK" && answers.last?.count == 2)
            try expect(world.redis.command(["HLEN", notifications]).get().int, equals: 1)
            try expect(world.redis.command(["HGET", marks, "last"]).get().int, equals: Int64(place + 2))
        }
    }
}
