import Expectations
import Foundation
import TestSupport
import Testing

@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// The settings of notifications, with a server in memory.
@Suite(.timeLimit(.minutes(1))) struct NotificationSettingsTests {
    private let server = InMemoryServer()
    private let night = NotificationSettings.QuietHours(
        timezone: "Europe/Lisbon", from: .init(23, 15), to: .init(6, 30), days: [1, 2, 3, 4, 5], allowsUrgent: true)

    private func notifications(
        _ storage: Storage = .memory(), of user: String = "ana"
    ) -> (client: PresenceClient, PresenceNotifications) {
        let client = server.client(as: user, storage: storage)
        return (client, PresenceNotifications(client))
    }

    private func connected(_ client: PresenceClient) async {
        client.connect()
        for await state in client.connectionStates where state.isConnected { return }
    }

    private func offline(_ client: PresenceClient) async {
        server.goOffline()
        for await state in client.connectionStates where !state.isConnected { return }
    }

    private func stored(_ name: String, of user: String = "ana") -> (any Sendable)? {
        server.notificationSettings(of: user)[name]
    }

    @Test func `they are those of all devices`() async throws {
        let (_, phone) = notifications()
        let (_, tablet) = notifications()
        var loop = tablet.settings.makeAsyncIterator()
        var own = phone.settings.makeAsyncIterator()
        await expect(own.next(), equals: NotificationSettings())
        await expect(loop.next(), equals: NotificationSettings())
        let wanted = NotificationSettings(
            kinds: ["order": .init(push: false)], direct: .off, showsPreview: false, quiet: night, holdsWhileBusy: true
        )
        try await expect(phone.setSettings(wanted))
        let other = await loop.reaches { $0.quiet != nil }
        expect(other?.quiet == night && other?.channels(of: "order") == .init(inbox: true, push: false))
        expect(other?.direct == .off && other?.groups == .all)
        expect(other?.showsPreview == false && other?.holdsWhileBusy == true)
        expect(other?.channels(of: "news"), equals: .init())
        let object = try #require(stored("quiet") as? [String: any Sendable])
        expect(object["from"] as? String == "23:15" && object["to"] as? String == "06:30")
        expect(object["days"] as? [Int] == [1, 2, 3, 4, 5] && object["allow"] as? [String] == ["urgent"])
        try await expect(phone.setSettings(NotificationSettings()))
        await expect(loop.reaches { $0.quiet == nil }?.kinds, equals: [:])
    }

    @Test func `a change without a connection is shown and sent with the next, the newest alone`() async throws {
        let (client, notifications) = notifications()
        var loop = notifications.settings.makeAsyncIterator()
        await expect(loop.next() != nil)
        await offline(client)
        try await expect(notifications.setSettings(.init(direct: .off)), equals: false)
        try await expect(notifications.setSettings(.init(groups: .off)), equals: false)
        let shown = await loop.reaches { $0.groups == .off }
        expect(shown?.direct, equals: .all)
        try await expect(client.keptWrites(ofKinds: ["notificationSettings"]).writes.count, equals: 1)
        server.goOnline()
        await server.received("PUT /v1/me/notificationSettings")
        await expect(loop.reaches { $0.version > 0 }?.groups, equals: .off)
        expect(server.requests("PUT /v1/me/notificationSettings").count, equals: 1)
        while try await !client.keptWrites(ofKinds: ["notificationSettings"]).writes.isEmpty { await Task.yield() }
    }

    @Test func `a change of an earlier process is sent after the launch, for its user alone`() async throws {
        let directory = try TemporaryDirectory()
        do {
            let (client, notifications) = notifications(try .directory(URL(fileURLWithPath: directory.path)))
            await connected(client)
            await offline(client)
            try await expect(notifications.setSettings(.init(showsPreview: false)), equals: false)
            await client.close()
        }
        server.goOnline()
        do {
            let (client, notifications) = notifications(try await OutboxTests.reopened(directory))
            client.connect()
            await server.received("PUT /v1/me/notificationSettings")
            while stored("preview") as? Bool != false { try await Task.sleep(for: .milliseconds(10)) }
            await client.close()
            withExtendedLifetime(notifications) {}
        }
        expect(stored("preview", of: "bob") as? Bool, equals: true)
    }

    @Test func `of two changes that a dead process has left, the newer is sent and both go`() async throws {
        let writes = StoredWrites()
        var left = Outbox()
        for settings in [NotificationSettings(direct: .off), NotificationSettings(groups: .off)] {
            try await writes.append(try Outbox.write(left.append(.settings(settings), of: "ana")))
        }
        let (client, notifications) = notifications(Storage(cache: PresenceCache(), writes: writes))
        client.connect()
        while await !writes.load().writes.isEmpty { await Task.yield() }
        expect(server.requests("PUT /v1/me/notificationSettings").count, equals: 1)
        expect((stored("messages") as? [String: any Sendable])?["groups"] as? String, equals: "none")
        withExtendedLifetime(notifications) {}
    }

    @Test func `what was missed is read with the next connection, and an older answer changes nothing`() async throws {
        let (client, notifications) = notifications()
        var loop = notifications.settings.makeAsyncIterator()
        await expect(loop.next() != nil)
        await offline(client)
        server.change { _ = try? $0.setSettings(["preview": false], of: "ana") }
        server.goOnline()
        let newest = await loop.reaches { !$0.showsPreview }
        server.publish(["type": "ownNotificationSettings", "settings": ["version": 0] as InMemoryServer.Object])
        server.publish(["type": "ownNotificationSettings", "settings": 3])
        try await expect(notifications.setSettings(.init(showsPreview: false, holdsWhileBusy: true)))
        let next = await loop.reaches { $0.holdsWhileBusy }
        expect(next?.showsPreview == false && next?.version ?? 0 > newest?.version ?? 0)
    }

    @Test func `what the server does not accept is told and dropped`() async throws {
        let (client, notifications) = notifications()
        var loop = notifications.settings.makeAsyncIterator()
        await expect(loop.next() != nil)
        for (field, change) in [
            ("quiet.days", { $0.days = [] }), ("quiet.days", { $0.days = [0] }),
            ("quiet.from", { $0.from = .init(24) }),
            ("quiet.timezone", { $0.timezone = "" }), ("quiet.timezone", { $0.timezone = "Europe/Nowhere" }),
        ] as [(String, (inout NotificationSettings.QuietHours) -> Void)] {
            var quiet = night
            change(&quiet)
            let error = await #expect(throws: PresenceError.self) {
                try await notifications.setSettings(.init(quiet: quiet))
            }
            expect(error?.code == .validationFailed && error?.field == field)
        }
        try await expect(client.keptWrites(ofKinds: ["notificationSettings"]).writes.isEmpty)
        server.fail(
            "PUT /v1/me/notificationSettings", with: PresenceError(.unavailable, retryAfter: .milliseconds(100)))
        try await expect(notifications.setSettings(.init(direct: .off)), equals: false, "it is tried again")
        await expect(loop.reaches { $0.version > 0 }?.direct, equals: .off)
    }

    @Test func `a change is made although its call is cancelled, which ends at once`() async throws {
        let (client, notifications) = notifications()
        await connected(client)
        server.hold()
        let call = Task { try await notifications.setSettings(.init(direct: .off)) }
        await server.received("PUT /v1/me/notificationSettings")
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        server.release()
        var loop = notifications.settings.makeAsyncIterator()
        await expect(loop.reaches { $0.version > 0 }?.direct, equals: .off)
    }

    @Test func `of changes that are made together the newest is sent last, and all calls end`() async throws {
        let (client, notifications) = notifications()
        await connected(client)
        server.hold()
        var calls: [Task<Bool, any Error>] = []
        for direct in [NotificationSettings.Messages.off, .init(rawValue: "mentions"), .all] {
            let settings = NotificationSettings(direct: direct, showsPreview: false)
            calls.append(Task { try await notifications.setSettings(settings) })
            await server.received("PUT /v1/me/notificationSettings")
            while await notifications.outbox.settings?.direct != direct { await Task.yield() }
        }
        server.release()
        for call in calls { try await expect(call.value) }
        expect(server.requests("PUT /v1/me/notificationSettings").count, equals: 2)
        let messages = stored("messages") as? [String: any Sendable]
        expect(messages?["direct"] as? String ?? "all" == "all" && stored("preview") as? Bool == false)
    }

    @Test func `a call whose settings were replaced does not get the error of older ones`() async throws {
        let (client, notifications) = notifications()
        await connected(client)
        server.hold()
        server.refuse("PUT /v1/me/notificationSettings", ["code": "validation_failed", "field": "quiet"])
        var calls: [Task<Bool, any Error>] = []
        for direct in [NotificationSettings.Messages.off, .init(rawValue: "mentions"), .all] {
            calls.append(Task { try await notifications.setSettings(NotificationSettings(direct: direct)) })
            await server.received("PUT /v1/me/notificationSettings")
            while await notifications.outbox.settings?.direct != direct { await Task.yield() }
        }
        server.release()
        await #expect(throws: PresenceError.self) { try await calls[0].value }
        for call in calls.dropFirst() { try await expect(call.value) }
    }

    @Test func `a sign-out forgets them`() async throws {
        let (client, notifications) = notifications()
        await connected(client)
        var loop = notifications.settings.makeAsyncIterator()
        try await notifications.setSettings(.init(showsPreview: false))
        await loop.reaches { !$0.showsPreview }
        await client.signOut()
        await expect(loop.reaches { $0.showsPreview } != nil)
    }

    @Test func `they are coded as the protocol has them`() throws {
        let json = Data(
            #"{"messages":{"direct":"mentions"},"quiet":{"timezone":"UTC","from":"00:00","to":"07:05"},"new":1}"#.utf8)
        let decoded = try JSONDecoder().decode(NotificationSettings.self, from: json)
        expect(decoded.direct.rawValue == "mentions" && decoded.groups == .all && decoded.showsPreview)
        expect(decoded.quiet?.days == Set(1...7) && decoded.quiet?.to == .init(7, 5))
        let again = try JSONDecoder().decode(NotificationSettings.self, from: JSONEncoder().encode(decoded))
        expect(again, equals: decoded)
        for time in ["24:00", "7", "07:60", "a:b"] {
            let wrong = Data(#"{"quiet":{"timezone":"UTC","from":"00:00","to":"\#(time)"}}"#.utf8)
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(NotificationSettings.self, from: wrong) }
        }
    }

    // MARK: On a screen

    @MainActor @Test func `a screen shows the kinds, and makes each change at once`() async throws {
        server.notificationKinds = [.init("order", name: "Orders"), .init("news", name: "News")]
        let (client, notifications) = notifications()
        let model = NotificationSettings.Model(notifications)
        let run = Task { await model.run() }
        defer { run.cancel() }
        await until { model.isLoaded && model.kinds.count == 2 }
        expect(model.kinds.map(\.name) == ["Orders", "News"] && model.offersQuietHours && !model.isMissing)
        await model.set(.init(push: false), of: model.kinds[0])
        expect(!model.isQueued && model.errorMessage == nil && !model.channels(of: model.kinds[0]).push)
        await model.setQuietHours(night)
        expect((stored("quiet") as? [String: any Sendable])?["timezone"] as? String, equals: "Europe/Lisbon")
        var wrong = night
        wrong.days = []
        await model.setQuietHours(wrong)
        expect(model.errorMessage == "Please choose at least one night." && model.settings.quiet == night)
        await offline(client)
        await model.change { $0.showsPreview = false }
        expect(model.isQueued && !model.settings.showsPreview && model.errorMessage == nil)
        server.goOnline()
        await until { !model.isQueued }
        expect(stored("preview") as? Bool, equals: false)
        server.change { _ = try? $0.setSettings([:], of: "ana") }
        await until { model.settings.quiet == nil && model.channels(of: model.kinds[0]).push }
    }
}
