import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// An account is deleted while others add its user to a conversation: afterwards the user is in none, and their inbox
/// is gone.
@Suite struct DeletedMemberTests {
    private let accounts: AccountWorld
    private let ana: SimulatedClient
    private let bob: UserID
    private let bobsToken: String
    private var world: World { accounts.world }

    init() throws {
        let accounts = try AccountWorld()
        self.accounts = accounts
        let made = try accounts.signUp("bob@example.org").json
        bob = try #require((made["user"] as? String).flatMap { UserID($0) })
        bobsToken = try #require(made["accessToken"] as? String)
        ana = try SimulatedClient("ana", in: accounts.world).connect(to: accounts.world.shards[0])
    }

    private func deleteBob() throws {
        let deleted = try accounts.call(
            "DELETE", "/v1/me", ["password": AccountWorld.password], token: bobsToken, at: 1)
        expect(deleted.status, equals: 204)
    }

    /// Deletes bob between the first run of a script and its answer.
    private func deleteBob(after script: Script) {
        world.redis.ran = { [world, accounts, bob] ran, _, _ in
            guard ran == script else { return }
            world.redis.ran = { _, _, _ in }
            let logic = world.shards[1].logic!
            let keys = logic.partitions.keys(of: bob)
            let email = accounts.world.redis.ask(["HGET", keys.account(bob), "email"])
            let address = (try? email.get().string).flatMap { $0 }.flatMap { EmailAddress($0) } ?? .nobody
            let call = keys.deletion(of: bob, address)
            _ = world.redis.run(
                call.script, keys: call.keys,
                arguments: [String(world.redisNow)] + call.arguments(of: logic.link.incarnation))
        }
    }

    private func create(_ members: String) throws -> ConversationID {
        ana.sendText(#"{"type":"createConversation","id":7,\#(members)}"#)
        var made: ConversationID?
        try world.run(until: "there is a conversation") {
            for case .conversationCreated(_, let talk) in ana.received { made = talk.id }
            return made != nil
        }
        return try #require(made)
    }

    private func members(of id: ConversationID) throws -> [String] {
        let key = world.shards[0].logic.partitions.keys(of: id).conversation(id)
        return try world.redis.command(["HKEYS", key]).get().array?.compactMap(\.string)
            .filter { $0.hasPrefix("m:") || $0.hasPrefix("j:") }.sorted() ?? []
    }

    private func expectBobGone() throws {
        let keys = world.shards[0].logic.partitions.keys(of: bob)
        try expect(world.redis.command(["EXISTS", keys.inbox(bob)]).get().int, equals: 0)
        try expect(world.redis.command(["HEXISTS", keys.account(bob), "email"]).get().int, equals: 0)
        try expect(world.redis.command(["KEYS", "*:unfinished"]).get().array?.isEmpty, equals: true)
    }

    @Test(arguments: [Script.create, .joining, .enroll, .settle])
    func `a user whose account is deleted while a group is created is not in it`(script: Script) throws {
        deleteBob(after: script)
        let id = try create(#""participants":["\#(bob)","cy"],"name":"Trip""#)
        try world.run(for: 25_000)
        try expect(members(of: id), equals: ["m:ana", "m:cy"])
        try expectBobGone()
        ana.sendText(#"{"type":"getConversation","id":8,"conversation":"\#(id)"}"#)
        try world.run(for: 100)
        expect(ana.texts.last?.contains(#""participants":["ana","cy"]"#), equals: true)
    }

    @Test(arguments: [Script.reserve, .direct, .joining, .enroll, .settle])
    func `a user whose account is deleted while a direct conversation is created is not in it`(script: Script) throws {
        deleteBob(after: script)
        let id = try create(#""participants":["\#(bob)"]"#)
        try world.run(for: 25_000)
        try expect(members(of: id), equals: ["m:ana"])
        try expectBobGone()
    }

    @Test(arguments: [Script.members, .joining, .enroll, .settle])
    func `a user whose account is deleted while they are added is not in it`(script: Script) throws {
        let id = try create(#""participants":["cy"],"name":"Trip""#)
        try world.run(for: 1_000)
        deleteBob(after: script)
        ana.sendText(#"{"type":"changeMembers","id":8,"conversation":"\#(id)","add":["\#(bob)"]}"#)
        try world.run(for: 25_000)
        try expect(members(of: id), equals: ["m:ana", "m:cy"])
        try expectBobGone()
    }

    /// A server that paused runs a step that another one finished long ago.
    @Test func `a late step brings no user back`() throws {
        let id = try create(#""participants":["\#(bob)","cy"],"name":"Trip""#)
        try world.run(for: 1_000)
        try deleteBob()
        try world.run(for: 1_000)
        try expect(members(of: id), equals: ["m:ana", "m:cy"])
        let keys = world.shards[0].logic.partitions.keys(of: bob)
        let late = world.redis.run(
            .enroll,
            keys: [
                keys.shards, keys.floor, keys.unfinished, keys.inbox(bob), keys.user(bob), keys.pushed(bob),
                keys.contacts(bob),
            ],
            arguments: [
                String(world.redisNow), keys.events, world.shards[0].logic.link.incarnation, "joining \(bob)",
                id.string, "in", "9999999999999", "2000",
            ])
        try expect(late.get().array?.compactMap(\.string), equals: ["OK", "-"])
        try expectBobGone()
    }

    @Test
    func `a deleted user cannot be added, and a backend's list leaves them out`()
        throws
    {
        let id = try create(#""participants":["cy"],"name":"Trip""#)
        try deleteBob()
        ana.sendText(#"{"type":"changeMembers","id":10,"conversation":"\#(id)","add":["\#(bob)"]}"#)
        ana.sendText(#"{"type":"createConversation","id":11,"participants":["\#(bob)"]}"#)
        ana.sendText(#"{"type":"createConversation","id":12,"participants":["\#(bob)","cy"],"name":"Again"}"#)
        try world.run(for: 1_000)
        let refused = ana.texts.filter { $0.contains(#""code":"forbidden""#) }
        expect(refused.count, equals: 3)
        let set = try accounts.call(
            "PUT", "/v1/conversations/\(id)/participants", ["participants": ["ana", bob.string]], token: "!backend")
        expect(set.status, equals: 200)
        try world.run(for: 1_000)
        try expect(members(of: id), equals: ["m:ana"])
        try expectBobGone()
    }
    @Test func `a repeated creation is answered even if a member has been deleted since`() throws {
        let creation = #""participants":["\#(bob)","cy"],"name":"Trip","key":"k1""#
        let id = try create(creation)
        try deleteBob()
        try world.run(for: 1_000)
        ana.sendText(#"{"type":"createConversation","id":20,\#(creation)}"#)
        try world.run(for: 1_000)
        let answer = try #require(ana.texts.last { $0.contains(#""id":20"#) })
        expect(answer.contains(#""type":"conversationCreated""#) && answer.contains(id.string))
    }

    @Test func `a backend's list sent again changes nothing`() throws {
        let id = try create(#""participants":["cy"],"name":"Trip""#)
        try deleteBob()
        let versions = try (0..<2).map { _ in
            let set = try accounts.call(
                "PUT", "/v1/conversations/\(id)/participants", ["participants": ["ana", "cy", bob.string]],
                token: "!backend")
            expect(set.status, equals: 200)
            try world.run(for: 1_000)
            let key = world.shards[0].logic.partitions.keys(of: id).conversation(id)
            return try world.redis.command(["HGET", key, "version"]).get().string
        }
        expect(versions[0] == versions[1] && versions[0] != nil)
    }
}
