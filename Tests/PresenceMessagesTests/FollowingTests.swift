import Expectations
import Foundation
import TestSupport
import Testing

@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// The elements of a loop over a conversation's messages.
@Suite(.timeLimit(.minutes(1))) struct FollowingTests {
    private let scene = Scene()
    private var server: InMemoryServer { scene.server }

    private func texts(_ list: MessageList) -> [String] { list.map(\.text) }

    @Test func `the newest page comes first, and each page before it on demand`() async throws {
        for number in 1...120 { server.write("\(number)") }
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        let newest = await loop.reaches { $0.count == 50 }
        expect(newest.map(texts), equals: (71...120).map { "\($0)" })
        try await expect(scene.messages.loadEarlier(in: "c1"))
        await expect(loop.reaches { $0.count == 100 }.map(texts), equals: (21...120).map { "\($0)" })
        try await expect(scene.messages.loadEarlier(in: "c1"), equals: false)
        await expect(loop.reaches { $0.count == 120 }.map(texts), equals: (1...120).map { "\($0)" })
        try await expect(scene.messages.loadEarlier(in: "c1"), equals: false)
    }

    @Test func `what others write and edit is shown as it comes`() async throws {
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        server.write("one")
        server.write("two")
        await loop.reaches { texts($0) == ["one", "two"] }
        server.edit(1, to: "ONE")
        let edited = await loop.reaches { texts($0) == ["ONE", "two"] }
        expect(edited?.map(\.sequence), equals: [1, 2])
    }

    @Test func `each list has the changes since the loop's previous one`() async throws {
        server.write("one")
        server.write("two")
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        var ids: [String] = []
        let first = await loop.reaches { list in
            ids += list.changes.added
            return list.count == 2
        }
        expect(ids, equals: first?.map(\.id))
        server.edit(1, to: "ONE")
        let edited = await loop.reaches { texts($0) == ["ONE", "two"] }
        expect(edited?.changes, equals: ListChanges(changed: [ids[0]]))

        // A message of this user appears once: it changes while it is being sent.
        server.isThere(false)
        let own = try await scene.messages.send("three", in: "c1")
        var all = ListChanges()
        let waiting = await loop.reaches { list in
            all.added += list.changes.added
            return list.count == 3
        }
        expect(all.added == [own.id] && waiting?[own.id]?.status == .sending)
        server.isThere(true)
        scene.client.networkChanged(isAvailable: true)
        var removed: [String] = []
        let sent = await loop.reaches { list in
            removed += list.changes.added + list.changes.removed
            return list[own.id]?.status == .sent
        }
        expect(removed.isEmpty && sent?.changes.changed.contains(own.id) == true)
    }

    @Test func `entries removed from a list are named`() {
        func message(_ id: String, _ text: String = "") -> Message {
            Message(id: id, conversationId: "c1", senderId: "bob", text: text)
        }
        let former = [message("a"), message("b"), message("c")]
        let newer = [former[1], message("c", "new"), message("d")]
        let changes = ListChanges(from: former, to: newer, by: \.id)
        expect(changes == ListChanges(added: ["d"], changed: ["c"], removed: ["a"]) && !changes.isEmpty)
        expect(ListChanges(from: newer, to: newer, by: \.id).isEmpty)
    }

    @Test func `after a lost connection nothing is missing or duplicated, even in parts`() async throws {
        server.state.withLock { $0.partLimit = 7 }
        for number in 1...10 { server.write("\(number)") }
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        await loop.reaches { $0.count == 10 }
        for round in 1...4 {
            server.isThere(false)
            for number in 1...20 { server.write("\(round).\(number)") }
            server.edit(3, to: "edited \(round)")
            server.isThere(true)
            scene.client.networkChanged(isAvailable: true)
            let list = await loop.reaches { $0.count == 10 + 20 * round && $0[2].text == "edited \(round)" }
            expect(list?.map(\.sequence), equals: (1...Int64(10 + 20 * round)).map { $0 })
        }
        let cursors = server.requests("subscribe").compactMap { $0["conversations"] as? [InMemoryServer.Object] }
            .flatMap { $0 }.filter { $0["id"] as? String == "c1" && $0["after"] != nil }
        expect(cursors.count >= 4 && cursors.allSatisfy { $0["messagesVersion"] != nil })
    }

    @Test func `after an offline launch what waits is shown, and the rest comes with the connection`() async throws {
        let directory = try TemporaryDirectory()
        do {
            let storage = try Storage.directory(URL(fileURLWithPath: directory.path))
            let scene = Scene(server, storage: storage, user: "ana")
            server.write("theirs")
            await scene.list { $0.count == 1 }
            server.isThere(false)
            try await scene.messages.send("mine", in: "c1")
            await scene.client.close()
        }
        let scene = Scene(server, storage: try await OutboxTests.reopened(directory), user: "ana")
        server.write("more")
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        let shown = await loop.next()
        expect(shown.map(texts) == ["theirs", "mine"] && shown?.last?.status == .sending)
        try await expect(scene.messages.conversation("c1").lastMessage?.text, equals: "theirs")
        server.isThere(true)
        scene.client.networkChanged(isAvailable: true)
        let all = await loop.reaches { $0.last?.status == .sent && $0.count == 3 }
        expect(all.map(texts), equals: ["theirs", "more", "mine"])
    }

    @Test func `a reset replaces the known messages`() async throws {
        for number in 1...60 { server.write("\(number)") }
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        await loop.reaches { $0.count == 50 }
        server.isThere(false)
        for number in 61...130 { server.write("\(number)") }
        server.state.withLock { $0.talks["c1"]!.forgottenBefore = 100 }
        server.isThere(true)
        scene.client.networkChanged(isAvailable: true)
        let list = await loop.reaches { $0.last?.text == "130" }
        expect(list.map(texts), equals: (81...130).map { "\($0)" })
        await expect(scene.messages.hasEarlier(in: "c1"))
    }

    @Test func `a conversation of others has no messages, and reports the reason`() async throws {
        var loop = scene.messages.messages(in: "nothing").makeAsyncIterator()
        await expect(loop.next()?.isEmpty, equals: true)
        while await scene.messages.problem(in: "nothing") == nil { await Task.yield() }
        await expect(scene.messages.problem(in: "nothing")?.code, equals: .forbidden)
    }

    @Test func `a conversation to which the user is added later is observed from then on`() async throws {
        var list = scene.messages.conversationList.makeAsyncIterator()
        await list.reaches { $0.count == 1 }
        var loop = scene.messages.messages(in: "g1").makeAsyncIterator()
        await expect(loop.next()?.isEmpty, equals: true)
        while await scene.messages.problem(in: "g1") == nil { await Task.yield() }
        server.state.withLock { $0.talks["g1"] = InMemoryServer.Talk(members: ["ana", "bob"]) }
        server.write("hello", in: "g1")
        await loop.reaches { texts($0) == ["hello"] }
        await expect(scene.messages.problem(in: "g1"), equals: nil)
    }

    @Test func `a user who is removed from a conversation and added again misses nothing`() async throws {
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        server.write("one")
        await loop.reaches { texts($0) == ["one"] }
        var list = scene.messages.conversationList.makeAsyncIterator()
        await list.reaches { $0.count == 1 }
        server.state.withLock { for peer in $0.peers.keys { $0.peers[peer]!.follows = [:] } }
        let removal: InMemoryServer.Object = ["id": "c1", "version": 1_500, "removed": true]
        server.publish(["type": "conversation", "conversation": removal, "at": 1])
        await list.reaches { $0.isEmpty }
        await expect(scene.messages.problem(in: "c1")?.code, equals: .forbidden)
        server.write("two")
        await loop.reaches { texts($0) == ["one", "two"] }
        await expect(scene.messages.problem(in: "c1"), equals: nil)
    }

    @Test func `what arrives is marked delivered by itself, and read when the app says so`() async throws {
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        server.write("one")
        await loop.reaches { $0.count == 1 }
        var list = scene.messages.conversationList.makeAsyncIterator()
        await list.reaches { $0.first?.member("ana")?.delivered == 1 && $0.first?.unreadCount == 1 }
        await scene.messages.markRead(in: "c1")
        await list.reaches { $0.first?.unreadCount == 0 }
        await loop.reaches { $0.first?.status == .read }
        while server.requests("mark").last?["read"] as? Int != 1 { await Task.yield() }
    }

    @Test func `a status that is told moves the mark, and never back`() async throws {
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        for text in ["one", "two", "three"] { server.write(text) }
        let shown = await loop.reaches { $0.count == 3 }
        let messages = try #require(shown)
        await scene.messages.updateStatus(of: messages[1], to: .read)
        await loop.reaches { $0.map(\.status) == [.read, .read, .delivered] }
        await scene.messages.updateStatus(of: messages[0], to: .read)
        await scene.messages.updateStatus(of: messages[2], to: .sent)
        await scene.messages.updateStatus(of: messages[2], to: .read)
        await loop.reaches { $0.allSatisfy { $0.status == .read } }
        while !server.requests("mark").contains(where: { $0["read"] as? Int == 3 }) { await Task.yield() }
        let reads = server.state.withLock { $0.talks["c1"]!.reads["ana"] }
        expect(reads, equals: 3)
    }

    @Test func `if the server cannot continue, the conversation is requested again`() async throws {
        for number in 1...60 { server.write("\(number)") }
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        await loop.reaches { $0.count == 50 }
        server.write("61")
        server.publish(["type": "messagesReset", "conversation": "another"])
        server.publish(["type": "messagesReset", "conversation": "c1"])
        let list = await loop.reaches { $0.first?.text == "12" }
        expect(list.map(texts), equals: (12...61).map { "\($0)" })
        let cursors = server.requests("subscribe").compactMap { $0["conversations"] as? [InMemoryServer.Object] }
            .flatMap { $0 }.filter { $0["id"] as? String == "c1" }
        expect(cursors.count == 2 && cursors.allSatisfy { $0["after"] == nil }, "anew, and not from a cursor")
    }

    @Test func `an empty list is yielded once it is known to be empty, not before`() async throws {
        let scene = Scene(InMemoryServer.with([:]))
        scene.server.isThere(false)
        var list = scene.messages.conversationList.makeAsyncIterator()
        let known = Task { await list.next() }
        for _ in 0..<100 { await Task.yield() }
        expect(scene.server.requests("subscribe").isEmpty)
        scene.server.isThere(true)
        scene.client.networkChanged(isAvailable: true)
        await expect(known.value, equals: [])
        expect(scene.server.requests("subscribe").count, equals: 1)
    }

    @Test func `a message of one's own is sent, delivered and read as the others are`() async throws {
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        await scene.connected()
        try await scene.messages.send("hello", in: "c1")
        await loop.reaches { $0.last?.status == .sent }
        server.mark("bob", delivered: 1)
        await loop.reaches { $0.last?.status == .delivered }
        server.mark("bob", read: 1)
        await expect(loop.reaches { $0.last?.status == .read }?.last?.readBy, equals: ["bob"])
    }

    @Test func `a sign-out empties all lists`() async throws {
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        server.write("one")
        await loop.reaches { $0.count == 1 }
        await scene.client.signOut()
        await loop.reaches { $0.isEmpty }
        await expect(scene.messages.shownList.isEmpty)
    }
}
