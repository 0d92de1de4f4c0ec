import Expectations
import Foundation
import TestSupport
import Testing

@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// Marks made without a connection: the furthest of each kind is stored until the server has it.
@Suite(.timeLimit(.minutes(1))) struct MarkTests {
    private let server = InMemoryServer.with()

    /// A client that has received three messages and has lost its connection.
    private func offline(_ storage: Storage, user: String? = nil) async throws -> (Scene, [Message]) {
        let scene = Scene(server, storage: storage, user: user)
        await scene.connected()
        var list = scene.messages.conversationList.makeAsyncIterator()
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        for text in ["one", "two", "three"] { server.write(text) }
        let messages = await loop.reaches { $0.count == 3 }
        // Received messages are marked as delivered before the connection is lost.
        await list.reaches { $0.first?.member("ana")?.delivered == 3 }
        server.isThere(false)
        for await state in scene.client.connectionStates where !state.isConnected { break }
        let shown = try #require(messages)
        return (scene, shown.messages)
    }

    private func read(by user: String = "ana") -> Int { server.state.withLock { $0.talks["c1"]!.reads[user] ?? 0 } }

    private func kept(_ storage: Storage) async throws -> [Ask.Mark] {
        try await storage.writes.load().writes.filter { $0.kind == "conversationMark" }.compactMap { write in
            if case .mark(let mark)? = Outbox.read(write)?.work { mark } else { nil }
        }
    }

    @Test func `what was read offline is told by a later process, once, and only how far`() async throws {
        let directory = try TemporaryDirectory()
        do {
            let storage = try Storage.directory(URL(fileURLWithPath: directory.path))
            let (scene, messages) = try await offline(storage)
            for message in messages { await scene.messages.updateStatus(of: message, to: .read) }
            await scene.messages.updateStatus(of: messages[0], to: .read)
            try await expect(kept(storage).map(\.read), equals: [3])
            await scene.client.disconnect()
        }
        expect(read(), equals: 0)
        server.isThere(true)
        let storage = try await OutboxTests.reopened(directory)
        let scene = Scene(server, storage: storage)
        await scene.connected()
        while read() != 3 { await Task.yield() }
        while try await !kept(storage).isEmpty { await Task.yield() }
        expect(server.requests("mark").filter { $0["read"] != nil }.count, equals: 1)
    }

    @Test func `one mark is stored for each conversation and kind, and a read message is delivered`() async throws {
        let storage = Storage(cache: PresenceCache(), writes: StoredWrites())
        let (scene, _) = try await offline(storage)
        await scene.messages.keep(Ask.Mark(conversation: "c1", delivered: 4, read: nil))
        await scene.messages.markRead(in: "c1", upTo: 2)
        await scene.messages.keep(Ask.Mark(conversation: "c2", delivered: 1, read: nil))
        let marks = try await kept(storage)
        expect(marks.map(\.conversation), equals: ["c1", "c1", "c2"])
        expect(marks.map(\.delivered) == [4, nil, 1] && marks.map(\.read) == [nil, 2, nil])
        await scene.messages.keep(Ask.Mark(conversation: "c1", delivered: nil, read: 4))
        try await expect(kept(storage).filter { $0.conversation == "c1" }.map(\.read), equals: [4])
    }

    @Test func `a mark that cannot be stored is sent if there is a connection`() async throws {
        let writes = FaultyWrites()
        let (scene, _) = try await offline(Storage(cache: PresenceCache(), writes: writes))
        await writes.set(mayAppend: false)
        await scene.messages.markRead(in: "c1")
        await expect(writes.load().writes.isEmpty)
        await writes.set()
        await scene.messages.markRead(in: "c1")
        await expect(writes.load().writes.count, equals: 1, "stored as soon as that is possible")
        server.isThere(true)
        scene.client.networkChanged(isAvailable: true)
        while read() != 3 { await Task.yield() }
    }

    @Test func `a mark that the server rejects is removed`() async throws {
        let storage = Storage(cache: PresenceCache(), writes: StoredWrites())
        let (scene, _) = try await offline(storage)
        await scene.messages.markRead(in: "c1")
        server.refuse("mark", ["code": "forbidden"])
        server.isThere(true)
        scene.client.networkChanged(isAvailable: true)
        while try await !kept(storage).isEmpty { await Task.yield() }
        expect(read(), equals: 0)
    }

    @Test func `marks that wait for a rate limit do not pile up`() async throws {
        let scene = Scene(server)
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        await scene.connected()
        server.refuse("mark", ["code": "rate_limited", "retryAfter": 3_600_000])
        for number in 1...20 {
            server.write("more")
            await loop.reaches { $0.count >= number }
        }
        await scene.clock.sleepers()
        await expect(scene.messages.outbox.works.count <= 2)
    }

    @Test func `another user's marks are never sent`() async throws {
        let directory = try TemporaryDirectory()
        do {
            let storage = try Storage.directory(URL(fileURLWithPath: directory.path))
            let (scene, _) = try await offline(storage, user: "ana")
            await scene.messages.markRead(in: "c1")
            await scene.client.disconnect()
        }
        server.isThere(true)
        let storage = try await OutboxTests.reopened(directory)
        let scene = Scene(server, storage: storage, user: "bob")
        await scene.connected()
        try await scene.messages.send("hello", in: "c1")
        _ = try await scene.messages.waiting.until { $0 == 0 }
        while try await !kept(storage).isEmpty { await Task.yield() }
        expect(read() == 0 && read(by: "bob") == 0)
    }
}
