import Expectations
import Foundation
import TestSupport
import Testing

@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// The token provider turns to another user while the server cannot be reached.
@Suite(.timeLimit(.minutes(1))) struct NextUserTests {
    private let server = InMemoryServer.with(["c1": ["ana", "bob", "cy"]])
    private let user = Guarded("ana")
    private let client: PresenceClient
    private let clock = TestClock()

    init() {
        client = server.client(
            token: { [user] in InMemoryServer.token(["sub": user.withLock { $0 }]) }, storage: .memory())
    }

    private func connected() async {
        client.connect()
        for await state in client.connectionStates where state.isConnected { return }
    }

    private func turn(to next: String) async {
        user.withLock { $0 = next }
        server.refuse("connect", ["code": "unauthorized"])
        let former = server.requests("connect").count
        server.cutAll()
        while server.requests("connect").count == former { await Task.yield() }
        server.isThere(false)
        while await client.runner.engine.me.account?.string != next { await Task.yield() }
    }

    private func comeBack() async {
        server.isThere(true)
        client.networkChanged(isAvailable: true)
        await connected()
    }

    private func kept() async throws -> [QueuedWrite] {
        try await client.keptWrites(ofKinds: Outbox.messengerKinds).writes
    }

    @Test func `what is promised to them is made once the server confirms them`() async throws {
        let messages = PresenceMessenger(client)
        await connected()
        await turn(to: "bob")
        while await messages.own != "bob" { await Task.yield() }
        try await expect(messages.send("bob's", in: "c1").senderId, equals: "bob")
        try await expect(kept().map(\.owner), equals: ["bob"])
        await comeBack()
        while server.texts(in: "c1").isEmpty { await Task.yield() }
        expect(server.texts(in: "c1"), equals: ["bob's"])
        while try await !kept().isEmpty { await Task.yield() }
    }

    @Test func `what was promised to them leaves the storage if the server confirms another`() async throws {
        let messages = PresenceMessenger(client)
        await connected()
        await turn(to: "bob")
        while await messages.own != "bob" { await Task.yield() }
        try await messages.send("bob's", in: "c1")
        server.isThere(true)
        await turn(to: "ana")
        await comeBack()
        while try await !kept().isEmpty { await Task.yield() }
        expect(server.texts(in: "c1").isEmpty)
    }

    @Test func `they are not shown the former user's notifications`() async throws {
        server.notify("for ana")
        let notifications = PresenceNotifications(client, clock: clock)
        var loop = notifications.inbox.makeAsyncIterator()
        await loop.reaches { $0.notifications.count == 1 }
        await turn(to: "bob")
        let empty = await loop.next()
        expect(empty?.notifications.isEmpty, equals: true)
        while await notifications.own != "bob" { await Task.yield() }
        await expect(notifications.shown.notifications.isEmpty)
    }

    @Test func `the former user's settings are not sent with their token`() async throws {
        let put = "PUT /v1/me/notificationSettings"
        let notifications = PresenceNotifications(client, clock: clock)
        await connected()
        while await !notifications.isConnected { await Task.yield() }
        server.refuse(put, ["code": "rate_limited", "retryAfter": 5_000])
        try await expect(notifications.setSettings(.init(showsPreview: false)), equals: false)
        await clock.sleepers()
        // Another library handles an event for long. So this one learns late of the next user.
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (held, isHeld) = AsyncStream.makeStream(of: Void.self)
        await client.attach { event in
            guard case .event("slow", _) = event else { return }
            isHeld.finish()
            for await _ in gate {}
        }
        server.publish(["type": "slow"])
        for await _ in held {}
        await turn(to: "bob")
        clock.advance(by: .seconds(5))
        while await notifications.outbox.sending[Outbox.settings] != nil { await Task.yield() }
        expect(server.requests(put).count, equals: 1)
        open.finish()
        await comeBack()
        expect(server.notificationSettings(of: "bob")["preview"] as? Bool != false)
    }
}
