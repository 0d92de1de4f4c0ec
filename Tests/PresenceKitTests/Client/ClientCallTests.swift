import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Calls of a client; the test plays the server.
@Suite(.timeLimit(.minutes(1))) struct ClientCallTests {
    private let dialler = ScriptedDialler()
    private let time = TestTime()

    @Test func `reading one user, found and not found`() async throws {
        let client = PresenceClient.scripted(dialler, time)
        async let bob = client.person("bob")
        let server = await dialler.next()
        await server.welcome()
        try await reply(server, .online("bob", 1, name: "Bob"))
        try await expect(bob?.displayName, equals: "Bob")
        async let zed = client.person("zed")
        try await reply(server, .unknown("zed"))
        try await expect(zed, equals: nil)
    }

    @Test func `reading many users returns those found, in the requested order`() async throws {
        let client = PresenceClient.scripted(dialler, time)
        async let people = client.people(["cy", "zed", "bob", "cy"])
        let server = await dialler.next()
        await server.welcome()
        let asked = try await reply(server, .online("bob", 1), .unknown("zed"), .online("cy", 1))
        expect(asked, equals: ["cy", "zed", "bob"])
        try await expect(people.map(\.user), equals: ["cy", "bob"])
    }

    @Test func `without a connection the cache answers, until it is cleared`() async throws {
        let client = PresenceClient.scripted(dialler, time)
        async let live = client.people(["bob"])
        let server = await dialler.next()
        await server.welcome()
        try await reply(server, .online("bob", 1, name: "Bob"))
        try await expect(live.first?.freshness, equals: .live)
        server.end(code: 4006)
        var states = client.connectionStates.makeAsyncIterator()
        while let state = await states.next(), !state.isClosed {}
        let stale = try await client.person("bob")
        expect(stale?.displayName, equals: "Bob")
        expect(stale?.freshness.staleSince != nil)
        await client.clearCache()
        await #expect(throws: PresenceError.self) { try await client.person("bob") }
    }

    @Test func `a malformed id is rejected before anything is sent`() async {
        let client = PresenceClient.scripted(dialler, time)
        await expectError(.invalidID) { _ = try await client.person("no id") }
        await expectError(.invalidID) { _ = try await client.people(["bob", ""]) }
        await expectError(.invalidID) { _ = try await client.createConversation(with: ["é"]) }
        for key in ["", "a b", "é", String(repeating: "k", count: 65)] {
            await expectError(.invalidID) { _ = try await client.createConversation(with: ["bob"], key: key) }
        }
        client.startTyping(in: "a b")
        client.stopTyping(in: "")
        await expect(client.connectionState, equals: .idle)
    }

    @Test func `an invalid device or URL closes the client, and calls report the reason`() async {
        let device = PresenceClient(url: URL(string: "ws://127.0.0.1:1/v1/ws")!, token: "t", device: Device(id: "a b"))
        await expectError(.invalidID) { try await device.setStatus(.busy) }
        for address in ["http://example.org", "ws:///v1/ws", "nonsense"] {
            let client = PresenceClient(url: URL(string: address)!, token: "t")
            await expectError(.invalidURL) { _ = try await client.person("bob") }
        }
    }

    @Test func `status, profile, conversation and typing are sent and acknowledged`() async throws {
        let client = PresenceClient.scripted(dialler, time)
        client.connect()
        let server = await dialler.next()
        await server.welcome()

        async let status = client.setStatus(.busy, text: "lunch", clearAfter: .seconds(60))
        let statusMessage = try #require(await server.message())
        expect(
            statusMessage.body, equals: .status(StatusChange(status: .busy, text: .set("lunch"), clearAfter: 60_000)))
        server.deliver(.ok(id: try #require(statusMessage.id)))
        try await expect(status, equals: .saved)

        async let profile = client.updateProfile(displayName: "Ana", photoURL: nil)
        let profileMessage = try #require(await server.message())
        expect(profileMessage.body, equals: .updateProfile(ProfileChanges(displayName: .set("Ana"), photoURL: .remove)))
        server.deliver(.profileUpdated(id: profileMessage.id, Profile(version: 1, displayName: "Ana")))
        guard case .saved(let saved) = try await profile else {
            Issue.record("not saved")
            return
        }
        expect(saved.displayName, equals: "Ana")

        async let conversation = client.createConversation(with: ["bob"])
        let conversationMessage = try #require(await server.message())
        server.deliver(.conversationCreated(id: conversationMessage.id, .init(id: "c1", participants: ["ana", "bob"])))
        try await expect(conversation.participants, equals: ["ana", "bob"])

        client.startTyping(in: "c1")
        let typingMessage = try #require(await server.message())
        server.deliver(.ok(id: try #require(typingMessage.id)))
        time.advance(by: .seconds(3))
        await expect(server.message()?.body, equals: .typing(conversation: "c1", typing: true))
        client.stopTyping(in: "c1")
        await expect(server.message()?.body, equals: .typing(conversation: "c1", typing: false))
    }

    @Test func `a rejection is thrown with all members of the server's error`() async throws {
        let client = PresenceClient.scripted(dialler, time)
        client.connect()
        let server = await dialler.next()
        await server.welcome()
        async let outcome = Task { try await client.updateProfile(displayName: "Ana") }.result
        let message = try #require(await server.message())
        server.deliver(.refusal(message.id, .validationFailed, field: "displayName", reason: "not_a_name"))
        guard case .failure(let error) = await outcome, let error = error as? PresenceError else {
            Issue.record("no error")
            return
        }
        let reason = PresenceError.Reason(rawValue: "not_a_name")
        expect(error, equals: PresenceError(.validationFailed, "no", reason: reason, field: "displayName"))
        expect("\(error)", equals: "validation_failed/not_a_name: no (displayName)")
    }

    @Test func `a cancelled call ends at once`() async {
        let client = PresenceClient.scripted(dialler, time)
        let call = Task { try await client.setStatus(.busy) }
        _ = await dialler.next()
        call.cancel()
        guard case .failure(let error) = await call.result else {
            Issue.record("no error")
            return
        }
        expect(error is CancellationError)
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await client.setStatus(.busy)
        }
        guard case .failure(let error) = await cancelled.result, error is CancellationError else {
            Issue.record("no error")
            return
        }
    }

    @Test func `a conversation whose reply is lost is requested again, and created once`() async throws {
        let client = PresenceClient.scripted(dialler, time)
        client.connect()
        let first = await dialler.next()
        await first.welcome()
        async let conversation = client.createConversation(with: ["bob"])
        let asked = try #require(await first.message()).body
        guard case .createConversation(let participants, let key?) = asked else {
            Issue.record("\(asked)")
            return
        }
        expect(participants, equals: ["bob"])
        var states = client.connectionStates.makeAsyncIterator()
        first.end(.lost("cable"))
        while let state = await states.next() {
            if case .reconnecting = state { break }
        }
        time.advance(by: .milliseconds(250))
        let second = await dialler.next()
        await second.welcome()
        let again = try #require(await second.message())
        expect(again.body, equals: .createConversation(participants: ["bob"], key: key))
        second.deliver(.conversationCreated(id: again.id, .init(id: "c1", participants: ["ana", "bob"])))
        try await expect(conversation.id, equals: "c1")

        async let other = client.createConversation(with: ["bob"])
        let next = try #require(await second.message())
        expect(next.body != asked, "each call is a conversation of its own")
        second.deliver(.conversationCreated(id: next.id, .init(id: "c2", participants: ["ana", "bob"])))
        try await expect(other.id, equals: "c2")

        async let named = client.createConversation(with: ["bob"], key: "with-bob")
        let message = try #require(await second.message())
        expect(message.body, equals: .createConversation(participants: ["bob"], key: CreationKey("with-bob")))
        second.deliver(.conversationCreated(id: message.id, .init(id: "c3", participants: ["ana", "bob"])))
        try await expect(named.id, equals: "c3")
    }

    @Test func `a call times out`() async throws {
        let client = PresenceClient.scripted(dialler, time)
        client.connect()
        let server = await dialler.next()
        await server.welcome()
        async let outcome = Task { try await client.createConversation(with: ["b"]) }.result
        _ = await server.message()
        time.advance(by: .seconds(15))
        guard case .failure(let error) = await outcome else {
            Issue.record("no error")
            return
        }
        expect((error as? PresenceError)?.code, equals: .timedOut)
        expect((error as? PresenceError)?.outcomeUnknown, equals: true)
    }

    // MARK: The app's lifecycle

    @Test func `background, foreground and a changed network`() async {
        let client = PresenceClient.scripted(dialler, time)
        client.connect()
        let server = await dialler.next()
        await server.welcome()
        client.enterBackground()
        await expect(server.message()?.body, equals: .activity(.background))
        client.enterForeground()
        let probe = await server.message()
        expect(probe?.body, equals: .activity(.active))
        server.deliver(.ok(id: probe?.id ?? 0))
        client.reconnectNow()
        await expect(server.next(), equals: .abort)
        await dialler.next().welcome()
    }

    @Test func `silence leads to a ping, then to a new connection`() async {
        let client = PresenceClient.scripted(dialler, time)
        var states = client.connectionStates.makeAsyncIterator()
        client.connect()
        let server = await dialler.next()
        await server.welcome()
        while let state = await states.next(), state != .live {}
        time.advance(by: .seconds(25))
        await expect(server.next(), equals: .ping)
        time.advance(by: .seconds(5))
        await expect(server.next(), equals: .abort)
        time.advance(by: .seconds(1))
        await dialler.next().welcome()
    }

    @Test func `a server that does not close is not waited for long`() async {
        let client = PresenceClient.scripted(dialler, time)
        await client.disconnect()
        await expect(client.connectionState, equals: .closed(nil))
        client.connect()
        let server = await dialler.next()
        await server.welcome()
        await client.disconnect()
        await expect(client.connectionState, equals: .closed(nil))
    }

    @Test func `pending profile changes are shown and sent`() async throws {
        let client = PresenceClient.scripted(dialler, time)
        await client.disconnect()
        try await expect(client.updateProfile(displayName: "Ana"), equals: .queued)
        var kept = client.pendingProfileUpdates.makeAsyncIterator()
        await expect(kept.next()?.waiting, equals: PresenceKit.ProfileChanges(displayName: "Ana"))
        client.connect()
        let server = await dialler.next()
        await server.welcome()
        let message = try #require(await server.message())
        expect(message.body, equals: .updateProfile(ProfileChanges(displayName: .set("Ana"))))
        server.deliver(.profileUpdated(id: message.id, Profile(version: 1, displayName: "Ana")))
        while let changes = await kept.next(), changes.waiting != nil {}
    }

    // MARK: Steps

    @discardableResult
    private func reply(_ server: ScriptedConnection, _ people: UserSnapshot...) async throws -> [UserID] {
        let message = try #require(await server.message())
        guard case .get(let users) = message.body else {
            Issue.record("no get: \(message)")
            return []
        }
        server.deliver(.users(id: message.id, people, more: false))
        return users
    }

    private func expectError(
        _ code: PresenceError.Code, sourceLocation: SourceLocation = #_sourceLocation,
        _ body: () async throws -> Void
    ) async {
        do {
            try await body()
            Issue.record("nothing was thrown", sourceLocation: sourceLocation)
        } catch {
            expect((error as? PresenceError)?.code, equals: code, sourceLocation: sourceLocation)
        }
    }
}
