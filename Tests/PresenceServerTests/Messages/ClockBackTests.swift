import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Redis' clock is set back, as after a failover to a host that is behind: no user is locked out, and nothing is missed
/// or shown wrongly.
@Suite struct ClockBackTests {
    private let world: World
    private let ana: SimulatedClient
    private let id: ConversationID
    private static let hour: Milliseconds = 3_600_000

    init() throws {
        world = try World(shards: 2)
        ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        id = try world.groups(1, of: ["ana", "bob"])[0]
    }

    private func send(_ number: Int) {
        ana.sendText(
            #"{"type":"send","id":\#(number),"conversation":"\#(id)","message":{"id":"m\#(number)","text":"x"}}"#)
    }

    /// The client's latest entry of the conversation.
    private func told(_ client: SimulatedClient) -> [String: Any]? {
        client.texts.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
            .compactMap { message in
                let list = message["conversationList"] as? [[String: Any]]
                return message["conversation"] as? [String: Any] ?? list?.first
            }.max { ($0["version"] as? Int64 ?? 0) < ($1["version"] as? Int64 ?? 0) }
    }

    private func watch(_ client: SimulatedClient) throws {
        client.sendText(#"{"type":"subscribe","id":90,"conversationList":true}"#)
        try world.run(for: 500)
    }

    @Test func `a user who was disconnected can connect again`() throws {
        let call = SimulatedCall("POST", "/v1/users/ana/disconnect", token: "!backend", to: world.shards[1])
        try world.run(until: "ana is disconnected") { call.status != nil && ana.closeCode == .disconnected }
        world.redisEpoch -= Self.hour
        try world.run(for: 3_000)
        let again = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        expect(again.isConnected)
    }

    @Test(arguments: [0, 50_000, 600_000, 7_200_000])
    func `changes missed while Redis was lost are delivered`(step: Milliseconds) throws {
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try watch(bob)
        try world.run(for: Self.hour)
        world.shards[1].loseRedis(for: 1_000)
        world.redisEpoch -= step
        send(1)
        // The message is stored meanwhile, so its event reaches no subscription of this server.
        try world.run(for: 500)
        expect(ana.texts.contains { $0.hasPrefix(#"{"type":"sent","#) })
        try world.run(until: "bob is told", within: 30_000) { told(bob)?["unread"] as? Int == 1 }
    }

    /// Only the subscription breaks, before the next renewal shows that the clock was set back.
    @Test(arguments: [0, 50_000, 600_000, 7_200_000])
    func `a change that was missed while the subscription was broken is delivered`(step: Milliseconds) throws {
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try watch(bob)
        try world.run(for: Self.hour)
        world.redisEpoch -= step
        world.redis.ran = { [world] script, _, _ in
            if script == .send { world.after(0) { world.shards[1].cutSubscription() } }
        }
        send(1)
        try world.run(until: "bob is told", within: 30_000) { told(bob)?["unread"] as? Int == 1 }
    }

    @Test(arguments: [0, 3_600_000])
    func `a mute of ten minutes lasts ten minutes, even if Redis' clock is set back`(step: Milliseconds) throws {
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try watch(bob)
        send(1)
        try world.run(for: 1_000)
        world.redisEpoch -= step
        try world.run(for: 5_000)
        bob.sendText(
            #"{"type":"conversationSettings","id":91,"conversation":"\#(id)","muted":true,"muteFor":600000}"#)
        try world.run(for: 500)
        expect(told(bob)?["muted"] as? Bool, equals: true)
        for number in 2...4 {
            send(number)
            try world.run(for: 190_000)
            expect(told(bob)?["muted"] as? Bool == true && told(bob)?["unread"] as? Int == number)
        }
        try world.run(for: 35_000)
        expect(told(bob)?["muted"] == nil)
        send(5)
        try world.run(for: 1_000)
        expect(told(bob)?["muted"] == nil && told(bob)?["unread"] as? Int == 5)
    }
}
