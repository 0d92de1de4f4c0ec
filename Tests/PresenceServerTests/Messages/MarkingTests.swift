import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Marks of a conversation that arrive at about the same time become one change; other requests do not wait for it.
@Suite struct MarkingTests {
    private let world: World
    private let people: [SimulatedClient]
    private let id: String

    /// A group of five on one server, with one message by ana. All watch their lists.
    init() throws {
        let world = try World(shards: 1)
        self.world = world
        people = try ["ana", "bob", "cy", "dee", "eve"].map {
            try SimulatedClient($0, in: world).connect(to: world.shards[0])
        }
        let ana = people[0]
        ana.sendText(
            #"{"type":"createConversation","id":1,"participants":["bob","cy","dee","eve"],"name":"Trip"}"#)
        var made: String?
        try world.run(until: "there is a group") {
            made =
                ana.received.compactMap { if case .conversationCreated(_, let c) = $0 { c.id.string } else { nil } }
                .first
            return made != nil
        }
        id = made!
        for client in people { client.sendText(#"{"type":"subscribe","id":2,"conversationList":true}"#) }
        ana.sendText(#"{"type":"send","id":3,"conversation":"\#(id)","message":{"id":"m1","text":"here"}}"#)
        try world.run(for: 500)
    }

    private func mark(_ client: SimulatedClient, _ request: Int, _ members: String) {
        client.sendText(#"{"type":"mark","id":\#(request),"conversation":"\#(id)",\#(members)}"#)
    }

    /// The time from now until `client` gets the answer to a request.
    private func answered(_ client: SimulatedClient, _ request: Int) throws -> Milliseconds {
        let began = world.now
        try world.run(until: "request \(request) is answered") {
            client.texts.contains { $0.contains(#""type":"ok","id":\#(request)"#) }
        }
        return world.now - began
    }

    private func member(_ user: String) throws -> [String] {
        let keys = world.shards[0].logic.partitions.keys(of: ConversationID(id)!)
        let value = try world.redis.command(["HGET", keys.conversation(ConversationID(id)!), "m:\(user)"]).get().string
        return try #require(value).split(separator: " ").map(String.init)
    }

    private func listEvents(_ client: SimulatedClient) -> Int {
        client.texts.filter { $0.hasPrefix(#"{"type":"conversation","#) }.count
    }

    @Test func `marks of several members within the interval cause one event per member`() throws {
        let before = people.map(listEvents)
        for client in people.dropFirst() { mark(client, 9, #""delivered":1"#) }
        try world.run(for: 50)
        expect(!people[1].texts.contains { $0.contains(#""type":"ok","id":9"#) }, "it is answered before it is stored")
        for client in people.dropFirst() { _ = try answered(client, 9) }
        try world.run(for: 500)
        expect(zip(people, before).map { listEvents($0) - $1 }, equals: [1, 1, 1, 1, 1])
        for user in ["bob", "cy", "dee", "eve"] { try expect(member(user)[3], equals: "1", "\(user)") }
    }

    @Test func `of two devices' marks the highest counts, and both are answered`() throws {
        let second = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        mark(people[1], 9, #""read":1"#)
        mark(second, 8, #""delivered":1"#)
        _ = try answered(people[1], 9)
        _ = try answered(second, 8)
        try expect(member("bob")[1...3], equals: ["1", "1", "1"])
    }

    @Test func `a later request of the same connection does not wait`() throws {
        mark(people[1], 9, #""read":1"#)
        people[1].sendText(#"{"type":"getConversation","id":10,"conversation":"\#(id)"}"#)
        try expect(answered(people[1], 9) < 50)
        try world.run(until: "the conversation is told") {
            people[1].texts.contains { $0.hasPrefix(#"{"type":"conversationInfo","id":10"#) }
        }
        let info = try #require(people[1].texts.last { $0.hasPrefix(#"{"type":"conversationInfo","id":10"#) })
        expect(info.contains(#""unread":0"#), "what was marked before counts: \(info)")
    }

    @Test func `nor does it wait for an earlier mark that is already answered`() throws {
        let other = try direct()
        // Written together with another member's mark, which came first.
        mark(people[2], 8, #""delivered":1"#)
        try world.run(for: 60)
        people[1].sendText(#"{"type":"mark","id":9,"conversation":"\#(other)","read":1}"#)
        mark(people[1], 10, #""read":1"#)
        try world.run(for: 60)
        try expect(member("bob")[1], equals: "1")
        people[1].sendText(#"{"type":"getConversation","id":11,"conversation":"\#(id)"}"#)
        try expect(answered(people[1], 9) < 20)
    }

    /// The direct conversation of ana and bob, with a message by ana.
    private func direct() throws -> String {
        people[0].sendText(#"{"type":"createConversation","id":4,"participants":["bob"]}"#)
        var made: String?
        try world.run(until: "there is a direct conversation") {
            made =
                people[0].received.compactMap {
                    if case .conversationCreated(_, let c) = $0, c.id.string != id { c.id.string } else { nil }
                }.first
            return made != nil
        }
        people[0].sendText(
            #"{"type":"send","id":5,"conversation":"\#(made!)","message":{"id":"m2","text":"here"}}"#)
        try world.run(for: 500)
        return made!
    }

    @Test func `of two users with hidden receipts, each device receives its user's mark`() throws {
        let pairs = try [people[1], people[2]].map { client in
            client.sendText(#"{"type":"setVisibility","id":20,"visibility":{"receipts":"nobody"}}"#)
            let second = try SimulatedClient(client.user, in: world).connect(to: world.shards[0])
            second.sendText(#"{"type":"subscribe","id":21,"conversationList":true}"#)
            return (client, second)
        }
        try world.run(for: 15_000)
        for (client, _) in pairs { mark(client, 22, #""delivered":1"#) }
        try world.run(for: 500)
        // Within one ms, each user's private change is newer than the other's.
        mark(pairs[0].0, 23, #""read":1"#)
        mark(pairs[1].0, 23, #""read":1"#)
        try world.run(for: 500)
        for (_, second) in pairs {
            let last = try #require(second.texts.last { $0.hasPrefix(#"{"type":"conversation","#) })
            expect(last.contains(#""unread":0"#), "\(last)")
        }
    }

    @Test func `later marks wait together`() throws {
        mark(people[1], 9, #""delivered":1"#)
        mark(people[1], 10, #""read":1"#)
        try expect(answered(people[1], 9) >= 90)
        _ = try answered(people[1], 10)
        try expect(member("bob")[1...3], equals: ["1", "1", "1"])
    }

    @Test func `a mark is stored even if its client leaves`() throws {
        mark(people[1], 9, #""read":1"#)
        try world.run(for: 20)
        people[1].close(code: 1000)
        try world.run(for: 500)
        try expect(member("bob")[1], equals: "1")
    }

    @Test func `a mark whose token is revoked while it waits changes nothing`() throws {
        mark(people[1], 9, #""read":1"#)
        try world.run(for: 20)
        let bob = UserID("bob")!
        let keys = world.shards[0].logic.partitions.keys(of: bob)
        _ = world.redis.command(["HSET", keys.user(bob), "revokedAt", String(world.redisNow + 1_000)])
        mark(people[2], 9, #""read":1"#)
        _ = try answered(people[2], 9)
        try world.run(for: 500)
        try expect(member("bob")[1], equals: "0")
        try expect(member("cy")[1], equals: "1")
        expect(!people[1].texts.contains { $0.contains(#""type":"ok","id":9"#) })
    }

    private func key(of user: String) -> String {
        let user = UserID(user)!
        return world.shards[0].logic.partitions.keys(of: user).user(user)
    }

    @Test func `marks do not wait for a member whose partition does not respond`() throws {
        let deaf = key(of: "bob")
        world.shards[0].isUnreachable = { $0 == deaf }
        for client in people.dropFirst() { mark(client, 9, #""read":1"#) }
        for client in people.dropFirst(2) { try expect(answered(client, 9) < 250, "\(client.user)") }
        for user in ["cy", "dee", "eve"] { try expect(member(user)[1], equals: "1", "\(user)") }
        // Meanwhile each further mark waits a moment longer, and no more.
        mark(people[2], 10, #""read":1"#)
        try expect(answered(people[2], 10) < 250)
        try expect(member("bob")[1], equals: "0")
        try world.run(until: "bob is told that it could not be done", within: 10_000) {
            people[1].texts.contains { $0.contains(#""code":"unavailable""#) && $0.contains(#""id":9"#) }
        }
    }

    @Test func `a token is checked again if the server paused while its mark waited`() throws {
        let deaf = key(of: "dee")
        world.shards[0].isUnreachable = { $0 == deaf }
        for client in [people[1], people[3]] { mark(client, 9, #""read":1"#) }
        // Both tokens are checked, and bob's is valid.
        try world.run(for: 120)
        try expect(member("bob")[1], equals: "0")
        world.shards[0].stop()
        _ = world.redis.command(["HSET", key(of: "bob"), "revokedAt", String(world.redisNow + 1_000)])
        try world.run(for: world.configuration.commandTimeout + 500)
        world.shards[0].wakeUp()
        try world.run(for: 500)
        try expect(member("bob")[1], equals: "0")
        expect(!people[1].texts.contains { $0.contains(#""type":"ok","id":9"#) })
    }

    @Test func `a stranger's mark is rejected, and members' marks in the same write are stored`() throws {
        let stranger = try SimulatedClient("zoe", in: world).connect(to: world.shards[0])
        mark(stranger, 9, #""read":1"#)
        mark(people[1], 9, #""read":1"#)
        _ = try answered(people[1], 9)
        try world.run(for: 100)
        expect(stranger.texts.contains { $0.contains(#""code":"forbidden""#) && $0.contains(#""id":9"#) })
        try expect(member("bob")[1], equals: "1")
    }
}
