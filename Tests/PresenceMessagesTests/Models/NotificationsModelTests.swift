import Expectations
import Foundation
import PresenceKit
import Testing

@testable import PresenceMessages
@testable import PresenceTesting

/// The notifications on a screen, with a server in memory.
@MainActor @Suite(.timeLimit(.minutes(1))) struct NotificationsModelTests {
    private let scene = ModelScene()
    private let notifications: PresenceNotifications
    private let model: NotificationsModel
    private var server: InMemoryServer { scene.server }

    init() {
        notifications = PresenceNotifications(scene.client)
        model = NotificationsModel(notifications)
    }

    /// The marks that were made, or tried.
    private func marks() async -> [Ask.NotificationMarks] {
        await scene.writes.tried.compactMap { Outbox.read($0)?.work.notificationMarks }
    }

    private func see(upTo number: Int = .max) { server.seeNotifications(of: "ana", upTo: number) }

    private func following(_ body: () async throws -> Void) async rethrows {
        let run = Task { await model.run() }
        defer { run.cancel() }
        await until { model.isLoaded }
        try await body()
    }

    @Test func `the newest is first, and a new one is an arrival until it is seen`() async {
        server.notify("ana", id: "a", title: "A")
        await following {
            expect(model.notifications.map(\.id) == ["a"] && model.unseenCount == 1 && model.arrival == nil)
            server.notify("ana", id: "b", title: "B")
            await until { model.notifications.map(\.id) == ["b", "a"] }
            expect(model.arrival?.id == "b" && model.unreadCount == 2)
            see(upTo: 2)
            await until { model.unseenCount == 0 }
            expect(model.arrival, equals: nil)
        }
    }

    @Test func `visible notifications count as seen`() async {
        await following {
            server.notify("ana", title: "A")
            await until { model.unseenCount == 1 }
            model.isVisible = true
            await until { model.unseenCount == 0 }
            server.notify("ana", title: "B")
            await until { model.notifications.count == 2 && model.unseenCount == 0 }
            expect(model.unreadCount == 2 && model.arrival == nil)
            model.isVisible = false
            server.notify("ana", title: "C")
            await until { model.unseenCount == 1 }
        }
    }

    @Test func `a mark that fails is tried once for each newest one, and again when the list appears`() async {
        server.notify("ana", title: "A")
        await following {
            await scene.writes.set(mayAppend: false)
            for tries in 1...2 {
                model.isVisible = true
                while await marks().count < tries { await Task.yield() }
                await until { model.errorMessage != nil && model.unseenCount == 1 }
                for _ in 0..<100 { await Task.yield() }
                await expect(marks().count, equals: tries)
                model.isVisible = false
            }
            await scene.writes.set()
            model.isVisible = true
            await until { model.unseenCount == 0 }
            await scene.writes.set(mayAppend: false)
            server.notify("ana", title: "B")
            while await marks().count < 4 { await Task.yield() }
            await until { model.unseenCount == 1 && model.errorMessage != nil }
            await scene.writes.set()
            server.notify("ana", title: "C")
            await until { model.unseenCount == 0 }
            await expect(marks(), equals: [1, 1, 1, 2, 3].map { Ask.NotificationMarks(seen: $0) })
        }
    }

    @Test func `the first element of a loop is no arrival`() async {
        server.notify("ana", title: "A")
        await following {}
        var loop = notifications.inbox.makeAsyncIterator()
        server.notify("ana", title: "B")
        while await loop.next()?.notifications.count != 2 {}
        await following {
            await until { model.notifications.count == 2 }
            expect(model.arrival, equals: nil)
        }
    }

    @Test func `another user's notifications are no arrival`() async {
        let script = Script()
        let model = NotificationsModel(script)
        let run = Task { await model.run() }
        defer { run.cancel() }
        script.show(["a"], of: "ana")
        await until { model.notifications.map(\.id) == ["a"] }
        script.show(["a", "b"], of: "ana")
        await until { model.arrival?.id == "b" }
        script.show([], of: nil)
        await until { model.notifications.isEmpty }
        expect(model.arrival, equals: nil)
        script.show(["b"], of: "bob")
        await until { model.notifications.map(\.id) == ["b"] }
        expect(model.arrival, equals: nil)
        script.show(["b", "c"], of: "bob")
        await until { model.arrival?.id == "c" }
        script.show(["c"], of: "ana")
        await until { model.notifications.map(\.id) == ["c"] }
        expect(model.arrival, equals: nil, "another user's, without a list that is empty between them")
    }

    @Test func `another user's notification is marked, whatever was tried for the former user`() async {
        let script = Script()
        let model = NotificationsModel(script)
        let run = Task { await model.run() }
        defer { run.cancel() }
        model.isVisible = true
        for user in ["ana", "bob"] {
            script.show(["a"], of: user)
            while script.owners.withLock({ $0.marked }) != user, !Task.isCancelled { await Task.yield() }
            script.show([], of: nil)
            await until { model.notifications.isEmpty }
        }
    }

    @Test func `the list does not shrink when notifications are seen, and pages are dropped at a reconnect`()
        async throws
    {
        for number in 1...120 { server.notify("ana", title: "\(number)") }
        try await following {
            await until { model.notifications.count == 120 }
            see(upTo: 120)
            await until { model.unseenCount == 0 }
            expect(model.notifications.count, equals: 120)
            await scene.goOffline()
            server.notify("ana", title: "121")
            try await notifications.markRead([model.notifications[0]])
            await until { model.unreadCount == 119 }
            expect(model.notifications.count == 120 && model.notifications.first?.isRead == true)
            await scene.goOnline()
            await until { model.notifications.count == 50 }
            expect(model.notifications.first?.title == "121" && model.unreadCount == 120 && model.hasEarlier)
            try await expect(notifications.loadEarlier(limit: 30))
            await until { model.notifications.count == 80 }
        }
    }

    @Test func `one is opened, one archived, and all are marked as read`() async throws {
        for id in ["a", "b", "c"] { server.notify("ana", id: id, title: id) }
        try await following {
            await model.open(try #require(model.notifications.first))
            await until { model.notifications.first?.isRead == true }
            await model.archive(model.notifications[1])
            await until { model.notifications.map(\.id) == ["c", "a"] }
            await model.markAllRead()
            await until { model.unreadCount == 0 }
            await model.markAllRead()
            await expect(
                marks(),
                equals: [
                    Ask.NotificationMarks(read: [3]), Ask.NotificationMarks(archived: [2]),
                    Ask.NotificationMarks(read: [1]),
                ])
            await server.received("markNotifications")
            await until { model.unreadCount == 0 }
            expect(!server.notify("ana", id: "b", title: "again"), "an id that was archived stays known")
        }
    }

    @Test func `a notification that replaces another takes its place`() async {
        await following {
            server.notify("ana", id: "a", title: "Running", collapse: "build")
            server.notify("ana", id: "b", title: "Passed", collapse: "build")
            await until { model.notifications.map(\.title) == ["Passed"] }
        }
    }

    @Test func `older ones are loaded on demand, and an error is shown`() async {
        for number in 1...70 { server.notify("ana", title: "\(number)") }
        see(upTo: 70)
        await following {
            await until { model.notifications.count == 50 && model.hasEarlier }
            await scene.goOffline()
            await model.loadEarlier()
            expect(model.errorMessage == "There is no connection to the server." && !model.isLoadingEarlier)
            await scene.goOnline()
            // The list that is read again after the break has the newest 50.
            while model.hasEarlier, !Task.isCancelled {
                await model.loadEarlier()
                await Task.yield()
            }
            await until { model.notifications.count == 70 && !model.hasEarlier }
            expect(model.errorMessage == nil && model.arrival == nil)
            await scene.writes.set(mayAppend: false)
            await model.markAllRead()
            await until { model.errorMessage != nil && model.unreadCount == 70 }
        }
    }
}

/// The inbox of one user and then of another, as from a client.
private struct Script: NotificationRepository {
    /// The owner of the list, and of the list that was marked last.
    let owners = Guarded<(shown: String?, marked: String?)>((nil, nil))
    private let inboxes = AsyncStream.makeStream(of: NotificationInbox.self, bufferingPolicy: .bufferingNewest(1))
    var inbox: PresenceUpdates<NotificationInbox> {
        PresenceUpdates(Compared(inboxes.stream) { $0.changed(since: $1) })
    }

    func show(_ ids: [String], of user: String?) {
        let shown = ids.enumerated().map { UserNotification(id: $1, sequence: Int64($0) + 1, kind: "k", title: $1) }
        var inbox = NotificationInbox(notifications: shown.reversed(), unseenCount: ids.count, unreadCount: ids.count)
        inbox.user = user
        owners.withLock { $0.shown = user }
        inboxes.continuation.yield(inbox)
    }

    func markSeen(upTo notification: UserNotification?) async throws {
        owners.withLock { $0.marked = $0.shown }
    }
    func markRead(_ notifications: [UserNotification]) async throws {}
    func archive(_ notifications: [UserNotification]) async throws {}
    func loadEarlier(limit: Int) async throws -> Bool { false }
}
