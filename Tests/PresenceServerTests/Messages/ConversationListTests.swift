import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Events to watchers of a conversation list when a change has to be read from Redis.
@Suite struct ConversationListTests {
    private let world: World
    private let ana: SimulatedClient
    private let bob: SimulatedClient
    private let id: ConversationID

    init() throws {
        let world = try World(shards: 2) { _ in }
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        (self.world, self.ana) = (world, ana)
        bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        ana.send(.createConversation(participants: [UserID("bob")!]))
        var made: ConversationID?
        try world.run(until: "there is a conversation") {
            made = ana.received.compactMap { if case .conversationCreated(_, let c) = $0 { c.id } else { nil } }.first
            return made != nil
        }
        id = made!
        bob.sendText(#"{"type":"subscribe","id":90,"conversationList":true}"#)
        try world.run(for: 1_000)
    }

    /// The texts of the newest messages in bob's events.
    private var told: [String] {
        bob.texts.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
            .filter { $0["type"] as? String == "conversation" }
            .compactMap { ($0["conversation"] as? [String: Any])?["lastMessage"] as? [String: Any] }
            .compactMap { $0["text"] as? String }
    }

    private func send(_ text: String, _ number: Int) {
        ana.sendText(
            #"{"type":"send","id":\#(number),"conversation":"\#(id)","message":{"id":"m\#(number)","text":"\#(text)"}}"#
        )
    }

    @Test func `a long newest message is read and delivered in full`() throws {
        let long = String(repeating: "x", count: 4_990)
        send(long, 100)
        try world.run(until: "bob is told") { told.last == long }
        let heard = told.count
        // Further changes of the conversation do not carry the message to every shard.
        var bytes = 0
        let publish = world.redis.publish
        world.redis.publish = {
            bytes += $1.count
            publish($0, $1)
        }
        for number in 0..<20 {
            let muted = number % 2 == 0
            ana.sendText(
                #"{"type":"conversationSettings","id":\#(200 + number),"conversation":"\#(id)","muted":\#(muted)}"#)
            try world.run(for: 100)
        }
        expect(bytes < 20 * 2_048)
        expect(told.count == heard && told.last == long)
    }

    @Test func `an event that Redis cannot supply for a moment is delivered later`() throws {
        let long = String(repeating: "y", count: 4_990)
        var refusals = 0
        world.redis.refuse = { script, words in
            guard script == nil, words.first == "HGETALL", refusals < 3 else { return nil }
            refusals += 1
            return .server(code: "BUSY", message: "BUSY a script is running")
        }
        send(long, 100)
        try world.run(until: "bob is told", within: 10_000) { told.last == long }
        expect(refusals, equals: 3)
    }

    /// The second break begins when the lists have been read, and the shard is not live yet. It is long: a change from
    /// its beginning is sent because it came after the first loss.
    @Test func `a change during a second break is delivered`() throws {
        let shard = world.shards[1]
        shard.loseRedis(for: 1_000)
        var isLostAgain = false
        world.redis.ran = { [world] script, arguments, _ in
            // This renewal has the canary that would end the first break.
            let isLast = script == .renew && arguments[1] == shard.logic.link.incarnation && arguments[3] != "1"
            guard isLast, !isLostAgain, !shard.logic.link.isLive else { return }
            isLostAgain = true
            world.after(0) { shard.loseRedis(for: 90_000) }
        }
        try world.run(until: "Redis is lost again") { isLostAgain }
        try world.run(for: 10)
        send("x", 100)
        try world.run(for: 60_000)
        expect(told.isEmpty && ana.texts.contains { $0.hasPrefix(#"{"type":"sent","#) })
        try world.run(until: "bob is told", within: 60_000) { told.last == "x" }
    }
}
