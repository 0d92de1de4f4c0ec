import Expectations
import Foundation
import TestSupport
import Testing

@testable import PresenceAccounts
@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// An app's account, client, messages and notifications live as one.
@Suite(.timeLimit(.minutes(1))) struct AppTests {
    private let scene = AppScene()
    private var server: InMemoryServer { scene.server }
    private var sessions: FakeTokenStore { scene.sessions }

    private func app(_ storage: Storage = .memory()) -> PresenceApp { scene.app(storage) }
    private func signIn(_ user: String, _ app: PresenceApp) async throws { try await scene.signIn(user, app) }
    private func states(_ app: PresenceApp, until isWanted: (ConnectionState) -> Bool) async {
        await scene.states(app, until: isWanted)
    }

    @Test func `each part has its configuration`() async {
        var account = PresenceAccount.Configuration()
        account.requestTimeout = .seconds(1)
        var client = PresenceClient.Configuration()
        client.tokenTimeout = .seconds(2)
        var messages = PresenceMessenger.Configuration()
        messages.uploadTimeout = .seconds(3)
        let app = PresenceApp(
            url: URL(string: "https://example.org")!, storage: .memory(), sessions: .memory(),
            accountConfiguration: account, clientConfiguration: client, messagesConfiguration: messages)
        expect(app.account.configuration == account && app.messages.configuration == messages)
        await expect(app.client.runner.inspect { $0.link.tokenTimeout }, equals: .seconds(2))
    }

    @Test func `a sign-in connects, without any other call`() async throws {
        let app = app()
        await expect(app.client.connectionState, equals: .idle)
        try await signIn("ana", app)
        await states(app) { $0 == .live }
        await expect(app.client.me.user, equals: "ana")
    }

    @Test func `a launch with a stored session connects`() async throws {
        try sessions.save(
            StoredSession(refreshToken: "ana", account: Account(id: "ana", email: "ana@x.org"), savedAt: Date()))
        let app = app()
        await states(app) { $0 == .live }
        await expect(app.client.me.user, equals: "ana")
    }

    @Test func `a sign-out disconnects and forgets, and the next sign-in connects`() async throws {
        let directory = try TemporaryDirectory()
        let app = app(try .directory(URL(fileURLWithPath: directory.path)))
        try await signIn("ana", app)
        var list = app.messages.conversationList.makeAsyncIterator()
        await list.reaches { $0.map(\.id) == ["c1"] }
        var inbox = app.notifications.inbox.makeAsyncIterator()
        await inbox.reaches { $0.user == "ana" }
        server.isThere(false)
        try await app.messages.send("never sent", in: "c1")
        try await app.account.signOut()
        await expect(app.client.connectionState, equals: .closed(nil))
        await expect(app.client.me.user, equals: nil)
        await list.reaches { $0.isEmpty }
        await inbox.reaches { $0.user == nil }
        _ = try await app.messages.waiting.until { $0 == 0 }
        try await expect(app.client.keptWrites(ofKinds: ["message"]).writes.isEmpty)
        let error = await #expect(throws: PresenceError.self) { try await app.messages.send("by whom?", in: "c1") }
        expect(error?.code, equals: .signedOut)
        server.isThere(true)
        try await signIn("ana", app)
        await states(app) { $0 == .live }
        await list.reaches { $0.map(\.id) == ["c1"] }
        expect(server.texts(in: "c1").isEmpty)
    }

    @Test func `another user's sign-in switches, and loops continue as that user`() async throws {
        let app = app()
        try await signIn("ana", app)
        var list = app.messages.conversationList.makeAsyncIterator()
        await list.reaches { $0.map(\.id) == ["c1"] }
        var me = app.client.meUpdates.makeAsyncIterator()
        await me.reaches { $0.user == "ana" }
        server.isThere(false)
        try await app.messages.send("ana's", in: "c1")
        try await signIn("eve", app)
        server.isThere(true)
        app.client.networkChanged(isAvailable: true)
        await list.reaches { $0.isEmpty }
        await me.reaches { $0.user == "eve" }
        await expect(app.client.me.user, equals: "eve")
        expect(server.texts(in: "c1").isEmpty)
    }

    @Test func `a closed app has given its storage back, with all that was promised`() async throws {
        let directory = try TemporaryDirectory()
        let url = URL(fileURLWithPath: directory.path)
        let first = app(try .directory(url))
        try await signIn("ana", first)
        await states(first) { $0 == .live }
        server.isThere(false)
        try await first.messages.send("later", in: "c1")
        await first.close()
        let second = app(try .directory(url))
        await expect(first.client.connectionState, equals: .closed(.clientClosed))
        await #expect(throws: PresenceError.self) { try await first.messages.send("too late", in: "c1") }
        first.client.connect()
        server.isThere(true)
        await states(second) { $0 == .live }
        _ = try await second.messages.waiting.until { $0 == 0 }
        expect(server.texts(in: "c1"), equals: ["later"])
        await expect(first.client.connectionState, equals: .closed(.clientClosed))
    }

    @Test func `a closed app's loops end, and a sign-in does not open it`() async throws {
        let app = app()
        try await signIn("ana", app)
        await states(app) { $0 == .live }
        var loop = app.client.meUpdates.makeAsyncIterator()
        await loop.reaches { $0.user == "ana" }
        await app.close()
        // It ends.
        await loop.reaches { _ in false }
        let error = await #expect(throws: PresenceError.self) { try await signIn("bob", app) }
        expect(error?.code, equals: .notConnected)
        await expect(app.client.connectionState, equals: .closed(.clientClosed))
        await #expect(throws: PresenceError.clientClosed) { try await app.client.person("bob") }
    }
}
