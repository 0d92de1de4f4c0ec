import PresenceKit
import PresenceKitTesting
import PresenceMessageModels
import PresenceMessages
import PresenceMessagesTesting
import Testing

/// The notifications on a screen, over a fake.
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

    @Test func `the newest stand first, and one that comes is an arrival until it is seen`() async {
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

    @Test func `what is looked at counts as seen`() async {
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

    @Test func `one is opened, one put away, and all are read`() async throws {
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

    @Test func `one that replaces another takes its place`() async {
        await following {
            fake.notify(id: "a", title: "Running", collapse: "build")
            fake.notify(id: "b", title: "Passed", collapse: "build")
            await until { model.notifications.map(\.title) == ["Passed"] }
        }
    }

    @Test func `older ones are loaded on demand, and an error is told`() async {
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
            #expect(model.errorMessage != nil && model.unreadCount == 70)
        }
    }
}
