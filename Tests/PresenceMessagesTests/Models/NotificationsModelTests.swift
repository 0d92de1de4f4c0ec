import PresenceKit
import PresenceMessages
import PresenceTesting
import Testing

/// The notifications on a screen, with a fake.
@MainActor @Suite(.timeLimit(.minutes(1))) struct NotificationsModelTests {
    private let fake = FakeNotifications()
    private let model: NotificationsModel

    init() {
        model = NotificationsModel(fake)
    }

    private func following(_ body: () async throws -> Void) async rethrows {
        let run = Task { await model.run() }
        defer { run.cancel() }
        await until { model.isLoaded }
        try await body()
    }

    @Test func `the newest is first, and a new one is an arrival until it is seen`() async {
        fake.notify(id: "a", title: "A")
        await following {
            #expect(model.notifications.map(\.id) == ["a"] && model.unseenCount == 1 && model.arrival == nil)
            fake.notify(id: "b", title: "B")
            await until { model.notifications.map(\.id) == ["b", "a"] }
            #expect(model.arrival?.id == "b" && model.unreadCount == 2)
            fake.mark(seen: 2)
            await until { model.unseenCount == 0 }
            #expect(model.arrival == nil)
        }
    }

    @Test func `visible notifications count as seen`() async {
        await following {
            fake.notify(title: "A")
            await until { model.unseenCount == 1 }
            model.isVisible = true
            await until { model.unseenCount == 0 }
            fake.notify(title: "B")
            await until { model.notifications.count == 2 && model.unseenCount == 0 }
            #expect(model.unreadCount == 2 && model.arrival == nil)
            model.isVisible = false
            fake.notify(title: "C")
            await until { model.unseenCount == 1 }
        }
    }

    @Test func `a mark that fails is tried once for each newest one, and again when the list appears`() async {
        fake.notify(title: "A")
        await following {
            for _ in 0..<2 { fake.failNext(with: PresenceError(.storageFailed, "full")) }
            for tries in 1...2 {
                model.isVisible = true
                await until { model.errorMessage != nil && model.unseenCount == 1 && fake.calls.count == tries }
                for _ in 0..<100 { await Task.yield() }
                #expect(fake.calls.count == tries)
                model.isVisible = false
            }
            model.isVisible = true
            await until { model.unseenCount == 0 }
            fake.failNext(with: PresenceError(.storageFailed, "full"))
            fake.notify(title: "B")
            await until { model.unseenCount == 1 && model.errorMessage != nil && fake.calls.count == 4 }
            fake.notify(title: "C")
            await until { model.unseenCount == 0 }
            #expect(fake.calls == [1, 1, 1, 2, 3].map { FakeNotifications.Call.markSeen(upTo: $0) })
        }
    }

    @Test func `the first element of a loop is no arrival`() async {
        fake.notify(title: "A")
        await following {}
        fake.notify(title: "B")
        await following {
            await until { model.notifications.count == 2 }
            #expect(model.arrival == nil)
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
        script.feed.send(NotificationInbox())
        await until { model.notifications.isEmpty }
        #expect(model.arrival == nil)
        script.show(["b"], of: "bob")
        await until { model.notifications.map(\.id) == ["b"] }
        #expect(model.arrival == nil)
        script.show(["b", "c"], of: "bob")
        await until { model.arrival?.id == "c" }
        script.show(["c"], of: "ana")
        await until { model.notifications.map(\.id) == ["c"] }
        #expect(model.arrival == nil, "another user's, without a list that is empty between them")
    }

    @Test func `another user's notification is marked, whatever was tried for the former user`() async {
        let script = Script()
        let model = NotificationsModel(script)
        let run = Task { await model.run() }
        defer { run.cancel() }
        model.isVisible = true
        for user in ["ana", "bob"] {
            script.show(["a"], of: user)
            while script.marked.value != user, !Task.isCancelled { await Task.yield() }
            script.feed.send(NotificationInbox())
            await until { model.notifications.isEmpty }
        }
    }

    @Test func `the fake's list does not shrink when notifications are seen, and pages are dropped at a reconnect`()
        async throws
    {
        for number in 1...120 { fake.notify(title: "\(number)") }
        try await following {
            await until { model.notifications.count == 120 }
            fake.mark(seen: 120)
            await until { model.unseenCount == 0 }
            #expect(model.notifications.count == 120)
            fake.isOffline = true
            fake.notify(title: "121")
            try await fake.markRead([model.notifications[0]])
            await until { model.unreadCount == 119 }
            #expect(model.notifications.count == 120 && model.notifications.first?.isRead == true)
            fake.isOffline = false
            await until { model.notifications.count == 50 }
            #expect(model.notifications.first?.title == "121" && model.unreadCount == 120 && model.hasEarlier)
            #expect(try await fake.loadEarlier(limit: 30))
            await until { model.notifications.count == 80 }
        }
    }

    @Test func `one is opened, one archived, and all are marked as read`() async throws {
        for id in ["a", "b", "c"] { fake.notify(id: id, title: id) }
        try await following {
            await model.open(try #require(model.notifications.first))
            await until { model.notifications.first?.isRead == true }
            await model.archive(model.notifications[1])
            await until { model.notifications.map(\.id) == ["c", "a"] }
            await model.markAllRead()
            await until { model.unreadCount == 0 }
            await model.markAllRead()
            #expect(fake.calls == [.markRead([3]), .archive([2]), .markRead([1])])
            fake.notify(id: "b", title: "again")
            #expect(fake.notify(id: "b", title: "again") == nil, "an id that was archived stays known")
        }
    }

    @Test func `a notification that replaces another takes its place`() async {
        await following {
            fake.notify(id: "a", title: "Running", collapse: "build")
            fake.notify(id: "b", title: "Passed", collapse: "build")
            await until { model.notifications.map(\.title) == ["Passed"] }
        }
    }

    @Test func `older ones are loaded on demand, and an error is shown`() async {
        for number in 1...70 { fake.notify(title: "\(number)") }
        fake.mark(seen: 70)
        await following {
            await until { model.notifications.count == 50 && model.hasEarlier }
            fake.isOffline = true
            await model.loadEarlier()
            #expect(model.errorMessage == "There is no connection to the server." && !model.isLoadingEarlier)
            fake.isOffline = false
            await model.loadEarlier()
            await until { model.notifications.count == 70 && !model.hasEarlier }
            #expect(model.errorMessage == nil && model.arrival == nil)
            fake.failNext(with: PresenceError(.storageFailed, "full"))
            await model.markAllRead()
            await until { model.errorMessage != nil && model.unreadCount == 70 }
        }
    }
}

/// The inbox of one user and then of another, as from a client.
private struct Script: NotificationRepository {
    let feed = Feed<NotificationInbox>()
    /// The owner of the list that was marked last.
    let marked = Feed<String>()
    var inbox: PresenceUpdates<NotificationInbox> { NotificationInbox.updates(feed.updates) }

    func show(_ ids: [String], of user: String) {
        let shown = ids.enumerated().map { UserNotification(id: $1, sequence: Int64($0) + 1, kind: "k", title: $1) }
        var inbox = NotificationInbox(notifications: shown.reversed(), unseenCount: ids.count, unreadCount: ids.count)
        inbox.user = user
        feed.send(inbox)
    }

    func markSeen(upTo notification: UserNotification?) async throws {
        if let user = feed.value?.user { marked.send(user) }
    }
    func markRead(_ notifications: [UserNotification]) async throws {}
    func archive(_ notifications: [UserNotification]) async throws {}
    func loadEarlier(limit: Int) async throws -> Bool { false }
}
