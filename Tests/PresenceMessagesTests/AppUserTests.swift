import EventLoops
import Expectations
import Foundation
import TestSupport
import Testing

@testable import PresenceAccounts
@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// A former user leaves nothing to the next one: neither data nor requests.
@Suite(.timeLimit(.minutes(1))) struct AppUserTests {
    private let scene = AppScene()
    private var server: InMemoryServer { scene.server }
    private var sessions: FakeTokenStore { scene.sessions }

    private func app(_ storage: Storage = .memory()) -> PresenceApp { scene.app(storage) }
    private func signIn(_ user: String, _ app: PresenceApp) async throws { try await scene.signIn(user, app) }
    private func states(_ app: PresenceApp, until isWanted: (ConnectionState) -> Bool) async {
        await scene.states(app, until: isWanted)
    }

    /// Leaves a message that was never sent in a storage, after the server has ended the session.
    private func leaveMessage(of user: String, in url: URL) async throws {
        let app = app(try .directory(url))
        try await signIn(user, app)
        await states(app) { $0 == .live }
        server.isThere(false)
        try await app.messages.send("\(user)'s", in: "c1")
        try sessions.clear()
        await app.account.forget(.refused(.tokenExpired))
        await app.close()
    }

    @Test(arguments: ["ana", "eve"])
    func `after a relaunch, what a refused user left is for the same user only`(next: String) async throws {
        let directory = try TemporaryDirectory()
        let url = URL(fileURLWithPath: directory.path)
        try await leaveMessage(of: "ana", in: url)
        let app = app(try .directory(url))
        _ = try await app.messages.waiting.until { $0 == 1 }
        try await signIn(next, app)
        // There is no connection yet.
        let isSame = next == "ana"
        await expect(app.client.me.user, equals: isSame ? "ana" : nil)
        try await expect(app.client.keptWrites(ofKinds: ["message"]).writes.count, equals: isSame ? 1 : 0)
        await expect(app.messages.outbox.count, equals: isSame ? 1 : 0)
        server.isThere(true)
        app.client.networkChanged(isAvailable: true)
        await states(app) { $0 == .live }
        _ = try await app.messages.waiting.until { $0 == 0 }
        expect(server.texts(in: "c1"), equals: isSame ? ["ana's"] : [])
    }

    @Test func `a launch as another user than the one of the storage shows and keeps nothing of that`() async throws {
        let directory = try TemporaryDirectory()
        let url = URL(fileURLWithPath: directory.path)
        try await leaveMessage(of: "ana", in: url)
        try sessions.save(
            StoredSession(refreshToken: "eve", account: Account(id: "eve", email: "eve@x.org"), savedAt: Date()))
        let app = app(try .directory(url))
        _ = try await app.account.states.until { $0.account != nil }
        await expect(app.client.me.user != "ana")
        _ = try await app.messages.waiting.until { $0 == 0 }
        try await expect(app.client.keptWrites(ofKinds: ["message"]).writes.isEmpty)
    }

    @Test func `a sign-out with nobody signed in deletes what a refused user left`() async throws {
        let directory = try TemporaryDirectory()
        let url = URL(fileURLWithPath: directory.path)
        try await leaveMessage(of: "ana", in: url)
        let app = app(try .directory(url))
        _ = try await app.messages.waiting.until { $0 == 1 }
        try await app.account.signOut()
        await expect(app.client.me.user, equals: nil)
        try await expect(app.client.keptWrites(ofKinds: ["message"]).writes.isEmpty)
        await expect(app.messages.outbox.count, equals: 0)
    }

    @Test func `a request that reaches the client after a change of users is not sent as the next user`() async throws {
        let scene = AppScene(InMemoryServer.with(["c1": ["ana", "eve"]]))
        let (app, server) = (scene.app(), scene.server)
        try await signIn("ana", app)
        await states(app) { $0 == .live }
        server.refuse("send", ["code": "rate_limited", "retryAfter": 1_000])
        try await app.messages.send("ana's", in: "c1")
        await scene.clock.sleepers()
        // The message is sent again and the user changes, both before the client gets to either.
        let isBusy = Locked(false)
        let isFree = Locked(false)
        let client = Task {
            await app.client.runner.wait(until: {
                isBusy.withLock { $0 = true }
                return isFree.withLock { $0 }
            })
        }
        while !isBusy.withLock({ $0 }) { await Task.yield() }
        scene.clock.advance(by: .seconds(10))
        while await !app.messages.outbox.paused.isEmpty { await Task.yield() }
        let change = Task { try await signIn("eve", app) }
        while app.account.stateFeed.current.account?.id != "eve" { await Task.yield() }
        isFree.withLock { $0 = true }
        await client.value
        try await change.value
        for await me in app.client.meUpdates where me.user == "eve" { break }
        try await app.messages.send("eve's", in: "c1")
        _ = try await app.messages.waiting.until { $0 == 0 }
        expect(server.texts(in: "c1"), equals: ["eve's"])
    }

    @Test(arguments: ["sign-out", "another user", "deletion"])
    func `the call that ends a user's session returns after the user's data is deleted`(end: String) async throws {
        let writes = SlowWrites()
        let app = app(Storage(cache: PresenceCache(), writes: writes))
        try await signIn("ana", app)
        await states(app) { $0 == .live }
        server.isThere(false)
        try await app.messages.send("never sent", in: "c1")
        switch end {
        case "sign-out": try await app.account.signOut()
        case "deletion": try await app.account.deleteAccount(password: "correct horse")
        default: try await signIn("eve", app)
        }
        await expect(writes.load().writes.isEmpty)
        await expect(app.messages.outbox.count, equals: 0)
    }
}

/// A queue of writes that deletes slowly.
private actor SlowWrites: WriteQueue {
    private let writes = StoredWrites()

    func load() async -> (owner: String?, writes: [QueuedWrite]) { await writes.load() }
    func setOwner(_ user: String) async throws { try await writes.setOwner(user) }
    func append(_ write: QueuedWrite) async throws { try await writes.append(write) }
    func remove(_ ids: [String]) async throws { try await writes.remove(ids) }
    func removeAll() async throws {
        try await Task.sleep(for: .milliseconds(50))
        try await writes.removeAll()
    }
}

extension Runner {
    /// Is busy until a condition holds.
    fileprivate func wait(until isOver: @Sendable () -> Bool) {
        while !isOver() { usleep(1_000) }
    }
}
