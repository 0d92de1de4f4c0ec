import EventLoops
import Expectations
import Foundation
import PresenceProtocol
import TestSupport
import Testing

@testable import PresenceKit

/// A client without a network and over launches; the test plays the server.
@Suite(.timeLimit(.minutes(1))) struct OfflineClientTests {
    private let dialler = ScriptedDialler()
    private let time = TestTime()
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func stored() throws -> Storage { try .directory(URL(fileURLWithPath: directory.file("storage"))) }

    @Test func `after a launch without a network, people and the own user are there`() async throws {
        try await {
            let client = PresenceClient.scripted(dialler, time, storage: try stored())
            var loop = client.updates(of: "bob").makeAsyncIterator()
            async let first = loop.next()
            let server = await dialler.next()
            await server.welcome(user: "ana")
            await server.subscribe(.online("bob", 3, name: "Bob"))
            await expect(first?.displayName, equals: "Bob")
            server.end(code: 4006)
            while await loop.next()?.freshness.isLive == true {}
            // Pending storage operations are done before a later read returns.
            _ = try await client.person("bob")
        }()
        let storage = try await eventually { try? stored() }
        let client = PresenceClient.scripted(dialler, time, storage: storage)
        client.networkChanged(isAvailable: false)
        await expect(client.me.user, equals: "ana")
        var loop = client.updates(of: "bob").makeAsyncIterator()
        let bob = await loop.next()
        expect(bob?.displayName == "Bob" && bob?.isOnline == true)
        expect(bob?.freshness.staleSince != nil)
        await client.disconnect()
        let people = try await client.people(["bob", "cy"])
        expect(people.map(\.displayName), equals: ["Bob"])
        expect(people.missing == ["cy"] && people.unanswered == ["cy"] && people.problem?.code == .notConnected)
        await #expect(throws: PresenceError.self) { try await client.person("cy") }
    }

    @Test func `a queued change is sent after a launch, by the same device`() async throws {
        var device: String?
        do {
            let client = PresenceClient.scripted(dialler, time, storage: try stored())
            client.connect()
            let server = await dialler.next()
            device = await server.welcome()?.device?.id?.string
            // The owner of the change must be known, and the token names no user.
            for await state in client.connectionStates where state == .live { break }
            await client.disconnect()
            try await expect(client.updateProfile(displayName: "Ana", photoURL: nil), equals: .queued)
        }
        expect(device != nil)
        let client = PresenceClient.scripted(dialler, time, storage: try await eventually { try? stored() })
        await expect(
            client.pendingProfileChanges.waiting, equals: PresenceKit.ProfileChanges(displayName: "Ana", photoURL: nil))
        client.connect()
        let server = await dialler.next()
        await expect(server.welcome()?.device?.id?.string, equals: device)
        let message = try #require(await server.message())
        expect(message.body, equals: .updateProfile(ProfileChanges(displayName: .set("Ana"), photoURL: .remove)))
        server.deliver(.profileUpdated(id: message.id, Profile(version: 1, displayName: "Ana")))
        for await pending in client.pendingProfileUpdates where pending.waiting == nil { break }
    }

    @Test func `a queued status is sent after a launch`() async throws {
        try await {
            let client = PresenceClient.scripted(dialler, time, storage: try stored())
            client.connect()
            let server = await dialler.next()
            await server.welcome()
            for await state in client.connectionStates where state == .live { break }
            client.networkChanged(isAvailable: false)
            try await expect(client.setStatus(.invisible, text: "gone"), equals: .queued)
        }()
        let storage = try await eventually { try? stored() }
        let client = PresenceClient.scripted(dialler, time, storage: storage)
        client.connect()
        let server = await dialler.next()
        await expect(server.welcome()?.status, equals: nil, "the token names nobody")
        let message = try #require(await server.message())
        expect(message.body, equals: .status(StatusChange(status: .invisible, text: .set("gone"))))
        server.deliver(.ok(id: try #require(message.id)))
        while try await !storage.writes.load().writes.isEmpty { await Task.yield() }
    }

    @Test func `a sign-out leaves nothing on the disk, and the next user finds nothing`() async throws {
        try await {
            let client = PresenceClient.scripted(dialler, time, storage: try stored())
            var loop = client.updates(of: "bob").makeAsyncIterator()
            async let first = loop.next()
            let server = await dialler.next()
            await server.welcome(user: "ana")
            await server.subscribe(.online("bob", 3, name: "Secret Bob"))
            await expect(first?.displayName, equals: "Secret Bob")
            client.networkChanged(isAvailable: false)
            try await expect(client.updateProfile(displayName: "Secret Ana"), equals: .queued)
            try await expect(client.setStatus(.busy, text: "Secret lunch"), equals: .queued)
            _ = try await client.person("bob")
            for text in ["Secret Bob", "\"ana\"", "\"profile\"", "\"status\""] { try expect(onDisk(text), "\(text)") }
            await client.signOut()
            for text in ["Secret", "bob", "ana", "profile", "status"] { try expect(!onDisk(text), "\(text)") }
            await expect(client.me, equals: Me(problem: client.connectionProblem))
            await expect(client.pendingProfileChanges, equals: PresenceKit.ProfileChanges.Pending())
        }()
        let client = PresenceClient.scripted(dialler, time, storage: try await eventually { try? stored() })
        await expect(client.me, equals: Me())
        await expect(client.pendingProfileChanges, equals: PresenceKit.ProfileChanges.Pending())
        await client.disconnect()
        let people = try await client.people(["bob"])
        expect(people.isEmpty && people.unanswered == ["bob"])
        client.connect()
        let server = await dialler.next()
        await expect(server.welcome(user: "eve")?.status, equals: nil)
        // Nothing of the former user is sent before this user's first message.
        client.startTyping(in: "c1")
        await expect(server.message()?.body, equals: .typing(conversation: "c1", typing: true))
        await expect(client.me.user, equals: "eve")
    }

    /// Whether a text is in a file of the storage.
    private func onDisk(_ text: String) throws -> Bool {
        let folder = URL(fileURLWithPath: directory.file("storage"))
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return try files.contains { try Data(contentsOf: $0).range(of: Data(text.utf8)) != nil }
    }

    @Test func `without a network no call hangs: it returns, is queued or throws at once`() async throws {
        let client = PresenceClient.scripted(dialler, time)
        client.connect()
        client.networkChanged(isAvailable: false)
        try await expect(client.people(["bob"]).unanswered, equals: ["bob"])
        try await expect(client.setStatus(.busy), equals: .queued)
        try await expect(client.updateProfile(displayName: "Ana"), equals: .queued)
        for code in [PresenceError.Code.notConnected] {
            await expectError(code) { _ = try await client.person("bob") }
            await expectError(code) { try await client.updateProfile(displayName: "Ana", offline: .fail) }
            await expectError(code) { _ = try await client.createConversation(with: ["bob"]) }
            await expectError(code) { try await client.block(["eve"]) }
            await expectError(code) { _ = try await client.visibility() }
        }
        client.networkChanged(isAvailable: true)
        _ = await dialler.next()
    }

    @Test func `a loop on a closed client says so, and goes on when it is opened again`() async throws {
        let client = PresenceClient.scripted(dialler, time)
        await client.disconnect()
        var (bob, typing) = (
            client.presence(of: "bob").makeAsyncIterator(), client.typing(in: "c1").makeAsyncIterator()
        )
        await expect(bob.next()?.problem?.code, equals: .notConnected)
        await expect(typing.next()?.problem?.code, equals: .notConnected)
        client.connect()
        let server = await dialler.next()
        await server.welcome()
        await server.subscribe(.online("bob", 1))
        var element = await bob.next()
        while element?.freshness.isLive == false { element = await bob.next() }
        expect(element?.problem == nil && element?.isOnline == true)
        server.end(code: 4006)
        repeat { element = await bob.next() } while element?.problem == nil
        expect(element?.problem?.code, equals: .disconnectedByAdministrator)
        expect(element?.isOnline, equals: true, "as last known")
    }

    // MARK: Steps

    private func expectError(_ code: PresenceError.Code, _ body: () async throws -> Void) async {
        do {
            try await body()
            Issue.record("nothing was thrown")
        } catch {
            expect((error as? PresenceError)?.code, equals: code)
        }
    }

    /// The former client must be released first, because its release unlocks the storage.
    private func eventually<Value>(_ find: () -> Value?) async throws -> Value {
        while true {
            if let value = find() { return value }
            await Task.yield()
        }
    }
}
