import Expectations
import PresenceKit
import PresenceMessages
import Testing

/// The messages library against a real server: two users who write to each other.
@Suite(.sharedServer([:])) struct MessageTests {
    private let server = SharedServer.current!

    @Test func `two users write, page back, mark, edit, delete, and lose nothing over a break`() async throws {
        let (client, other) = (server.client("talk-ana"), server.client("talk-bob"))
        let (ana, bob) = (PresenceMessenger(client), PresenceMessenger(other))
        let connection = Sightings(client.connectionStates)
        client.connect()
        try await connection.until("a connection") { $0.isConnected }
        let id = try await ana.directConversation(with: "talk-bob", metadata: ["n": .number(1)]).id
        for number in 1...60 { try await ana.send("\(number)", in: id) }
        let waiting = Sightings(ana.waiting)
        try await waiting.until("all is sent") { $0 == 0 }

        let seen = Sightings(bob.messages(in: id))
        let page = try await seen.until("the newest page") { $0.count == 50 }
        expect(page.map(\.text), equals: (11...60).map { "\($0)" })
        try await bob.loadEarlier(in: id)
        try await seen.until("all pages") { $0.map(\.text) == (1...60).map { "\($0)" } }
        let own = Sightings(ana.messages(in: id))
        try await own.until("delivered by itself") { $0.last?.status == .delivered }
        await bob.markRead(in: id)
        let read = try await own.until("read") { $0.last?.status == .read && $0.last?.readBy == ["talk-bob"] }

        let edited = try await ana.edit(read[read.count - 1], text: "edited")
        expect(edited.editCount == 1 && edited.editHistory?.map(\.text) == ["60"])
        try await expect(ana.delete(read[read.count - 2]).isDeleted)
        try await seen.until("both") { $0.last?.text == "edited" && $0.dropLast().last?.isDeleted == true }

        other.networkChanged(isAvailable: false)
        try await ana.send("while away", in: id)
        try await bob.send("offline", in: id)
        try await waiting.until("sent") { $0 == 0 }
        other.networkChanged(isAvailable: true)
        let all = try await seen.until("what was missed, and what waited") { $0.count == 62 && $0.last?.sequence == 62 }
        expect(all.suffix(2).map(\.text), equals: ["while away", "offline"])
    }

    @Test func `a group is renamed, muted, archived and left`() async throws {
        let (client, other) = (server.client("group-ana"), server.client("group-bob"))
        let (ana, bob) = (PresenceMessenger(client), PresenceMessenger(other))
        let group = try await ana.createGroup(with: ["group-bob", "group-cy"], name: "Trip")
        let list = Sightings(bob.conversationList)
        try await list.until("the group") { $0.first?.groupName == "Trip" }
        try await ana.rename(group.id, to: "Alps")
        try await bob.mute(group.id, for: .seconds(60))
        try await bob.archive(group.id)
        try await list.until("its settings") {
            $0.first?.groupName == "Alps" && $0.first?.mutedUntil != nil && $0.first?.isArchived == true
        }
        try await bob.leave(group.id)
        try await list.until("nothing") { $0.isEmpty }
    }

    @Test func `a message rejected by a block fails, and is sent when it is retried after the block`() async throws {
        let (client, other) = (server.client("block-ana"), server.client("block-bob"))
        let ana = PresenceMessenger(client)
        let id = try await ana.directConversation(with: "block-bob").id
        let shown = Sightings(ana.messages(in: id))
        try await other.block(["block-ana"])
        // A block takes effect within a moment on every shard.
        var number = 0
        while await shown.all.last?.last?.status != .failed {
            number += 1
            try await ana.send("\(number)", in: id)
            try await shown.until("an answer") { [number] in $0.count == number && $0.last?.status != .sending }
        }
        let refused = try #require(await shown.all.last?.last)
        expect(refused.failure?.code, equals: .forbidden)
        try await other.unblock(["block-ana"])
        while try await ana.getMessages(in: id).last?.id != refused.id {
            // It may still be on its way.
            try? await ana.retry(refused.id)
            try await shown.until("an answer") { $0.last?.status != .sending && $0.last?.id == refused.id }
        }
        let all = try await ana.getMessages(in: id)
        expect(all.map(\.text) == (1...number).map { "\($0)" } && all.last?.sequence == Int64(number))
    }

    @Test func `a user with receipts off reads unseen, and their marks are visible once they are on`() async throws {
        let (client, other) = (server.client("quiet-ana"), server.client("quiet-bob"))
        let (ana, bob) = (PresenceMessenger(client), PresenceMessenger(other))
        let id = try await ana.directConversation(with: "quiet-bob").id
        try await other.setVisibility(receipts: .nobody)
        try await expect(other.visibility().receipts, equals: .nobody)
        let (own, seen) = (Sightings(ana.messages(in: id)), Sightings(bob.messages(in: id)))
        try await ana.send("one", in: id)
        try await seen.until("it arrives") { $0.last?.text == "one" && $0.last?.sequence == 1 }
        await bob.markRead(in: id)
        let list = Sightings(bob.conversationList)
        try await list.until("it is read") { $0.first?.unreadCount == 0 }
        let talks = Sightings(ana.conversationList)
        try await talks.until("arrived, and not read") { list in
            list.first?.member("quiet-bob").map { $0.delivered == 1 && $0.read == nil } == true
        }
        try await own.until("delivered, and no more") { $0.last?.status == .delivered }

        try await other.setVisibility(receipts: .everyone)
        try await ana.send("two", in: id)
        try await seen.until("the second") { $0.last?.sequence == 2 }
        await bob.markRead(in: id)
        let read = try await own.until("both are read") { $0.last?.status == .read }
        expect(read.allSatisfy { $0.status == .read })
    }

    @Test func `who wrote offline before ever being connected is told so, and a known conversation is shown offline`()
        async throws
    {
        let client = server.client("away-ana")
        let messages = PresenceMessenger(client)
        let error = await #expect(throws: PresenceError.self) { try await messages.send("x", in: "c1") }
        expect(error?.code, equals: .notConnected)
        let list = Sightings(messages.conversationList)
        try await expect(list.until("an empty list") { _ in true }.isEmpty)
        let made = try await messages.directConversation(with: "away-bob")
        try await list.until("the conversation") { $0.map(\.id) == [made.id] }
        client.networkChanged(isAvailable: false)
        try await expect(messages.conversation(made.id).participants, equals: ["away-ana", "away-bob"])
        let sent = try await messages.send("offline", in: made.id)
        client.networkChanged(isAvailable: true)
        let shown = Sightings(messages.messages(in: made.id))
        let stored = try await shown.until("sent") { $0.last?.sequence == 1 }
        expect(stored.map(\.id), equals: [sent.id])
    }
}
