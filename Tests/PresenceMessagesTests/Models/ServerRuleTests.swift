import Expectations
import Foundation
import PresenceKit
import PresenceTesting
import Testing

@testable import PresenceMessages

/// The server in memory follows the rules of the real one.
@Suite(.timeLimit(.minutes(1))) struct ServerRuleTests {
    private let scene = ModelScene()
    private var server: InMemoryServer { scene.server }
    private var messages: PresenceMessenger { scene.messages }

    init() async {
        server.add(conversation: "g1", of: ["bob", "ana", "cy"])
        await scene.connected()
    }

    /// Another user's view of a conversation.
    private func seen(_ id: String, by user: String = "ana") async throws -> ChatConversation {
        try await connected(user).conversation(id)
    }

    /// The messages of another user, whose client is connected.
    private func connected(_ user: String) async -> PresenceMessenger {
        let client = server.client(as: user)
        client.connect()
        for await state in client.connectionStates where state.isConnected { break }
        return PresenceMessenger(client)
    }

    @discardableResult
    private func sent(_ message: Message) async throws -> Message {
        try await messages.send(message)
        _ = try await messages.waiting.until { $0 == 0 }
        return message
    }

    private func code<Value>(_ body: () async throws -> Value) async -> PresenceError.Code? {
        do {
            _ = try await body()
            return nil
        } catch {
            return (error as? PresenceError)?.code
        }
    }

    @Test func `numbers have no gaps, and a repeated message is stored once`() async throws {
        let message = Message(conversationId: "c1", senderId: "ana", text: "once")
        try await sent(message)
        try await sent(message)
        server.write("two", from: "bob", in: "c1")
        let page = try await messages.getMessages(in: "c1", before: nil, limit: 10)
        expect(page.map(\.sequence) == [1, 2] && page.map(\.text) == ["once", "two"])
        try await expect(messages.getMessages(in: "c1", before: 2, limit: 10).map(\.text), equals: ["once"])
        try await expect(seen("c1").unreadCount, equals: 1)
    }

    @Test func `only the user's own, undeleted, existing messages can be edited`() async throws {
        server.write("mine", from: "bob", in: "g1")
        let theirs = try #require(try await messages.getMessages(in: "g1", before: nil, limit: 1).first)
        await expect(code { try await messages.edit(theirs, text: "x") }, equals: .forbidden)
        await expect(code { try await messages.delete(theirs) }, equals: .forbidden)
        let own = try await sent(Message(conversationId: "g1", senderId: "ana", text: "one"))
        try await expect(messages.edit(own, text: "two").editHistory?.map(\.text), equals: ["one"])
        try await expect(messages.delete(own).isDeleted)
        await expect(code { try await messages.edit(own, text: "three") }, equals: .conflict)
        let other = Message(conversationId: "g1", senderId: "ana", text: "never sent")
        await expect(code { try await messages.delete(other) }, equals: .notFound)
    }

    @Test func `a deleted message is not unread`() async throws {
        server.add(conversation: "g2", of: ["ana", "bob"], name: "Us")
        server.write("one", from: "bob", in: "g2")
        server.write("two", from: "bob", in: "g2")
        try await expect(seen("g2").unreadCount, equals: 2)
        let first = try #require(try await messages.getMessages(in: "g2", before: 2, limit: 1).first)
        try await expect(messages.delete(first).isDeleted)
        try await expect(seen("g2").unreadCount, equals: 1)
    }

    @Test func `changes by others while offline show with the next connection`() async throws {
        var list = messages.conversationList.makeAsyncIterator()
        await list.reaches { !$0.isEmpty }
        var loop = messages.messages(in: "c1").makeAsyncIterator()
        await expect(loop.next()?.isEmpty, equals: true)
        server.write("before", from: "bob", in: "c1")
        await loop.reaches { $0.map(\.text) == ["before"] }
        await list.reaches { $0.contains { $0.unreadCount == 1 } }
        await scene.goOffline()
        server.write("meanwhile", from: "bob", in: "c1")
        try await messages.send(Message(conversationId: "c1", senderId: "ana", text: "mine"))
        await loop.reaches { $0.map(\.text) == ["before", "mine"] }
        let known = try await messages.conversation("c1")
        expect(known.lastSequence == 1 && known.unreadCount == 1)
        // The second message is not known here.
        await messages.markRead(in: "c1", upTo: nil)
        try await expect(messages.conversation("c1").unreadCount, equals: 0)
        await expect(code { try await messages.conversation("nowhere") }, equals: .notConnected)
        server.goOnline()
        await loop.reaches { list in
            list.map(\.text) == ["before", "meanwhile", "mine"] && list.allSatisfy { $0.sequence != nil }
        }
        await server.received("mark")
        await list.reaches { $0.contains { $0.id == "c1" && $0.member("ana")?.read == 1 } }
    }

    @Test func `a message to an unknown conversation fails, and an invalid one is rejected`() async throws {
        var loop = messages.messages(in: "nowhere").makeAsyncIterator()
        await expect(loop.next()?.isEmpty, equals: true)
        try await messages.send(Message(conversationId: "nowhere", senderId: "ana", text: "x"))
        let failed = await loop.reaches { $0.map(\.status) == [.failed] }
        expect(failed?.first?.failure?.code, equals: .forbidden)
        await expect(code { try await seen("nowhere") }, equals: .forbidden)
        for message in [
            Message(conversationId: "no id", senderId: "ana", text: "x"),
            Message(id: String(repeating: "i", count: 65), conversationId: "c1", senderId: "ana", text: "x"),
        ] {
            await expect(code { try await messages.send(message) }, equals: .invalidID)
        }
        await expect(code { try await messages.registerDevice(.fcm("a b")) }, equals: .validationFailed)
        await expect(code { try await messages.mute("c1", for: .seconds(366 * 86_400 + 1)) }, equals: .validationFailed)
    }

    @Test func `a failed message cannot be changed without a connection, and a retried one has no failure`()
        async throws
    {
        server.fail("send")
        let message = try await messages.send("mine", in: "c1")
        var loop = messages.messages(in: "c1").makeAsyncIterator()
        await loop.reaches { $0.last?.status == .failed }
        await scene.goOffline()
        await expect(code { try await messages.edit(message, text: "x") }, equals: .notFound)
        await expect(code { try await messages.delete(message) }, equals: .notFound)
        try await messages.retry(message.id)
        let last = await loop.reaches { $0.last?.status == .sending }?.last
        expect(last?.id == message.id && last?.failure == nil)
    }

    @Test func `a device is registered as the app last called, offline with the next connection`() async throws {
        try await expect(messages.registerDevice(.fcm("a")))
        expect(server.device(of: "ana")?["pushToken"] as? String, equals: "a")
        await scene.goOffline()
        try await expect(messages.registerDevice(.apns(Data([0x1F]))), equals: false)
        expect(server.device(of: "ana")?["pushToken"] as? String, equals: "a")
        server.goOnline()
        await server.received("PUT /v1/me/devices/current", count: 2)
        while server.device(of: "ana")?["pushToken"] as? String != "1f" { await Task.yield() }
        expect(server.device(of: "ana")?["platform"] as? String, equals: "apns")
        try await expect(messages.removeDevice() && server.device(of: "ana") == nil)
    }

    @Test func `marks only advance, up to the last message`() async throws {
        server.write("one", from: "bob", in: "c1")
        server.mark("bob", read: 9, in: "c1")
        try await expect(seen("c1").member("bob")?.read, equals: 1)
        let version = try await seen("c1").version
        server.mark("bob", read: 0, in: "c1")
        try await expect(seen("c1").member("bob")?.read, equals: 1)
        try await expect(seen("c1").version, equals: version, "a mark without effect is no change")
    }

    @Test func `receipts are hidden both ways, and an invisible user receives unseen`() async throws {
        server.write("one", from: "bob", in: "c1")
        let bob = server.client(as: "bob")
        try await bob.setStatus(.invisible)
        server.mark("bob", delivered: 1, in: "c1")
        try await expect(seen("c1").member("bob")?.delivered, equals: 0)
        server.mark("bob", read: 1, in: "c1")
        try await expect(seen("c1").member("bob")?.delivered, equals: 1, "what he has shown to have read")
        try await bob.setVisibility(receipts: .nobody)
        try await expect(seen("c1").member("bob")?.read, equals: nil)
        try await expect(seen("c1", by: "bob").member("ana")?.read, equals: nil)
    }

    @Test func `while one of two blocks the other, neither writes`() async throws {
        try await connected("bob").client.block(["ana"])
        try await messages.send("hello", in: "c1")
        let refused = try await scene.messages.messages(in: "c1").until { $0.last?.status == .failed }
        expect(refused?.last?.failure?.code == .forbidden && server.texts(in: "c1").isEmpty)
    }

    @Test func `only the owner removes others, and ownership passes to the next member`() async throws {
        await expect(code { try await messages.changeMembers(of: "g1", add: [], remove: ["cy"]) }, equals: .forbidden)
        try await messages.changeMembers(of: "g1", add: ["dan"], remove: [])
        try await connected("bob").leave("g1")
        let group = try await seen("g1")
        expect(group.participants == ["ana", "cy", "dan"] && group.owner == "ana")
        await expect(code { try await seen("g1", by: "bob") }, equals: .forbidden)
        await expect(code { try await messages.rename("c1", to: "x") }, equals: .forbidden)
    }

    @Test func `a key finds the group created with it, and a pair has one conversation`() async throws {
        let group = try await messages.createGroup(with: ["bob"], name: "Us", metadata: nil, key: "k")
        try await expect(messages.createGroup(with: ["cy"], name: "Them", metadata: nil, key: "k").id, equals: group.id)
        try await expect(messages.directConversation(with: "bob", metadata: nil).id, equals: "c1")
        try await expect(messages.createGroup(with: ["bob"], name: nil, metadata: nil, key: "pair").id, equals: "c1")
        await expect(
            code { try await messages.createGroup(with: ["bob", "cy"], name: nil, metadata: nil, key: "a b") },
            equals: .validationFailed)
        let many = (1...10).map { "u\($0)" }
        await expect(
            code { try await messages.createGroup(with: many, name: nil, metadata: nil, key: "m") }, equals: .tooMany)
    }
}
