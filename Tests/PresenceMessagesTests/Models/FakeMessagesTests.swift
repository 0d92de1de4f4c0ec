import Foundation
import PresenceKit
import PresenceMessages
import PresenceTesting
import Testing

/// The fake follows the server's rules.
@Suite(.timeLimit(.minutes(1))) struct FakeMessagesTests {
    private let fake = FakeMessages(
        user: "ana",
        conversations: [
            ChatConversation(id: "c1", kind: .direct, participants: ["ana", "bob"]),
            ChatConversation(id: "g1", kind: .group, participants: ["ana", "bob", "cy"], owner: "bob"),
        ])

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
        try await fake.send(message)
        try await fake.send(message)
        fake.receive("two", from: "bob", in: "c1")
        let page = try await fake.getMessages(in: "c1", before: nil, limit: 10)
        #expect(page.map(\.sequence) == [1, 2] && page.map(\.text) == ["once", "two"])
        #expect(try await fake.getMessages(in: "c1", before: 2, limit: 10).map(\.text) == ["once"])
        #expect(fake["c1"]?.unreadCount == 1)
    }

    @Test func `only the user's own, undeleted, existing messages can be edited`() async throws {
        let theirs = fake.receive("mine", from: "bob", in: "g1")
        #expect(await code { try await fake.edit(theirs, text: "x") } == .forbidden)
        #expect(await code { try await fake.delete(theirs) } == .forbidden)
        let own = Message(conversationId: "g1", senderId: "ana", text: "one")
        try await fake.send(own)
        #expect(try await fake.edit(own, text: "two").editHistory?.map(\.text) == ["one"])
        #expect(try await fake.delete(own).isDeleted)
        #expect(await code { try await fake.edit(own, text: "three") } == .conflict)
        #expect(await code { try await fake.editMessage(id: own.id, newText: "three") } == .conflict)
        #expect(await code { try await fake.deleteMessage(id: "unknown") } == .notFound)
        let other = Message(conversationId: "g1", senderId: "ana", text: "never sent")
        #expect(await code { try await fake.delete(other) } == .notFound)
    }

    @Test func `a deleted message is not unread`() async throws {
        let group = ChatConversation(id: "g2", kind: .group, participants: ["ana", "bob"], owner: "ana")
        let fake = FakeMessages(user: "ana", conversations: [group])
        let first = fake.receive("one", from: "bob", in: "g2")
        fake.receive("two", from: "bob", in: "g2")
        #expect(fake["g2"]?.unreadCount == 2)
        #expect(try await fake.delete(first).isDeleted)
        #expect(fake["g2"]?.unreadCount == 1)
    }

    @Test func `a failed message cannot be changed, with or without a connection`() async throws {
        fake.refuseNextMessage()
        let message = Message(conversationId: "c1", senderId: "ana", text: "one")
        try await fake.send(message)
        for isOffline in [false, true] {
            fake.isOffline = isOffline
            #expect(await code { try await fake.edit(message, text: "x") } == .notFound)
            #expect(await code { try await fake.delete(message) } == .notFound)
        }
        #expect(await code { try await fake.mute("c1", for: .seconds(366 * 86_400 + 1)) } == .validationFailed)
    }

    @Test func `changes by others while offline show with the next connection`() async throws {
        var loop = fake.messages(in: "c1").makeAsyncIterator()
        #expect(await loop.next()?.isEmpty == true)
        fake.receive("before", from: "bob", in: "c1")
        #expect(await loop.next()?.map(\.text) == ["before"])
        fake.isOffline = true
        fake.receive("meanwhile", from: "bob", in: "c1")
        try await fake.send(Message(conversationId: "c1", senderId: "ana", text: "mine"))
        #expect(await loop.next()?.map(\.text) == ["before", "mine"])
        let known = try await fake.conversation("c1")
        #expect(known.lastSequence == 1 && known.unreadCount == 1)
        // The second message is not known here.
        await fake.markRead(in: "c1", upTo: nil)
        #expect(try await fake.conversation("c1").unreadCount == 0)
        #expect(fake["c1"]?.member("ana")?.read == 1)
        #expect(await code { try await fake.conversation("nowhere") } == .notConnected)
        fake.isOffline = false
        while let all = await loop.next() {
            if all.map(\.text) == ["before", "meanwhile", "mine"], all.allSatisfy({ $0.sequence != nil }) { break }
        }
    }

    @Test func `a message to an unknown conversation fails, and an invalid one is rejected`() async throws {
        var loop = fake.messages(in: "nowhere").makeAsyncIterator()
        #expect(await loop.next()?.isEmpty == true)
        try await fake.send(Message(conversationId: "nowhere", senderId: "ana", text: "x"))
        let failed = await loop.next()
        #expect(failed?.map(\.status) == [.failed] && failed?.first?.failure?.code == .forbidden)
        #expect(fake["nowhere"] == nil)
        for message in [
            Message(conversationId: "no id", senderId: "ana", text: "x"),
            Message(id: String(repeating: "i", count: 65), conversationId: "c1", senderId: "ana", text: "x"),
        ] {
            #expect(await code { try await fake.send(message) } == .invalidID)
        }
        let others = Message(conversationId: "c1", senderId: "bob", text: "x")
        #expect(await code { try await fake.send(others) } == .forbidden)
    }

    @Test func `a mark without effect is no change, and a retried message has no failure`()
        async throws
    {
        fake.receive("one", from: "bob", in: "c1")
        await fake.markRead(in: "c1", upTo: nil)
        let version = fake["c1"]?.version
        await fake.markRead(in: "c1", upTo: nil)
        #expect(fake["c1"]?.version == version)
        fake.refuseNextMessage()
        let message = Message(conversationId: "c1", senderId: "ana", text: "mine")
        try await fake.send(message)
        fake.isOffline = true
        try await fake.retry(message.id)
        var loop = fake.messages(in: "c1").makeAsyncIterator()
        let last = await loop.next()?.last
        #expect(last?.status == .sending && last?.failure == nil)
    }

    @Test func `a device is registered as the app last called, offline with the next connection`() async throws {
        #expect(try await fake.registerDevice(.fcm("a")) && fake.device == .fcm("a"))
        fake.isOffline = true
        #expect(try await fake.registerDevice(.apns(Data([0x1F]))) == false)
        #expect(fake.device == .fcm("a"))
        #expect(await code { try await fake.registerDevice(.fcm("a b")) } == .validationFailed)
        fake.isOffline = false
        #expect(fake.device == PushDevice(token: "1f", platform: .apns))
        #expect(try await fake.removeDevice() && fake.device == nil)
        #expect(fake.calls.suffix(1) == [.removeDevice])
    }

    @Test func `marks only advance, up to the last message`() async {
        fake.receive("one", from: "bob", in: "c1")
        await fake.markRead(in: "c1", upTo: 9)
        #expect(fake["c1"]?.member("ana")?.read == 1)
        await fake.markRead(in: "c1", upTo: 0)
        #expect(fake["c1"]?.member("ana")?.read == 1)
    }

    @Test func `only the owner removes others, and ownership passes to the next member`() async throws {
        #expect(await code { try await fake.changeMembers(of: "g1", add: [], remove: ["cy"]) } == .forbidden)
        try await fake.changeMembers(of: "g1", add: ["dan"], remove: [])
        var group = try #require(fake["g1"])
        group.owner = "ana"
        fake.set(group)
        try await fake.leave("g1")
        #expect(fake["g1"]?.participants == ["bob", "cy", "dan"] && fake["g1"]?.owner == "bob")
        #expect(await code { try await fake.conversation("g1") } == .forbidden)
        #expect(await code { try await fake.rename("c1", to: "x") } == .forbidden)
    }

    @Test func `a key finds the group created with it, and a pair has one conversation`() async throws {
        let group = try await fake.createGroup(with: ["bob"], name: "Us", metadata: nil, key: "k")
        #expect(try await fake.createGroup(with: ["cy"], name: "Them", metadata: nil, key: "k").id == group.id)
        #expect(try await fake.directConversation(with: "bob", metadata: nil).id == "c1")
        #expect(try await fake.createGroup(with: ["bob"], name: nil, metadata: nil, key: "pair").id == "c1")
        #expect(
            await code { try await fake.createGroup(with: ["bob", "cy"], name: nil, metadata: nil, key: "a b") }
                == .validationFailed)
        let many = (1...10).map { "u\($0)" }
        #expect(
            await code { try await fake.createGroup(with: many, name: nil, metadata: nil, key: "m") } == .tooMany)
    }
}
