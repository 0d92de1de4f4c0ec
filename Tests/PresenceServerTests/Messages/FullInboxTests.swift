import Expectations
import Foundation
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// The limit of conversations per user holds, also when many strangers add the same user at once.
@Suite struct FullInboxTests {
    private let world: World
    private let ana: SimulatedClient
    private let eve: SimulatedClient
    private let bob = UserID("bob")!

    init() throws { try self.init(most: 2) }

    private init(most: Int) throws {
        let world = try World(shards: 2) { $0[Conversations.mostPerUser] = most }
        self.world = world
        ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        eve = try SimulatedClient("eve", in: world).connect(to: world.shards[1])
    }

    private enum Answer: Equatable {
        case made(ConversationID)
        case ok
        case refused(ErrorCode)
    }

    private func answer(to id: Int64?, of client: SimulatedClient) throws -> Answer {
        var answer: Answer?
        try world.run(until: "\(client.user) is answered") {
            for message in client.received {
                switch message {
                case .conversationCreated(let asked, let talk) where asked == id: answer = .made(talk.id)
                case .ok(let asked) where asked == id: answer = .ok
                case .error(let error) where error.id == id: answer = .refused(error.code)
                default: break
                }
            }
            return answer != nil
        }
        return answer!
    }

    private func create(_ members: String, by client: SimulatedClient, _ id: Int64) throws -> Answer {
        client.sendText(#"{"type":"createConversation","id":\#(id),\#(members)}"#)
        return try answer(to: id, of: client)
    }

    private func made(_ answer: Answer) throws -> ConversationID {
        guard case .made(let id) = answer else { throw World.Impatience(what: "made, and not \(answer)") }
        return id
    }

    private func inbox(of user: String) throws -> [String] {
        let id = UserID(user)!
        let key = world.shards[0].logic.partitions.keys(of: id).inbox(id)
        let words = try world.redis.command(["HGETALL", key]).get().array?.compactMap(\.string) ?? []
        return stride(from: 0, to: words.count - 1, by: 2).filter { words[$0 + 1].hasPrefix("in ") }.map { words[$0] }
    }

    private func members(of id: ConversationID) throws -> Set<String> {
        let key = world.shards[0].logic.partitions.keys(of: id).conversation(id)
        let names = try world.redis.command(["HKEYS", key]).get().array?.compactMap(\.string) ?? []
        return Set(names.filter { $0.hasPrefix("m:") }.map { String($0.dropFirst(2)) })
    }

    @Test func `a user at the limit is added to no more conversations, until there is room`() throws {
        let first = try made(create(#""participants":["bob","dan"],"name":"A""#, by: ana, 101))
        let direct = try made(create(#""participants":["bob"]"#, by: eve, 101))
        try expect(create(#""participants":["bob"],"name":"B""#, by: ana, 102), equals: .refused(.tooMany))
        try expect(create(#""participants":["bob"]"#, by: ana, 103), equals: .refused(.tooMany))
        // An existing direct conversation is found.
        try expect(create(#""participants":["bob"]"#, by: eve, 102), equals: .made(direct))
        let other = try made(create(#""participants":["cy"],"name":"C""#, by: eve, 103))
        eve.sendText(#"{"type":"changeMembers","id":104,"conversation":"\#(other)","add":["bob"]}"#)
        try expect(answer(to: 104, of: eve), equals: .refused(.tooMany))
        try expect(members(of: other), equals: ["eve", "cy"])
        ana.sendText(#"{"type":"changeMembers","id":104,"conversation":"\#(first)","remove":["bob"]}"#)
        try expect(answer(to: 104, of: ana), equals: .ok)
        eve.sendText(#"{"type":"changeMembers","id":105,"conversation":"\#(other)","add":["bob"]}"#)
        try expect(answer(to: 105, of: eve), equals: .ok)
        try expect(Set(inbox(of: "bob")), equals: [direct.string, other.string])
    }

    @Test func `of many concurrent additions of a user, as many succeed as the limit allows`() throws {
        let ids = (201...206).map { Int64($0) }
        for id in ids {
            ana.sendText(#"{"type":"createConversation","id":\#(id),"participants":["bob"],"name":"\#(id)"}"#)
        }
        eve.sendText(#"{"type":"createConversation","id":300,"participants":["bob"]}"#)
        for id in ids { _ = try answer(to: id, of: ana) }
        _ = try answer(to: 300, of: eve)
        try world.run(for: 30_000)
        for user in ["ana", "bob", "eve"] {
            let held = try inbox(of: user)
            expect(held.count <= 2)
            for id in held { try expect(members(of: ConversationID(id)!).contains(user)) }
        }
        try expect(inbox(of: "bob").count, equals: 2)
        // And no user is in a conversation that is missing in their list.
        for partition in 0..<4 {
            let keys = world.shards[0].logic.partitions.keys(partition)
            for key in try world.redis.command(["KEYS", keys.conversations + "*"]).get().array?.compactMap(\.string)
                ?? []
            {
                let id = ConversationID(String(key.dropFirst(keys.conversations.count)))!
                for user in try members(of: id) { try expect(inbox(of: user).contains(id.string)) }
            }
            try expect(world.redis.command(["SCARD", keys.unfinished]).get().int, equals: 0)
        }
    }

    /// Runs a step of the conversation's intent, in the partition of these keys, as a server would.
    private func run(
        _ script: Script, of id: ConversationID, in keys: PartitionKeys, _ names: [String], _ arguments: [String]
    ) -> [String] {
        let first = [String(world.redisNow), keys.events, world.shards[0].logic.link.incarnation, "joining \(id)"]
        let answer = world.redis.run(
            script, keys: [keys.shards, keys.floor] + names, arguments: first + arguments)
        return (try? answer.get().array?.compactMap(\.string)) ?? []
    }

    @Test func `a late step brings no user back who was removed for lack of room`() throws {
        // One server finds the inbox full; another one finds room, and reports it after the first has acted.
        let first = try made(create(#""participants":["bob"],"name":"A""#, by: ana, 101))
        _ = try made(create(#""participants":["bob"]"#, by: ana, 102))
        let third = try made(create(#""participants":["cy"],"name":"C""#, by: eve, 101))
        let logic = world.shards[0].logic!
        let (keys, bobs) = (logic.partitions.keys(of: third), logic.partitions.keys(of: bob))
        let all = keys.whole(third).map(\.value)
        expect(run(.members, of: third, in: keys, all, [third.string, "eve", "10", "+", "bob"]), equals: ["OK", "2"])
        let waiting = run(.joining, of: third, in: keys, [keys.unfinished, keys.conversation(third)], [])
        let version = try #require(waiting.last)
        func enroll(_ state: String, _ version: String) -> String? {
            run(
                .enroll, of: third, in: bobs,
                [bobs.unfinished, bobs.inbox(bob), bobs.user(bob), bobs.pushed(bob), bobs.contacts(bob)],
                [third.string, state, version, "2"]
            ).dropFirst().first
        }
        expect(enroll("in", version), equals: "+")
        expect(run(.settle, of: third, in: keys, all, [third.string, "bob", version, "+", ""]), equals: ["OK"])
        try expect(members(of: third), equals: ["eve", "cy"])
        // There is room now, and the late step takes it.
        ana.sendText(#"{"type":"changeMembers","id":103,"conversation":"\#(first)","remove":["bob"]}"#)
        try expect(answer(to: 103, of: ana), equals: .ok)
        _ = enroll("in", version)
        _ = run(.settle, of: third, in: keys, all, [third.string, "bob", version, "", ""])
        // The sweep updates the inbox: bob is not a member.
        try world.run(for: 30_000)
        try expect(inbox(of: "bob").count, equals: 1)
        try expect(world.redis.command(["SCARD", keys.unfinished]).get().int, equals: 0)
    }

    @Test func `a step that runs twice sends one event`() throws {
        let third = try made(create(#""participants":["cy"],"name":"C""#, by: eve, 101))
        let client = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        client.sendText(#"{"type":"subscribe","id":201,"conversationList":true}"#)
        try world.run(until: "bob has the list") { client.texts.contains { $0.contains(#""type":"subscribed""#) } }
        let keys = world.shards[0].logic.partitions.keys(of: third)
        let all = keys.whole(third).map(\.value)
        expect(run(.members, of: third, in: keys, all, [third.string, "eve", "10", "+", "bob"]), equals: ["OK", "2"])
        let waiting = run(.joining, of: third, in: keys, [keys.unfinished, keys.conversation(third)], [])
        let version = try #require(waiting.last)
        for _ in 0..<2 {
            expect(run(.settle, of: third, in: keys, all, [third.string, "bob", version, "", ""]), equals: ["OK"])
        }
        func heard() -> Int { client.texts.count { $0.hasPrefix(#"{"type":"conversation","#) } }
        try world.run(until: "bob hears of it") { heard() > 0 }
        try world.run(for: 30_000)
        expect(heard(), equals: 1)
    }

    // MARK: Groups of strangers

    private func group(_ name: String, with members: String..., by client: SimulatedClient, _ id: Int64) throws
        -> Answer
    {
        let list = members.map { "\"\($0)\"" }.joined(separator: ",")
        return try create(#""participants":[\#(list)],"name":"\#(name)""#, by: client, id)
    }

    @Test func `strangers' groups leave half the room to direct conversations and to the user's own groups`() throws {
        let room = try FullInboxTests(most: 6)
        let mal = try SimulatedClient("mal", in: room.world).connect(to: room.world.shards[0])
        let client = try SimulatedClient("bob", in: room.world).connect(to: room.world.shards[0])
        let first = try room.made(room.group("1", with: "bob", "cy", by: room.eve, 101))
        for id in 102...103 { _ = try room.made(room.group("\(id)", with: "bob", by: mal, Int64(id))) }
        // They can use half of the room and no more, by any request.
        try expect(room.group("4", with: "bob", by: room.eve, 104), equals: .refused(.tooMany))
        let other = try room.made(room.group("5", with: "cy", by: mal, 105))
        mal.sendText(#"{"type":"changeMembers","id":106,"conversation":"\#(other)","add":["bob"]}"#)
        try expect(room.answer(to: 106, of: mal), equals: .refused(.tooMany))
        // Also after they have left the group to him.
        room.eve.sendText(#"{"type":"changeMembers","id":107,"conversation":"\#(first)","remove":["eve","cy"]}"#)
        try expect(room.answer(to: 107, of: room.eve), equals: .ok)
        try expect(room.members(of: first), equals: ["bob"])
        try expect(room.group("8", with: "bob", by: room.eve, 108), equals: .refused(.tooMany))
        let direct = try room.made(room.create(#""participants":["bob"]"#, by: room.ana, 101))
        let own = try room.made(room.group("Own", with: "cy", by: client, 101))
        let called = try room.made(room.create(#""participants":["cy"]"#, by: client, 102))
        try expect(Set(room.inbox(of: "bob")).isSuperset(of: [direct.string, own.string, called.string]))
        // The total is limited, too.
        try expect(room.inbox(of: "bob").count, equals: 6)
        try expect(room.create(#""participants":["bob"]"#, by: room.eve, 109), equals: .refused(.tooMany))
        try expect(room.group("More", with: "cy", by: client, 103), equals: .refused(.tooMany))
        // Leaving one of the strangers' groups makes room, also for another one of theirs.
        client.sendText(#"{"type":"changeMembers","id":104,"conversation":"\#(first)","remove":["bob"]}"#)
        try expect(room.answer(to: 104, of: client), equals: .ok)
        _ = try room.made(room.group("10", with: "bob", by: room.eve, 110))
    }

    @Test func `many concurrent groups of strangers take no more than their half`() throws {
        let room = try FullInboxTests(most: 6)
        let world = room.world
        let client = try SimulatedClient("bob", in: world).connect(to: world.shards[0])
        let strangers = try (0..<4).map {
            try SimulatedClient("stranger-\($0)", in: world).connect(to: world.shards[$0 % 2])
        }
        for id in 201...205 {
            for stranger in strangers {
                stranger.sendText(#"{"type":"createConversation","id":\#(id),"participants":["bob"],"name":"G"}"#)
            }
        }
        room.ana.sendText(#"{"type":"createConversation","id":201,"participants":["bob"]}"#)
        client.sendText(#"{"type":"createConversation","id":201,"participants":["cy"],"name":"Own"}"#)
        let direct = try room.made(room.answer(to: 201, of: room.ana))
        let own = try room.made(room.answer(to: 201, of: client))
        try world.run(for: 30_000)
        let held = try room.inbox(of: "bob")
        expect(held.count == 5 && Set(held).isSuperset(of: [direct.string, own.string]))
        for id in held { try expect(room.members(of: ConversationID(id)!).contains("bob")) }
        try expect(world.unfinished(), equals: [])
    }

    @Test func `a backend's groups do not count as strangers' groups`() throws {
        let room = try FullInboxTests(most: 4)
        for id in 101...102 { _ = try room.made(room.group("\(id)", with: "bob", by: room.eve, Int64(id))) }
        func put(_ id: String) throws -> Int? {
            let call = SimulatedCall(
                "PUT", "/v1/conversations/\(id)/participants", ["participants": ["bob", "eve", "cy"]],
                token: "!backend", to: room.world.shards[1])
            try room.world.run(until: "the backend is answered") { call.status != nil }
            return call.status
        }
        try expect(put("team-1") == 200 && put("team-2") == 200 && put("team-3") == 422)
        try expect(room.inbox(of: "bob").count, equals: 4)
        try expect(room.members(of: ConversationID("team-1")!), equals: ["bob", "eve", "cy"])
    }

    /// The inbox notes the receipts setting beside the group's origin.
    @Test func `receipts change nothing about a group's origin`() throws {
        let room = try FullInboxTests(most: 4)
        let client = try SimulatedClient("bob", in: room.world).connect(to: room.world.shards[0])
        for id in 101...102 { _ = try room.made(room.group("\(id)", with: "bob", by: room.eve, Int64(id))) }
        for (id, audience) in [(50, "nobody"), (51, "everyone")] {
            client.sendText(#"{"type":"setVisibility","id":\#(id),"visibility":{"receipts":"\#(audience)"}}"#)
            try expect(room.answer(to: Int64(id), of: client), equals: .ok)
        }
        try expect(room.world.unfinished(), equals: [])
        try expect(room.group("103", with: "bob", by: room.eve, 103), equals: .refused(.tooMany))
        _ = try room.made(room.create(#""participants":["bob"]"#, by: room.ana, 101))
    }
}
