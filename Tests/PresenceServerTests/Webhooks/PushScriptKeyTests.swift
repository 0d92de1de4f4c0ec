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
        try look(at: world, running: Script.push) {
            let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
            let (bob, shard) = (UserID("bob")!, world.shards[0])
            let keys = shard.logic.partitions.keys(of: bob)
            func run(_ script: Script, _ names: [String], _ arguments: [String]) {
                shard.run(
                    script, keys: [keys.shards, keys.devices(bob)] + names,
                    arguments: [keys.events, shard.logic.link.incarnation] + arguments, lane: .commands
                ) { _ in }
            }
            for token in ["\"first\"", "\"second\""] {
                run(.setDevice, [keys.grants(bob)], ["-", "fcm", token])
            }
            ana.send(.createConversation(participants: [bob]))
            try world.run(for: 1_000)
            let made = try #require(
                ana.received.compactMap { if case .conversationCreated(_, let c) = $0 { c.id } else { nil } }.first)
            ana.sendText(#"{"type":"send","id":1,"conversation":"\#(made)","message":{"id":"m","text":"hi"}}"#)
            try world.run(until: "the push") { webhooks.calls("push.due", of: "bob").count == 1 }
            let told = String(decoding: webhooks.calls("push.due")[0].body, as: UTF8.self)
            #expect(told.contains(#""devices":[{"platform":"fcm","pushToken":"second"}]"#), "\(told)")
            // Registered since, of another platform, another token; then that one.
            run(.dropDevice, [], ["fcm", "\"second\"", "1"])
            run(.dropDevice, [], ["apns", "\"second\"", "9000000000000"])
            run(.dropDevice, [], ["fcm", "\"first\"", "9000000000000"])
            try world.run(for: 100)
            #expect(try world.redis.command(["HLEN", keys.devices(bob)]).get().int == 1)
            run(.dropDevice, [], ["fcm", "\"second\"", "9000000000000"])
            try world.run(for: 100)
            #expect(try world.redis.command(["HLEN", keys.devices(bob)]).get().int == 0)
        }
    }
}
