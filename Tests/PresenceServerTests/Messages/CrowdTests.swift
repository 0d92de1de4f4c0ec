import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// List events for the members of a very large group.
@Suite struct CrowdTests {
    private func parsed(_ client: SimulatedClient, since index: Int) -> [[String: Any]] {
        client.texts[index...].filter { $0.hasPrefix(#"{"type":"conversation","#) }.compactMap {
            (try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])?["conversation"]
                as? [String: Any]
        }
    }

    @Test(arguments: [(50, 40...40), (300, 3...8)])
    func `list events of a large group are paced, those of a small one immediate`(
        count: Int, told: ClosedRange<Int>
    ) throws {
        let world = try World(shards: 2) { $0[Conversations.mostParticipants] = 1_000 }
        let users = ["ana", "cy"] + (0..<count - 2).map { "member-\($0)" }
        let id = try world.groups(1, of: users)[0]
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let cy = try SimulatedClient("cy", in: world).connect(to: world.shards[1])
        cy.sendText(#"{"type":"subscribe","id":80,"conversationList":true,"conversations":[{"id":"\#(id)"}]}"#)
        try world.run(until: "cy has the list") { cy.texts.contains { $0.contains("\"id\":80") } }
        let before = cy.texts.count
        for number in 0..<40 {
            ana.sendText(
                #"{"type":"send","id":\#(100 + number),"conversation":"\#(id)","message":{"id":"m\#(number)","text":"x"}}"#
            )
            try world.run(for: 100)
        }
        try world.run(for: 10_000)
        let events = parsed(cy, since: before)
        expect(told ~= events.count)
        // Messages arrive one by one, and in the end the list is up to date.
        expect(cy.texts[before...].count { $0.hasPrefix(#"{"type":"message","#) }, equals: 40)
        expect(events.last?["last"] as? Int == 40 && events.last?["unread"] as? Int == 40)
        // After a pause the first change is delivered at once.
        let quiet = cy.texts.count
        ana.sendText(#"{"type":"send","id":90,"conversation":"\#(id)","message":{"id":"last","text":"x"}}"#)
        try world.run(for: 100)
        expect(parsed(cy, since: quiet).count, equals: 1)
    }

    @Test func `a long newest message is not repeated with every change`() throws {
        let world = try World(shards: 2)
        let id = try world.groups(1, of: ["ana", "cy"])[0]
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let cy = try SimulatedClient("cy", in: world).connect(to: world.shards[1])
        cy.sendText(#"{"type":"subscribe","id":80,"conversationList":true}"#)
        try world.run(until: "cy has the list") { cy.texts.contains { $0.contains("\"id\":80") } }
        let text = String(repeating: "x", count: 5_000)
        ana.sendText(
            #"{"type":"send","id":90,"conversation":"\#(id)","message":{"id":"long","text":"\#(text)"}}"#)
        try world.run(for: 1_000)
        let before = cy.texts.count
        for number in 0..<40 {
            ana.sendText(
                #"{"type":"renameConversation","id":\#(100 + number),"conversation":"\#(id)","name":"n\#(number)"}"#)
            try world.run(for: 25)
        }
        try world.run(for: 1_000)
        let events = parsed(cy, since: before)
        // Events for one and a half seconds, at 64 KB a second.
        expect((2...8) ~= events.count)
        expect(events.last?["name"] as? String, equals: "n39")
    }

    @Test(arguments: [(10, 0, 0), (300, 29, 5)])
    func `the price of a message or mark depends on the number of members`(
        count: Int, message: Int, mark: Int
    ) throws {
        let world = try World(shards: 1) {
            $0[Conversations.mostParticipants] = 1_000
            $0.limits.userRequestsPerSecond = 1
            $0.limits.userRequestBurst = 1_000
        }
        let id = try world.groups(1, of: ["ana", "cy"] + (0..<count - 2).map { "member-\($0)" })[0]
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let cy = try SimulatedClient("cy", in: world).connect(to: world.shards[0])
        try world.run(for: 5_000)
        ana.sendText(#"{"type":"send","id":80,"conversation":"\#(id)","message":{"id":"m","text":"x"}}"#)
        try world.run(for: 500)
        cy.sendText(#"{"type":"mark","id":80,"conversation":"\#(id)","read":1}"#)
        try world.run(for: 500)
        let logic = world.shards[0].logic!
        // At most one token has been refilled meanwhile.
        for (user, cost) in [("ana", message), ("cy", mark)] {
            let left = (900...1_000).last {
                logic.userRates.wait(for: $0, by: UserID(user)!, at: logic.clock.now) == nil
            }
            expect((1_000 - 1 - cost...1_000 - cost) ~= (left ?? 0), "\(user)")
        }
    }
}
