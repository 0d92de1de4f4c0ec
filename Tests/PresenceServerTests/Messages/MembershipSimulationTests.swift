import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A user is removed from a group and added again, while another server misses the events.
@Suite struct MembershipSimulationTests {
    private final class Room {
        let world: World
        let ana: SimulatedClient
        let cy: SimulatedClient
        let id: String
        private var requests = 100

        init() throws {
            let world = try World(shards: 2)
            self.world = world
            ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
            cy = try SimulatedClient("cy", in: world).connect(to: world.shards[1])
            let ana = ana
            ana.sendText(#"{"type":"createConversation","id":1,"participants":["bob","cy"],"name":"Trip"}"#)
            var made: String?
            try world.run(until: "there is a group") {
                made =
                    ana.received.compactMap { if case .conversationCreated(_, let c) = $0 { c.id.string } else { nil } }
                    .first
                return made != nil
            }
            id = made!
            cy.sendText(#"{"type":"subscribe","id":2,"conversations":[{"id":"\#(id)"}]}"#)
            try world.run(for: 500)
        }

        func ask(_ members: String) throws {
            requests += 1
            ana.sendText(#"{"id":\#(requests),"conversation":"\#(id)",\#(members)}"#)
            try world.run(for: 100)
        }

        func say(_ text: String) throws {
            try ask(#""type":"send","message":{"id":"\#(text)","text":"\#(text)"}"#)
        }

        var heard: [String] {
            cy.texts.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
                .filter { $0["type"] as? String == "message" }
                .compactMap { ($0["message"] as? [String: Any])?["text"] as? String }
        }
    }

    @Test func `a user removed during a break receives no later messages, then or afterwards`() throws {
        let room = try Room()
        try room.say("first")
        room.world.shards[1].deafen()
        try room.ask(#""type":"changeMembers","remove":["cy"]"#)
        try room.say("second")
        try room.world.run(for: 20_000)
        try room.say("third")
        try room.world.run(for: 1_000)
        expect(room.world.shards[1].logic.link.isLive)
        expect(room.heard, equals: ["first"])
        expect(room.cy.typing[ConversationID(room.id)!]?.version, equals: 0)
    }

    @Test func `a user added during a break receives all later messages, in order`() throws {
        let room = try Room()
        try room.ask(#""type":"changeMembers","remove":["cy"]"#)
        try room.say("first")
        room.world.shards[1].deafen()
        try room.ask(#""type":"changeMembers","add":["cy"]"#)
        try room.say("second")
        try room.world.run(for: 20_000)
        try room.say("third")
        try room.world.run(for: 1_000)
        expect(room.heard, equals: ["first", "second", "third"])
    }

    @Test func `a user removed and added during a break misses nothing`() throws {
        let room = try Room()
        try room.say("first")
        room.world.shards[1].deafen()
        try room.ask(#""type":"changeMembers","remove":["cy"]"#)
        try room.say("second")
        try room.ask(#""type":"changeMembers","add":["cy"]"#)
        try room.say("third")
        try room.world.run(for: 20_000)
        expect(room.heard, equals: ["first", "second", "third"])
    }

    @Test func `a removed user receives earlier messages, also of the same turn, and no later ones`() throws {
        let room = try Room()
        room.world.shards[1].isGathering = true
        try room.say("first")
        try room.ask(#""type":"changeMembers","remove":["cy"]"#)
        try room.say("second")
        room.world.shards[1].isGathering = false
        try room.world.run(for: 1_000)
        expect(room.heard, equals: ["first"])
    }
}
