import Expectations
import Foundation
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A damaged record does not keep changes that concern all of a user's conversations from the other conversations and
/// users.
@Suite struct DamagedConversationTests {
    private static let pause: Milliseconds = 10_000

    @Test(arguments: [0, 4])
    func `a deleted user leaves the conversations behind a damaged one, and that one once it is repaired`(place: Int)
        throws
    {
        let accounts = try AccountWorld()
        let world = accounts.world
        let made = try accounts.signUp("bob@example.org").json
        let bob = try #require(made["user"] as? String)
        let ids = try world.groups(5, of: ["ana", bob])
        try world.damage(conversation: ids[place])
        let deleted = try accounts.call(
            "DELETE", "/v1/me", ["password": AccountWorld.password], token: made["accessToken"] as? String)
        expect(deleted.status, equals: 204)
        try world.wait(until: "bob is in none of the others", within: 1_000) {
            try Array(world.inbox(of: bob).keys) == [ids[place].string]
        }
        expect(ids.allSatisfy { world.member(bob, of: $0).isEmpty })
        try expect(world.unfinished(), equals: ["departing \(bob)"])
        expect(world.shards.contains { $0.logic.metrics.damagedRecords > 0 })
        try world.remove(conversation: ids[place])
        try world.wait(until: "it is over", within: Self.pause + 200) { try world.unfinished().isEmpty }
        try expect(world.inbox(of: bob).isEmpty)
    }

    @Test(arguments: [0, 4])
    func `receipts are switched off in the conversations behind a damaged one`(place: Int) throws {
        let world = try World(shards: 2)
        let ids = try world.groups(5, of: ["ana", "bob"])
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        try world.damage(conversation: ids[place])
        for (id, isShown) in [(50, false), (51, true), (52, false)] {
            let audience = isShown ? "everyone" : "nobody"
            ana.sendText(#"{"type":"setVisibility","id":\#(id),"visibility":{"receipts":"\#(audience)"}}"#)
            try world.run(for: 500)
            expect(ana.texts.last { $0.contains(#""id":\#(id)"#) }?.contains(#""type":"ok""#), equals: true)
            for talk in ids where talk != ids[place] {
                expect(world.member("ana", of: talk).dropLast().last, equals: isShown ? "e" : "n")
            }
        }
        try expect(world.unfinished(), equals: ["receipts ana"])
        try world.remove(conversation: ids[place])
        try world.wait(until: "it is over", within: Self.pause + 200) { try world.unfinished().isEmpty }
    }

    @Test func `an unreadable conversation is not reported as removed`() throws {
        let world = try World(shards: 2)
        let ids = try world.groups(3, of: ["ana", "bob"])
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        func list(_ id: Int) throws -> [String: [String: Any]] {
            let known = ids.map { "\"\($0)\":1" }.joined(separator: ",")
            ana.sendText(#"{"type":"subscribe","id":\#(id),"conversationList":true,"known":{\#(known)}}"#)
            var list: [[String: Any]]?
            try world.run(until: "ana has the list") {
                let answer = ana.texts.last { $0.contains(#""id":\#(id)"#) }.flatMap {
                    try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
                }
                list = answer?["conversationList"] as? [[String: Any]]
                return list != nil
            }
            return Dictionary(
                uniqueKeysWithValues: list!.compactMap { each in (each["id"] as? String).map { ($0, each) } })
        }
        try world.damage(conversation: ids[0])
        try world.remove(conversation: ids[1])
        let told = try list(90)
        expect(told[ids[0].string] == nil, "\(told)")
        expect(told[ids[1].string]?["removed"] as? Bool, equals: true)
        expect(told[ids[2].string] != nil && told[ids[2].string]?["removed"] == nil)
        // The inbox alone shows that the user left it.
        let keys = world.shards[0].logic.partitions.keys(of: UserID("ana")!)
        _ = try world.redis.ask(["HSET", keys.inbox(UserID("ana")!), ids[0].string, "out 5"]).get()
        try expect(list(91)[ids[0].string]?["removed"] as? Bool, equals: true)
    }

    @Test func `a member whose record in the conversation is unreadable stops no change elsewhere`() throws {
        let world = try World(shards: 2)
        let ids = try world.groups(3, of: ["ana", "bob"])
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let key = world.shards[0].logic.partitions.keys(of: ids[0]).conversation(ids[0])
        _ = try world.redis.ask(["HSET", key, "m:ana", "x"]).get()
        ana.sendText(#"{"type":"setVisibility","id":50,"visibility":{"receipts":"nobody"}}"#)
        try world.run(for: 500)
        expect(ana.texts.last { $0.contains(#""id":50"#) }?.contains(#""type":"ok""#), equals: true)
        expect(ids.dropFirst().allSatisfy { world.member("ana", of: $0).dropLast().last == "n" })
    }

    @Test func `a new member is notified even if many others' inboxes are damaged`() throws {
        let world = try World(shards: 2) { $0[Conversations.mostParticipants] = 100 }
        let damaged = (0..<45).map { "damaged-\($0)" }
        for user in damaged { try world.damage(inboxOf: user) }
        let call = SimulatedCall(
            "PUT", "/v1/conversations/large/participants", ["participants": damaged + ["zoe"]], token: "!backend",
            to: world.shards[0])
        try world.wait(until: "zoe has heard", within: 2_000) {
            try world.inbox(of: "zoe")["large"] != nil
        }
        expect(call.status, equals: 200)
        try expect(world.unfinished(), equals: ["joining large"])
    }

    @Test func `changes that cannot be finished are not retried more often when there are many`() throws {
        let world = try World(shards: 1)
        let id = ConversationID("damaged")!
        try world.damage(conversation: id)
        for user in (0..<60).map({ "user-\($0)" }) {
            let keys = world.shards[0].logic.partitions.keys(of: UserID(user)!)
            _ = try world.redis.ask(["HSET", keys.inbox(UserID(user)!), id.string, "in 5"]).get()
            _ = try world.redis.ask(["SADD", keys.unfinished, "departing " + user]).get()
        }
        try world.run(for: 2 * Self.pause)
        world.redis.counts = [:]
        try world.run(for: 20 * Self.pause)
        // Each of them is retried, some ten at a time; but sweeps do not run earlier because there are more.
        expect((18...20).contains(world.redis.counts["SRANDMEMBER", default: 0] / world.configuration.partitions))
        expect(world.redis.counts["depart", default: 0] > 600)
        try expect(world.unfinished().count, equals: 60)
    }
}
