import Expectations
import Foundation
import TestSupport
import Testing

@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// The user's notifications, with a server in memory.
@Suite(.timeLimit(.minutes(1))) struct NotificationTests {
    private let server = InMemoryServer.with()

    private func titles(_ inbox: NotificationInbox?) -> [String] { inbox?.notifications.map(\.title) ?? [] }

    @Test func `they are sorted newest first, with counts and changes`() async throws {
        for title in ["a", "b"] { server.notify(title) }
        let (_, notifications) = Scene.notified(server)
        var loop = notifications.inbox.makeAsyncIterator()
        let first = await loop.reaches { $0.notifications.count == 2 }
        expect(titles(first) == ["b", "a"] && first?.unseenCount == 2 && first?.unreadCount == 2)
        expect(first?.changes, equals: .init(added: ["n2", "n1"]))
        server.notify("c", replaces: [1])
        let second = await loop.reaches { $0.notifications.first?.title == "c" }
        expect(titles(second) == ["c", "b"] && second?.changes == .init(added: ["n3"], removed: ["n1"]))
        expect(second?.unseenCount == 2 && second?.hasEarlier == false)
        var other = notifications.inbox.makeAsyncIterator()
        await expect(other.next()?.changes, equals: .init(added: ["n3", "n2"]), "each loop has its own")
    }

    @Test func `seen, read and archived notifications show at once, and are sent to the server`() async throws {
        for title in ["a", "b", "c"] { server.notify(title) }
        let (_, notifications) = Scene.notified(server)
        var loop = notifications.inbox.makeAsyncIterator()
        let all = try #require(await loop.reaches { $0.notifications.count == 3 }).notifications
        try await notifications.markSeen()
        let seen = await loop.reaches { $0.unseenCount == 0 }
        expect(seen?.notifications.allSatisfy(\.isSeen) == true && seen?.changes.changed == ["n3", "n2", "n1"])
        try await notifications.markRead([all[0], all[1]])
        await expect(loop.reaches { $0.unreadCount == 1 }?.notifications.map(\.isRead), equals: [true, true, false])
        try await notifications.archive([all[2]])
        expect(titles(await loop.reaches { $0.unreadCount == 0 }), equals: ["c", "b"])
        try await notifications.markRead([all[0]])
        await notifications.settled()
        let held = server.state.withLock {
            ($0.notices["ana"]!.seen, $0.notices["ana"]!.read, $0.notices["ana"]!.items.map { $0 != nil })
        }
        expect(held.0 == 3 && held.1 == [2, 3] && held.2 == [false, true, true])
        expect(server.requests("markNotifications").count <= 3, "what is marked is not marked again")
    }

    @Test func `marks without a connection are queued, over launches`() async throws {
        let directory = try TemporaryDirectory()
        for title in ["a", "b", "c"] { server.notify(title) }
        do {
            let (client, notifications) = Scene.notified(
                server, storage: try .directory(URL(fileURLWithPath: directory.path)))
            var loop = notifications.inbox.makeAsyncIterator()
            let all = try #require(await loop.reaches { $0.notifications.count == 3 }).notifications
            server.isThere(false)
            try await notifications.markSeen(upTo: all[1])
            try await notifications.markRead([all[2]])
            try await notifications.archive([all[1]])
            let shown = await loop.reaches { $0.notifications.count == 2 }
            expect(shown?.unseenCount == 1 && shown?.unreadCount == 1)
            await client.disconnect()
        }
        expect(server.state.withLock { $0.notices["ana"]!.seen }, equals: 0)
        server.cut("markNotifications", .after)
        let (client, notifications) = Scene.notified(server, storage: try await OutboxTests.reopened(directory))
        var loop = notifications.inbox.makeAsyncIterator()
        server.isThere(true)
        client.networkChanged(isAvailable: true)
        let shown = await loop.reaches { $0.notifications.count == 2 }
        expect(titles(shown), equals: ["c", "a"])
        await notifications.settled()
        expect(server.state.withLock { $0.notices["ana"]!.seen == 2 && $0.notices["ana"]!.read == [1] })
        try await expect(client.keptWrites(ofKinds: ["notificationMarks"]).writes.isEmpty)
    }

    @Test func `after a reconnect the list is the server's current one, even in parts`() async throws {
        server.state.withLock { $0.partLimit = 3 }
        for number in 1...7 { server.notify("\(number)") }
        let (client, notifications) = Scene.notified(server)
        var loop = notifications.inbox.makeAsyncIterator()
        await loop.reaches { $0.notifications.count == 7 }
        server.isThere(false)
        server.notify("8", replaces: [2, 5])
        server.isThere(true)
        client.networkChanged(isAvailable: true)
        let inbox = await loop.reaches { $0.notifications.first?.title == "8" }
        expect(titles(inbox), equals: ["8", "7", "6", "4", "3", "1"])
        expect(inbox?.changes, equals: .init(added: ["n8"], removed: ["n5", "n2"]))
    }

    @Test func `older ones are loaded a page at a time`() async throws {
        for number in 1...120 { server.notify("\(number)") }
        server.state.withLock { ($0.notices["ana"]!.seen, $0.partLimit) = (120, 100) }
        let (_, notifications) = Scene.notified(server)
        var loop = notifications.inbox.makeAsyncIterator()
        let newest = await loop.reaches { $0.notifications.count == 50 }
        expect(newest?.hasEarlier == true && newest?.notifications.last?.title == "71")
        try await expect(notifications.loadEarlier())
        await expect(loop.reaches { $0.notifications.count == 100 }?.changes.added.count, equals: 50)
        try await expect(notifications.loadEarlier(), equals: false)
        expect(
            titles(await loop.reaches { $0.notifications.count == 120 }), equals: (1...120).reversed().map { "\($0)" })
        try await expect(notifications.loadEarlier(), equals: false)
    }

    @Test func `a server without notifications reports that`() async throws {
        server.refuse("subscribe", ["code": "unknown_type"])
        let (_, notifications) = Scene.notified(server)
        var loop = notifications.inbox.makeAsyncIterator()
        let waiting = Task { await loop.next() }
        while await notifications.problem == nil { await Task.yield() }
        await expect(notifications.problem?.code, equals: .unknownType)
        waiting.cancel()
    }

    private func notification(_ seq: Int64) -> UserNotification {
        UserNotification(id: "n\(seq)", sequence: seq, kind: "test", title: "\(seq)")
    }

    @Test func `notifications that are not shown are marked too`() async throws {
        for number in 1...120 { server.notify("\(number)") }
        server.state.withLock { $0.notices["ana"]!.seen = 120 }
        let (_, notifications) = Scene.notified(server)
        var loop = notifications.inbox.makeAsyncIterator()
        await loop.reaches { $0.notifications.count == 50 }
        try await notifications.archive([notification(5)])
        try await notifications.markRead([notification(6)])
        await notifications.settled()
        expect(server.state.withLock { $0.notices["ana"]!.items[4] == nil && $0.notices["ana"]!.read == [6] })
    }

    @Test func `a mark before the first connection belongs to the token's user`() async throws {
        server.notify("a", to: "bob")
        server.isThere(false)
        let (client, notifications) = Scene.notified(server, user: "bob")
        client.connect()
        for await state in client.connectionStates {
            if case .reconnecting = state { break }
        }
        try await notifications.markRead([notification(1)])
        await expect(notifications.outbox.entries.map(\.owner), equals: ["bob"])
        server.isThere(true)
        client.networkChanged(isAvailable: true)
        await notifications.settled()
        expect(server.state.withLock { $0.notices["bob"]!.read }, equals: [1])
    }

    @Test func `a mark that cannot be stored is undone`() async throws {
        server.notify("a")
        let writes = FaultyWrites()
        let (_, notifications) = Scene.notified(server, storage: Storage(cache: PresenceCache(), writes: writes))
        var loop = notifications.inbox.makeAsyncIterator()
        await loop.reaches { $0.unseenCount == 1 }
        await writes.set(mayAppend: false)
        let error = await #expect(throws: PresenceError.self) { try await notifications.markSeen() }
        expect(error?.code, equals: .storageFailed)
        await expect(notifications.shown.unseenCount, equals: 1)
        await expect(notifications.outbox.entries.isEmpty)
        await writes.set()
        try await notifications.markSeen()
        await loop.reaches { $0.unseenCount == 0 }
    }

    @Test func `a mark that cannot be removed from the storage is removed with the next`() async throws {
        for title in ["a", "b"] { server.notify(title) }
        let writes = FaultyWrites()
        let (_, notifications) = Scene.notified(server, storage: Storage(cache: PresenceCache(), writes: writes))
        var loop = notifications.inbox.makeAsyncIterator()
        await loop.reaches { $0.notifications.count == 2 }
        await writes.set(mayRemove: false)
        try await notifications.markRead([notification(1)])
        await notifications.settled()
        await expect(writes.load().writes.count, equals: 1)
        await writes.set()
        try await notifications.markRead([notification(2)])
        await notifications.settled()
        await expect(writes.load().writes.isEmpty)
    }

    @Test func `marks are dropped only if the server will never accept them`() async throws {
        for title in ["a", "b"] { server.notify(title) }
        let (client, notifications) = Scene.notified(server)
        var loop = notifications.inbox.makeAsyncIterator()
        await loop.reaches { $0.notifications.count == 2 }
        server.refuse("markNotifications", ["code": "validation_failed"])
        try await notifications.markRead([notification(1)])
        await notifications.settled()
        server.refuse("markNotifications", ["code": "forbidden"])
        try await notifications.markRead([notification(2)])
        while server.requests("markNotifications").count < 2 { await Task.yield() }
        while await !notifications.outbox.sending.isEmpty { await Task.yield() }
        await expect(notifications.outbox.entries.count, equals: 1)
        server.isThere(false)
        server.isThere(true)
        client.networkChanged(isAvailable: true)
        await notifications.settled()
        expect(server.state.withLock { $0.notices["ana"]!.read }, equals: [2])
    }

    @Test func `a sign-out empties the list, and another user's marks are not sent`() async throws {
        server.notify("a")
        let (client, notifications) = Scene.notified(server)
        var loop = notifications.inbox.makeAsyncIterator()
        let all = try #require(await loop.reaches { $0.notifications.count == 1 }).notifications
        server.isThere(false)
        try await notifications.markRead(all)
        await client.signOut()
        await loop.reaches { $0.notifications.isEmpty }
        await expect(notifications.outbox.entries.isEmpty && server.requests("markNotifications").isEmpty)
    }
}

extension Scene {
    /// A client with its notifications.
    static func notified(
        _ server: InMemoryServer, storage: Storage = .memory(), user: String? = nil
    ) -> (PresenceClient, PresenceNotifications) {
        let scene = Scene(server, storage: storage, user: user)
        return (scene.client, PresenceNotifications(scene.client, clock: scene.clock))
    }
}

extension PresenceNotifications {
    /// Waits until no marks are pending.
    func settled() async {
        while !outbox.entries.isEmpty || !outbox.sending.isEmpty { await Task.yield() }
    }
}
