import Expectations
import Foundation
import TestSupport
import Testing

@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// Edits, deletions and settings: stored first, sent in order with the messages, made once.
@Suite(.timeLimit(.minutes(1))) struct ChangeTests {
    private func sent(_ scene: Scene, _ texts: String...) async throws -> [Message] {
        var messages: [Message] = []
        for text in texts { messages.append(try await scene.messages.send(text, in: "c1")) }
        _ = try await scene.messages.waiting.until { $0 == 0 }
        return messages
    }

    @Test func `with a connection a change returns the server's result, and a rejection is thrown`() async throws {
        let scene = Scene()
        await scene.connected()
        let messages = try await sent(scene, "one", "two")
        let edited = try await scene.messages.edit(messages[0], text: "ONE")
        expect(edited.text == "ONE" && edited.editCount == 1 && !edited.hasPendingChange)
        try await expect(scene.messages.delete(messages[1]).isDeleted)
        let error = await #expect(throws: PresenceError.self) {
            try await scene.messages.edit(messages[1], text: "again")
        }
        expect(error?.code, equals: .conflict)
        var refused = scene.messages.refusedChanges.makeAsyncIterator()
        await expect(refused.next(), equals: [], "who was told is not told again")
        try await expect(scene.client.keptWrites(ofKinds: ["message", "messageChange"]).writes.isEmpty)
    }

    @Test func `a message that the device knows is changed by its id alone`() async throws {
        let scene = Scene()
        await scene.connected()
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        scene.server.write("theirs")
        let theirs = try #require(await loop.reaches { $0.count == 1 }?.first)
        let own = try await scene.messages.send("one", in: "c1")
        await loop.reaches { $0[own.id]?.sequence != nil }
        try await expect(scene.messages.editMessage(id: own.id, newText: "ONE").text, equals: "ONE")
        try await expect(scene.messages.deleteMessage(id: own.id).isDeleted)
        try await scene.messages.updateMessageStatus(messageId: theirs.id, status: .read)
        await loop.reaches { $0.first?.status == .read }
        let error = await #expect(throws: PresenceError.self) { try await scene.messages.deleteMessage(id: "other") }
        expect(error?.code, equals: .notFound)

        // Also the newest of a conversation, and one that is being sent, while no messages are observed.
        let second = Scene(scene.server)
        var list = second.messages.conversationList.makeAsyncIterator()
        await list.reaches { $0.first?.lastMessage?.id == own.id }
        await expect(second.messages.message(own.id)?.isDeleted, equals: true)
        scene.server.isThere(false)
        let waiting = try await second.messages.send("two", in: "c1")
        try await expect(second.messages.editMessage(id: waiting.id, newText: "TWO").text, equals: "TWO")
    }

    @Test func `without one it returns at once, is shown, and is sent on the next connection, in order`() async throws {
        let scene = Scene()
        await scene.connected()
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        var list = scene.messages.conversationList.makeAsyncIterator()
        let messages = try await sent(scene, "one", "two")
        await loop.reaches { $0.count == 2 && $0.allSatisfy { $0.sequence != nil } }
        await list.reaches { !$0.isEmpty }
        scene.server.isThere(false)
        try await expect(scene.messages.edit(messages[0], text: "first").text, equals: "first")
        try await scene.messages.edit(messages[0], text: "second")
        try await expect(scene.messages.delete(messages[1]).isDeleted)
        let third = try await scene.messages.send("three", in: "c1")
        try await scene.messages.edit(third, text: "THREE")
        try await scene.messages.mute("c1", for: .seconds(3_600))
        try await scene.messages.archive("c1")
        let shown = await loop.reaches { $0.count == 3 && $0[2].text == "THREE" }
        expect(shown?.map(\.text), equals: ["second", "", "THREE"])
        expect(shown?.map(\.hasPendingChange) == [true, true, true] && shown?[1].isDeleted == true)
        let settings = await list.reaches { $0.first?.isArchived == true }
        expect(settings?.first?.isMuted == true && settings?.first?.mutedUntil != nil)
        expect(scene.server.texts(in: "c1"), equals: ["one", "two"])

        scene.server.isThere(true)
        scene.client.networkChanged(isAvailable: true)
        _ = try await scene.messages.waiting.until { $0 == 0 }
        let made = await loop.reaches { $0.allSatisfy { !$0.hasPendingChange && $0.sequence != nil } }
        expect(made?.map(\.text), equals: ["second", "", "THREE"])
        expect(made?.first?.editHistory?.map(\.text), equals: ["one", "first"])
        await list.reaches { $0.first?.isArchived == true && $0.first?.isMuted == true }
        let asked = scene.server.state.withLock { $0.asked.compactMap { $0["type"] as? String } }
        let changes = asked.filter {
            ["send", "editMessage", "deleteMessage", "conversationSettings"].contains($0)
        }
        expect(
            changes.dropFirst(2),
            equals: [
                "editMessage", "editMessage", "deleteMessage", "send", "editMessage", "conversationSettings",
                "conversationSettings",
            ])
    }

    @Test(arguments: [InMemoryServer.Cut.before, .after])
    func `a lost connection during a change neither loses nor repeats it`(cut: InMemoryServer.Cut) async throws {
        let scene = Scene()
        await scene.connected()
        let messages = try await sent(scene, "one")
        for type in ["editMessage", "deleteMessage", "conversationSettings"] { scene.server.cut(type, cut) }
        try await scene.messages.edit(messages[0], text: "two")
        try await scene.messages.edit(messages[0], text: "three")
        try await scene.messages.archive("c1")
        _ = try await scene.messages.waiting.until { $0 == 0 }
        let stored = scene.server.state.withLock { $0.talks["c1"]!.log[0] }
        expect(stored["text"] as? String == "three" && stored["editCount"] as? Int == 2)
        try await scene.messages.delete(messages[0])
        _ = try await scene.messages.waiting.until { $0 == 0 }
        let (deleted, settings) = scene.server.state.withLock {
            ($0.talks["c1"]!.log[0]["deletedAt"] != nil, $0.talks["c1"]!.settings["ana"]?["archived"] as? Bool)
        }
        expect(deleted && settings == true)
    }

    @Test func `a later rejection is reported, after a launch too, and can be retried or discarded`() async throws {
        let directory = try TemporaryDirectory()
        let server = InMemoryServer.with()
        do {
            let scene = Scene(server, storage: try .directory(URL(fileURLWithPath: directory.path)))
            await scene.connected()
            let messages = try await sent(scene, "one", "two")
            server.isThere(false)
            for message in messages { try await scene.messages.edit(message, text: "x") }
            await scene.client.disconnect()
        }
        for _ in 0..<2 { server.refuse("editMessage", ["code": "forbidden"]) }
        do {
            let scene = Scene(server, storage: try await OutboxTests.reopened(directory))
            server.isThere(true)
            await scene.connected()
            var refused = scene.messages.refusedChanges.makeAsyncIterator()
            let both = await refused.reaches { $0.count == 2 }
            expect(both?.allSatisfy { $0.failure?.code == .forbidden && $0.conversationId == "c1" }, equals: true)
            server.isThere(false)
            await scene.client.disconnect()
        }
        let scene = Scene(server, storage: try await OutboxTests.reopened(directory))
        var refused = scene.messages.refusedChanges.makeAsyncIterator()
        let both = try #require(await refused.reaches { $0.count == 2 })
        try await scene.messages.discard(both[0].id)
        try await scene.messages.retry(both[1].id)
        await refused.reaches { $0.isEmpty }
        server.isThere(true)
        await scene.connected()
        _ = try await scene.messages.waiting.until { $0 == 0 }
        expect(server.texts(in: "c1"), equals: ["one", "x"])
        let error = await #expect(throws: PresenceError.self) { try await scene.messages.discard(both[0].id) }
        expect(error?.code, equals: .notFound)
    }

    @Test func `a rate limit does not delay the caller`() async throws {
        let scene = Scene()
        await scene.connected()
        let messages = try await sent(scene, "one")
        scene.server.refuse("editMessage", ["code": "rate_limited", "retryAfter": 5_000])
        let shown = try await scene.messages.edit(messages[0], text: "two")
        expect(shown.text == "two" && scene.server.texts(in: "c1") == ["one"])
        await scene.clock.sleepers(1)
        let later = try await scene.messages.edit(messages[0], text: "three")
        expect(later.text == "three" && scene.server.requests("editMessage").count == 1, "nor a later one")
        scene.clock.advance(by: .seconds(5))
        _ = try await scene.messages.waiting.until { $0 == 0 }
        expect(scene.server.texts(in: "c1"), equals: ["three"])
    }

    @Test func `a write whose removal failed is removed with the next change`() async throws {
        let writes = FaultyWrites()
        let scene = Scene(storage: Storage(cache: PresenceCache(), writes: writes))
        await scene.connected()
        let messages = try await sent(scene, "one")
        try await scene.messages.edit(messages[0], text: "two")
        await writes.set(mayRemove: false)
        try await scene.messages.edit(messages[0], text: "three")
        await expect(writes.load().writes.count, equals: 1)
        await writes.set()
        try await scene.messages.edit(messages[0], text: "four")
        await expect(writes.load().writes.isEmpty)
        await expect(scene.messages.outbox.unremoved.isEmpty)
    }

    @Test func `an older reply does not replace later events`() async throws {
        let scene = Scene()
        await scene.connected()
        var list = scene.messages.conversationList.makeAsyncIterator()
        let message = try await sent(scene, "one")[0]
        for text in ["two", "three"] { try await scene.messages.edit(message, text: text) }
        // Three changes and a mark; no other request is pending.
        let version: Int64 = 3_002
        await list.reaches { $0.first?.lastMessage?.text == "three" && $0.first?.version == version }
        let edit = MessageChange(conversationId: "c1", user: "ana", kind: .edit(message: message.id, text: "two"))
        let older = Wire.Message(id: message.id, seq: 1, version: 2, from: "ana", at: 0, text: "two")
        await scene.messages.hold(edit, older, at: version - 1)
        await expect(scene.messages.conversations["c1"]?.lastMessage?.text, equals: "three")
        let mute = MessageChange(conversationId: "c1", user: "ana", kind: .mute(until: nil))
        await scene.messages.hold(mute, nil, at: version - 1)
        await expect(scene.messages.conversations["c1"]?.isMuted, equals: false)
        await scene.messages.hold(mute, nil, at: version)
        await expect(scene.messages.conversations["c1"]?.isMuted, equals: true)
    }

    @Test func `a conversation is muted for at most 366 days`() async throws {
        let scene = Scene()
        await scene.connected()
        let longest = Duration.seconds(366 * 86_400)
        try await scene.messages.mute("c1", for: longest)
        for duration in [longest + .milliseconds(1), .seconds(Int64.max)] {
            let error = await #expect(throws: PresenceError.self) {
                try await scene.messages.mute("c1", for: duration)
            }
            expect(error?.code == .validationFailed && error?.field == "muteFor")
        }
        // As an earlier version stored it.
        let end = Date(timeIntervalSince1970: 1e18)
        try await scene.messages.keep(
            .change(MessageChange(conversationId: "c1", user: "ana", kind: .mute(until: end))), as: "ana")
        await scene.messages.pump("c1")
        _ = try await scene.messages.waiting.until { $0 == 0 }
        let asked = scene.server.requests("conversationSettings").compactMap { $0["muteFor"] as? Int }
        expect(asked.count == 2 && asked[1] == 366 * 86_400_000)
    }

    @Test func `another user's change is not stored, and one in flight at a sign-out is not made`() async throws {
        let scene = Scene()
        await scene.connected()
        let messages = try await sent(scene, "one")
        let other = MessageChange(conversationId: "c1", user: "zoe", kind: .unmute)
        let refused = await #expect(throws: PresenceError.self) {
            try await scene.messages.keep(.change(other), as: "zoe")
        }
        expect(refused?.code, equals: .signedOut)
        scene.server.cut("editMessage", .silence)
        let edit = Task { try await scene.messages.edit(messages[0], text: "two") }
        while scene.server.requests("editMessage").isEmpty { await Task.yield() }
        await scene.client.signOut()
        let error = await #expect(throws: PresenceError.self) { try await edit.value }
        expect(error?.code, equals: .signedOut)
    }

    @Test func `a mute that ends before there is a connection has no effect`() async throws {
        let scene = Scene()
        await scene.connected()
        try await scene.messages.mute("c1")
        _ = try await scene.messages.waiting.until { $0 == 0 }
        expect(scene.server.state.withLock { $0.talks["c1"]!.settings["ana"]?["muted"] as? Bool }, equals: true)
        scene.server.isThere(false)
        try await scene.messages.mute("c1", for: .zero)
        scene.server.isThere(true)
        scene.client.networkChanged(isAvailable: true)
        _ = try await scene.messages.waiting.until { $0 == 0 }
        expect(scene.server.state.withLock { $0.talks["c1"]!.settings["ana"]?["muted"] as? Bool }, equals: nil)
    }

    @Test func `a sign-out ends all waits, and deletes pending changes`() async throws {
        let scene = Scene()
        await scene.connected()
        let messages = try await sent(scene, "one")
        scene.server.isThere(false)
        try await scene.messages.edit(messages[0], text: "never")
        await scene.client.signOut()
        var waiting = scene.messages.waiting.makeAsyncIterator()
        await waiting.reaches { $0 == 0 }
        expect(scene.server.texts(in: "c1"), equals: ["one"])
    }

    @Test func `a failed message cannot be changed`() async throws {
        let scene = Scene()
        await scene.connected()
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        scene.server.refuse("send", ["code": "forbidden"])
        let message = try await scene.messages.send("one", in: "c1")
        await loop.reaches { $0.last?.status == .failed }
        let error = await #expect(throws: PresenceError.self) { try await scene.messages.delete(message) }
        expect(error?.code, equals: .notFound)
    }
}
