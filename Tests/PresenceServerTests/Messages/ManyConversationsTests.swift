import Expectations
import Foundation
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A change that concerns all conversations of a user, or all members of a conversation, takes seconds however many
/// they are, and delays nothing else.
@Suite struct ManyConversationsTests {
    private func ask(_ client: SimulatedClient, _ request: String, _ id: Int, in world: World) throws -> String {
        client.sendText(#"{"id":\#(id),\#(request)}"#)
        var answer: String?
        try world.run(until: "request \(id) is answered", within: 10_000) {
            answer = client.texts.last { $0.contains(#""id":\#(id)"#) }
            return answer != nil
        }
        return answer!
    }

    private func receipts(_ isShown: Bool) -> String {
        #""type":"setVisibility","visibility":{"receipts":"\#(isShown ? "everyone" : "nobody")"}"#
    }

    private func failures(in world: World) -> Int { world.shards.reduce(0) { $0 + $1.logic.intents.failures } }

    @Test(arguments: [60, 200, 2_000])
    func `receipts are switched off in all conversations within seconds`(count: Int) throws {
        let world = try World(shards: 2)
        let ids = try world.groups(count, of: ["ana", "bob"])
        // Each conversation takes one round trip to Redis.
        let patience = Milliseconds(1_000 + 6 * count)
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        try expect(ask(ana, receipts(false), 50, in: world).contains(#""type":"ok""#))
        try world.wait(until: "all have heard", within: patience) {
            ids.allSatisfy { world.member("ana", of: $0).dropLast().last == "n" }
        }
        try world.wait(until: "it is over", within: 1_000) { try world.unfinished().isEmpty }
        let call = SimulatedCall(
            "PATCH", "/v1/users/ana/visibility", ["receipts": "everyone"], token: "!backend", to: world.shards[1])
        try world.run(until: "the backend is answered", within: 10_000) { call.status != nil }
        expect(call.status, equals: 200)
        try world.wait(until: "all have heard again", within: patience) {
            ids.allSatisfy { world.member("ana", of: $0).dropLast().last == "e" }
        }
        // A sweep may have started on it, too, and finds nothing left.
        try world.run(until: "it is over again", within: 2_000) {
            world.shards.allSatisfy { $0.logic.intents.waiting == 0 && $0.logic.intents.underWay == 0 }
        }
        try expect(world.unfinished(), equals: [])
        expect(failures(in: world), equals: 0)
    }

    @Test func `a user who repeats a change keeps no other change from being finished`() throws {
        let world = try World(shards: 2)
        let ids = try world.groups(200, of: ["ana", "bob"])
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        for turn in 0..<16 {
            // The last repetition arrives while the change waits.
            if turn == 12 { try world.leaveGroup("left", of: ["cy", "dan"]) }
            try expect(ask(ana, receipts(turn % 2 == 1), 50 + turn, in: world).contains(#""type":"ok""#))
            try world.run(for: 2_500)
        }
        try expect(world.inbox(of: "cy")["left"] != nil && world.inbox(of: "dan")["left"] != nil)
        expect(ids.allSatisfy { world.member("ana", of: $0).dropLast().last == "e" })
        try expect(failures(in: world) == 0 && world.unfinished().isEmpty)
    }

    @Test(arguments: [61, 200])
    func `a user whose account is deleted is in no conversation within seconds`(count: Int) throws {
        let accounts = try AccountWorld()
        let world = accounts.world
        let made = try accounts.signUp("bob@example.org").json
        let bob = try #require(made["user"] as? String)
        let ids = try world.groups(count, of: ["ana", bob])
        let deleted = try accounts.call(
            "DELETE", "/v1/me", ["password": AccountWorld.password], token: made["accessToken"] as? String)
        expect(deleted.status, equals: 204)
        try world.wait(until: "bob is in none", within: 3_000) {
            ids.allSatisfy { world.member(bob, of: $0).isEmpty }
        }
        try world.wait(until: "it is over", within: 1_000) { try world.unfinished().isEmpty }
        try expect(world.inbox(of: bob).isEmpty && failures(in: world) == 0)
        expect(ids.allSatisfy { !world.member("ana", of: $0).isEmpty })
    }

    @Test func `a hundred users added at once all have the conversation within seconds`() throws {
        let world = try World(shards: 2) { $0[Conversations.mostParticipants] = 200 }
        let users = (0..<100).map { "user-\($0)" }
        let call = SimulatedCall(
            "PUT", "/v1/conversations/large/participants", ["participants": users], token: "!backend",
            to: world.shards[0])
        try world.run(until: "the backend is answered", within: 3_000) { call.status != nil }
        expect(call.status, equals: 200)
        try world.wait(until: "all inboxes have it", within: 3_000) {
            try users.allSatisfy { try world.inbox(of: $0)["large"] != nil }
        }
        try world.wait(until: "it is over", within: 1_000) { try world.unfinished().isEmpty }
        expect(failures(in: world), equals: 0)
    }

    @Test func `parts of long changes take turns, and those without room to wait are left to the sweep`() throws {
        let world = try World(shards: 1)
        let users = ["ana", "bob", "cy", "dan"]
        let ids = try world.groups(120, of: users)
        let intents = world.shards[0].logic.intents!
        (intents.mostTurns, intents.mostWaitingTurns) = (1, 2)
        let clients = try users.map { try SimulatedClient($0, in: world).connect(to: world.shards[0]) }
        var most = 0
        for client in clients { client.sendText(#"{"id":50,\#(receipts(false))}"#) }
        func haveHeard() -> Int {
            users.count { user in ids.allSatisfy { world.member(user, of: $0).dropLast().last == "n" } }
        }
        let resumed = intents.resumed
        try world.run(until: "all are answered", within: 5_000) {
            most = max(most, intents.waiting)
            return clients.allSatisfy { $0.texts.contains { $0.contains(#""type":"ok""#) && $0.contains(#""id":50"#) } }
        }
        try world.wait(until: "three of them are done", within: 5_000) { haveHeard() == 3 }
        expect(most == 2 && intents.failures == 0)
        try world.wait(until: "the last one is done", within: 22_000) { haveHeard() == 4 }
        expect(intents.resumed > resumed && intents.failures == 0)
        try world.wait(until: "it is over", within: 12_000) { try world.unfinished().isEmpty }
    }
}
