import Expectations
import Foundation
import TestSupport
import Testing

@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// Conversations and messages on this device, over launches.
@Suite(.timeLimit(.minutes(1))) struct HistoryTests {
    private let server = InMemoryServer.with(["c1": ["ana", "bob"], "c2": ["ana", "cy"]])
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// One launch of the app; the client is closed afterwards.
    private func launch<Result>(
        user: String = "ana", limits: (messages: Int, conversations: Int)? = nil,
        _ body: (Scene) async throws -> Result
    ) async throws -> Result {
        let storage = try Storage.directory(URL(fileURLWithPath: directory.file("storage")))
        var configuration = PresenceMessenger.Configuration()
        if let limits { (configuration.keptMessages, configuration.keptConversations) = limits }
        let scene = Scene(server, storage: storage, user: user, configuration: configuration)
        do {
            let result = try await body(scene)
            await scene.client.close()
            return result
        } catch {
            await scene.client.close()
            throw error
        }
    }

    /// A launch without a network.
    private func launchOffline<Result>(
        user: String = "ana", _ body: (Scene) async throws -> Result
    ) async throws -> Result {
        server.isThere(false)
        defer { server.isThere(true) }
        return try await launch(user: user, body)
    }

    /// Opens a conversation until it has so many messages.
    private func open(_ conversation: String, until count: Int, in scene: Scene) async {
        await scene.list(conversation) { $0.count == count && !$0.isStale }
        for await list in scene.messages.conversationList where list.allSatisfy({ !$0.isStale }) { break }
    }

    private func first<Element>(_ sequence: PresenceUpdates<Element>) async -> Element? {
        var loop = sequence.makeAsyncIterator()
        return await loop.next()
    }

    @Test func `a launch without a network shows the list and the newest messages, marked stale`() async throws {
        for number in 1...70 { server.write("\(number)") }
        server.write("one", from: "cy", in: "c2")
        try await launch { await open("c1", until: 50, in: $0) }
        try await launchOffline { scene in
            let list = try #require(await first(scene.messages.conversationList))
            expect(Set(list.map(\.id)) == ["c1", "c2"] && list.allSatisfy(\.isStale))
            expect(list.first { $0.id == "c1" }?.lastMessage?.text, equals: "70")
            let messages = try #require(await first(scene.messages.messages(in: "c1")))
            expect(messages.map(\.text) == (21...70).map { "\($0)" } && messages.isStale)
            // This one was never opened here.
            let other = try #require(await first(scene.messages.messages(in: "c2")))
            expect(other.map(\.text) == ["one"] && other.isStale)
            await expect(scene.messages.hasEarlier(in: "c1"))
        }
    }

    @Test func `the connection after it continues where the last one ended`() async throws {
        for number in 1...10 { server.write("\(number)") }
        try await launch { await open("c1", until: 10, in: $0) }
        server.edit(4, to: "four")
        for number in 11...13 { server.write("\(number)") }
        try await launch { scene in
            let list = await scene.list { !$0.isStale && $0.count == 13 }
            expect(list.map(\.text), equals: ["1", "2", "3", "four"] + (5...13).map { "\($0)" })
            let cursors = server.requests("subscribe").compactMap {
                ($0["conversations"] as? [InMemoryServer.Object])?.first
            }
            expect(cursors.last?["after"] as? Int, equals: 10)
            for await list in scene.messages.conversationList where list.allSatisfy({ !$0.isStale }) { break }
        }
    }

    @Test func `what is deleted is gone from the device`() async throws {
        server.write("secret", from: "ana")
        try await launch { scene in
            var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
            let message = try #require(await loop.reaches { $0.count == 1 && !$0.isStale }?.first)
            _ = try await scene.messages.delete(message)
            await loop.reaches { $0.first?.isDeleted == true && $0.first?.hasPendingChange == false }
            for await list in scene.messages.conversationList
            where list.contains(where: { $0.lastMessage?.isDeleted == true }) { break }
        }
        try await launchOffline { scene in
            let list = try #require(await first(scene.messages.messages(in: "c1")))
            expect(list.first?.isDeleted == true && list.first?.text == "")
        }
        let file = try Data(contentsOf: URL(fileURLWithPath: directory.file("storage/history")))
        expect(file.range(of: Data("secret".utf8)), equals: nil)
    }

    @Test func `too long a time away replaces what was known`() async throws {
        for number in 1...5 { server.write("\(number)") }
        try await launch { await open("c1", until: 5, in: $0) }
        for number in 6...80 { server.write("\(number)") }
        server.state.withLock { $0.talks["c1"]!.forgottenBefore = 70 }
        try await launch { scene in
            var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
            let list = await loop.reaches { !$0.isStale }
            expect(list?.map(\.text), equals: (31...80).map { "\($0)" })
            let hasMore = try await scene.messages.loadEarlier(in: "c1", limit: 100)
            expect(!hasMore)
            await loop.reaches { $0.map(\.text) == (1...80).map { "\($0)" } }
        }
    }

    @Test func `the device keeps a bounded number of messages`() async throws {
        for number in 1...10 { server.write("\(number)") }
        try await launch(limits: (messages: 3, conversations: 1)) { await open("c1", until: 10, in: $0) }
        try await launchOffline { scene in
            await expect(first(scene.messages.messages(in: "c1"))?.map(\.text), equals: ["8", "9", "10"])
        }
    }

    @Test func `nothing is left after a sign-out`() async throws {
        server.write("one")
        try await launch { scene in
            await open("c1", until: 1, in: scene)
            await scene.client.signOut()
        }
        let size = try Data(contentsOf: URL(fileURLWithPath: directory.file("storage/history"))).count
        expect(size, equals: 12, "only the header")
    }

    @Test func `another user sees nothing of it`() async throws {
        server.write("one")
        try await launch { await open("c1", until: 1, in: $0) }
        server.state.withLock { $0.talks["c3"] = InMemoryServer.Talk(members: ["cy", "dan"]) }
        try await launch(user: "cy") { scene in
            var lists: [Set<String>] = []
            for await list in scene.messages.conversationList {
                lists.append(Set(list.map(\.id)))
                if list.contains(where: { !$0.isStale }) { break }
            }
            expect(!lists.contains { $0.contains("c1") }, "\(lists)")
        }
        try await launchOffline(user: "cy") { scene in
            await expect(first(scene.messages.conversationList).map { Set($0.map(\.id)) }, equals: ["c2", "c3"])
        }
    }

    @Test func `another user's token is enough to hide it, also without a network`() async throws {
        server.write("one")
        try await launch { await open("c1", until: 1, in: $0) }
        try await launchOffline(user: "cy") { scene in
            await expect(first(scene.messages.messages(in: "c1"))?.isEmpty, equals: true)
            await #expect(throws: PresenceError.self) { try await scene.messages.conversation("c1") }
        }
    }

    @Test func `it does not wait for a token that takes long`() async throws {
        server.write("one")
        try await launch { await open("c1", until: 1, in: $0) }
        server.isThere(false)
        let storage = try Storage.directory(URL(fileURLWithPath: directory.file("storage")))
        let scene = Scene(
            server, storage: storage,
            token: {
                try await Task.sleep(for: .seconds(600))
                return "t"
            })
        await expect(first(scene.messages.messages(in: "c1"))?.map(\.text), equals: ["one"])
        await expect(first(scene.messages.conversationList)?.isEmpty, equals: false)
        await scene.client.close()
    }

    @Test func `a conversation that the user has left is removed with its messages`() async throws {
        server.write("one")
        try await launch { await open("c1", until: 1, in: $0) }
        try await launch { scene in
            await open("c1", until: 1, in: scene)
            server.publish([
                "type": "conversation",
                "conversation": ["id": "c1", "version": 9_999, "removed": true] as InMemoryServer.Object, "at": 1,
            ])
            for await list in scene.messages.conversationList where !list.contains(where: { $0.id == "c1" }) { break }
        }
        try await launchOffline { scene in
            await expect(first(scene.messages.conversationList)?.map(\.id), equals: ["c2"])
        }
    }
}
