import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// An account is deleted with its messages: they lose their contents in all conversations, whichever server dies.
@Suite struct ErasedMessagesTests {
    private let accounts: AccountWorld
    private let ana: SimulatedClient
    private let bob: SimulatedClient
    private let bobsID: UserID
    private let bobsToken: String
    private var world: World { accounts.world }
    /// More than one step erases.
    private static let count = 45

    init() throws {
        let accounts = try AccountWorld()
        self.accounts = accounts
        let made = try accounts.signUp("bob@example.org").json
        bobsID = try #require((made["user"] as? String).flatMap { UserID($0) })
        bobsToken = try #require(made["accessToken"] as? String)
        ana = try SimulatedClient("ana", in: accounts.world).connect(to: accounts.world.shards[0])
        bob = try SimulatedClient(bobsID.string, in: accounts.world).connect(to: accounts.world.shards[0])
    }

    /// A group with messages of both, which bob is in or has left.
    private func group(hasLeft: Bool = false) throws -> ConversationID {
        let before = ana.received.count
        ana.sendText(#"{"type":"createConversation","id":7,"participants":["\#(bobsID)","cy"],"name":"Trip"}"#)
        var made: ConversationID?
        try world.run(until: "there is a conversation") {
            for case .conversationCreated(_, let talk) in ana.received.dropFirst(before) { made = talk.id }
            return made != nil
        }
        let id = try #require(made)
        try world.run(for: 500)
        for (client, name) in [(bob, "bob"), (ana, "ana")] {
            for number in 0..<(client === bob ? Self.count : 1) {
                client.sendText(
                    #"{"type":"send","id":8,"conversation":"\#(id)","message":{"id":"\#(name)\#(number)","text":"of \#(name)"}}"#
                )
            }
            try world.run(for: 500)
        }
        bob.sendText(
            #"{"type":"editMessage","id":9,"conversation":"\#(id)","message":"bob0","text":"edit of bob"}"#)
        if hasLeft {
            bob.sendText(#"{"type":"changeMembers","id":10,"conversation":"\#(id)","remove":["\#(bobsID)"]}"#)
        }
        try world.run(for: 1_000)
        return id
    }

    private func log(of id: ConversationID) throws -> [String] {
        let key = world.shards[0].logic.partitions.keys(of: id).log(id)
        return try world.redis.command(["LRANGE", key, "0", "-1"]).get().array?.compactMap(\.string) ?? []
    }

    private func delete(_ messages: String, at shard: Int) throws {
        let body = ["password": AccountWorld.password, "messages": messages]
        try expect(accounts.call("DELETE", "/v1/me", body, token: bobsToken, at: shard).status, equals: 204)
    }

    private func expectErased(_ ids: [ConversationID]) throws {
        for id in ids {
            let log = try log(of: id)
            expect(log.count, equals: Self.count + 1)
            expect(log.filter { $0.contains("of bob") }, equals: [])
            expect(log.count { $0.contains("of ana") }, equals: 1)
        }
        try expect(world.redis.command(["KEYS", "*:unfinished"]).get().array?.isEmpty, equals: true)
        let keys = world.shards[0].logic.partitions.keys(of: bobsID)
        try expect(world.redis.command(["EXISTS", keys.inbox(bobsID)]).get().int, equals: 0)
    }

    @Test func `messages are erased where the user is a member, and where they have left`() throws {
        let ids = [try group(), try group(hasLeft: true)]
        ana.sendText(#"{"type":"subscribe","id":11,"conversations":[{"id":"\#(ids[0])"}]}"#)
        try world.run(for: 500)
        try delete("delete", at: 1)
        try world.run(for: 25_000)
        try expectErased(ids)
        // A member who watches receives each deletion.
        expect(ana.texts.count { $0.contains(#""deletedBy":"\#(bobsID)""#) } >= Self.count)
    }

    @Test func `messages stay with keep`() throws {
        let id = try group()
        try delete("keep", at: 1)
        try world.run(for: 25_000)
        try expect(log(of: id).count { $0.contains("of bob") }, equals: Self.count)
    }

    @Test(arguments: [Script.deleteAccount, .departing, .depart, .eraseMessages])
    func `they are erased even if the server dies after a step`(script: Script) throws {
        let ids = [try group(), try group(hasLeft: true)]
        world.redis.ran = { [world] ran, _, _ in
            guard ran == script else { return }
            world.redis.ran = { _, _, _ in }
            world.shards[1].die()
        }
        let body = ["password": AccountWorld.password, "messages": "delete"]
        _ = try? accounts.call("DELETE", "/v1/me", body, token: bobsToken, at: 1)
        try world.run(for: 60_000)
        try expectErased(ids)
    }
}
