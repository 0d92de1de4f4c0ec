import Expectations
import Foundation
import PresenceKit
import PresenceTesting
import Testing

/// The server in memory follows the rules of the real one.
@Suite(.timeLimit(.minutes(1))) struct ServerTests {
    private let stage = Stage(.online("bob", name: "Bob"))
    private var server: InMemoryServer { stage.server }
    private var client: PresenceClient { stage.client }

    /// Waits until a user is seen as wanted.
    private func reaches(_ user: String, by viewer: PresenceClient, _ isWanted: (Person) -> Bool) async {
        for await person in viewer.updates(of: user) where isWanted(person) { return }
    }

    @Test func `reads return the missing ids, and the reason while offline`() async throws {
        let people = try await client.people(["bob", "nobody"])
        expect(people.map(\.user) == ["bob"] && people.missing == ["nobody"] && people.isComplete)
        try await expect(client.person("nobody"), equals: nil)
        await stage.goOffline()
        let held = try await client.people(["bob", "stranger"])
        expect(held.first?.freshness.isLive, equals: false)
        expect(held.missing == ["stranger"] && held.unanswered == ["stranger"])
        expect(held.problem?.code, equals: .notConnected)
        await #expect(throws: PresenceError.self) { try await client.person("stranger") }
    }

    @Test func `writes are queued or fail while offline, and are made after it`() async throws {
        await stage.connected()
        await stage.goOffline()
        try await expect(client.updateProfile(ProfileChanges(displayName: "A"), offline: .queue), equals: .queued)
        try await expect(client.updateProfile(ProfileChanges(locale: "de"), offline: .queue), equals: .queued)
        try await expect(client.setStatus(.busy), equals: .queued)
        await #expect(throws: PresenceError.self) { try await client.block(["eve"]) }
        server.goOnline()
        for await me in client.meUpdates where me.profile?.displayName == "A" && me.profile?.locale == "de" { break }
        await reaches("ana", by: server.client(as: "bob")) { $0.displayName == "A" && $0.presence.status == .busy }
    }

    @Test func `changes by others while offline show with the next connection`() async throws {
        server.add(conversation: "c1", of: ["ana", "bob"])
        await reaches("bob", by: client) { $0.isOnline }
        var typing = client.typing(in: "c1").makeAsyncIterator()
        while await typing.next()?.freshness.isLive != true {}
        await stage.goOffline()
        server.set(.offline("bob", name: "Bob"))
        server.setTyping(["bob"], in: "c1")
        try await expect(client.person("bob")?.isOnline, equals: true, "as last known")
        var shown = await typing.next()
        expect(shown?.users, equals: [])
        server.goOnline()
        while shown?.users != ["bob"] { shown = await typing.next() }
        try await expect(client.person("bob")?.isOnline, equals: false)
    }

    @Test func `a client that starts closed says so, and one that signed out has no users`() async throws {
        await client.disconnect()
        try await expect(client.people(["bob"]).problem?.code, equals: .notConnected)
        var bob = client.updates(of: "bob").makeAsyncIterator()
        let shown = await bob.next()
        expect(shown?.freshness.isLive == false && shown?.problem?.code == .notConnected)
        client.connect()
        var live = await bob.next()
        while live?.freshness.isLive != true { live = await bob.next() }
        expect(live?.displayName == "Bob" && live?.problem == nil)
        await client.signOut()
        try await expect(client.people(["bob"]).unanswered, equals: ["bob"])
    }

    @Test func `values that a client rejects are rejected, and not sent`() async throws {
        await stage.connected()
        func code(_ body: () async throws -> Void) async -> PresenceError.Code? {
            do {
                try await body()
                return nil
            } catch {
                return (error as? PresenceError)?.code
            }
        }
        await expect(code { _ = try await client.createConversation(with: ["no id"]) }, equals: .invalidID)
        await expect(code { _ = try await client.createConversation(with: ["bob"], key: "a b") }, equals: .invalidID)
        await expect(code { try await client.block(["no id"]) }, equals: .invalidID)
        let long = ProfileChanges(displayName: .set(String(repeating: "x", count: 51)))
        await expect(code { try await client.updateProfile(long) }, equals: .validationFailed)
        for type in ["createConversation", "block", "updateProfile"] {
            expect(server.requests(type).isEmpty, "\(type)")
        }
        var typing = client.typing(in: "no id").makeAsyncIterator()
        await expect(typing.next()?.problem?.code, equals: .invalidID)
        await expect(typing.next(), equals: nil)
        guard case .saved(let profile) = try await client.updateProfile(ProfileChanges(displayName: " Ana ")) else {
            Issue.record("not saved")
            return
        }
        expect(profile.displayName == "Ana" && server.requests("updateProfile").count == 1)
    }

    @Test func `a status has the time at which it is cleared, by the test's clock`() async throws {
        server.clock.advance(by: .seconds(10))
        try await client.setStatus(.busy, text: .keep, clearAfter: .seconds(60))
        for await me in client.meUpdates where me.status?.clearsAt != nil {
            expect(abs(me.status!.clearsAt!.timeIntervalSince(.inTests + 70)) < 1)
            break
        }
        await expect(abs(client.serverNow.timeIntervalSince(.inTests + 10)) < 60)
        server.clock.advance(by: .seconds(60))
        for await me in client.meUpdates where me.status?.status == .auto { break }
    }

    @Test func `the visibility is stored, and observed with the signed-in user`() async throws {
        try await client.setVisibility(presence: .contacts, lastSeen: nil)
        try await client.addContacts(["bob", "cy"])
        try await client.removeContacts(["cy"])
        try await client.block(["eve", "mallory"])
        try await client.unblock(["mallory"])
        try await client.setVisibility(receipts: .nobody, findable: .contacts)
        let visibility = try await client.visibility()
        expect(
            visibility,
            equals: Me.Visibility(
                presence: .contacts, lastSeen: .everyone, receipts: .nobody, findable: .contacts, contacts: ["bob"],
                blocked: ["eve"]))
        let own = Me.Audiences(
            presence: .contacts, receipts: .nobody, findable: .contacts, contactsCount: 1, blockedCount: 1)
        for await me in client.meUpdates where me.visibility == own { break }
        let error = await #expect(throws: PresenceError.self) { try await client.setVisibility(receipts: .contacts) }
        expect(error?.code, equals: .validationFailed)
    }

    @Test func `a blocked user sees an unknown one, and sees them again after that`() async throws {
        try await client.updateProfile(ProfileChanges(displayName: "Ana"))
        let bob = server.client(as: "bob")
        await reaches("ana", by: bob) { $0.isOnline && $0.displayName == "Ana" }
        try await client.block(["bob"])
        await reaches("ana", by: bob) { !$0.isFound && $0.freshness.isLive }
        try await client.unblock(["bob"])
        await reaches("ana", by: bob) { $0.isOnline && $0.displayName == "Ana" }
    }

    @Test func `last seen is mutual`() async throws {
        server.set(.offline("bob", name: "Bob"))
        try await expect(client.person("bob")?.presence.lastSeen, equals: .inTests)
        try await client.setVisibility(lastSeen: .nobody)
        let bob = try #require(try await client.person("bob"))
        expect(bob.presence.lastSeen == nil && bob.displayName == "Bob")
    }

    @Test func `a session whose connection is lost lingers, and a disconnect ends it at once`() async {
        await stage.connected()
        let bob = server.client(as: "bob")
        await reaches("ana", by: bob) { $0.isOnline }
        client.networkChanged(isAvailable: false)
        for await state in client.connectionStates where !state.isConnected { break }
        server.clock.advance(by: .seconds(9))
        await reaches("ana", by: bob) { $0.isOnline }
        server.clock.advance(by: .seconds(1))
        await reaches("ana", by: bob) { !$0.isOnline && $0.presence.lastSeen != nil }
        client.networkChanged(isAvailable: true)
        await reaches("ana", by: bob) { $0.isOnline }
        await client.disconnect()
        await reaches("ana", by: bob) { !$0.isOnline }
    }

    @Test func `a scripted error applies once, to the matching requests`() async throws {
        server.fail("status", with: PresenceError(.forbidden, "no"))
        _ = try await client.people(["bob"])
        await #expect(throws: PresenceError(.forbidden, "no")) { try await client.setStatus(.busy) }
        try await expect(client.setStatus(.busy), equals: .saved)
    }

    @Test func `a held call ends when it is cancelled, and so do waits for missing events`() async {
        await stage.connected()
        server.hold()
        let call = Task { [client] in try await client.people(["bob"]) }
        let sleepers = Task { [server] in await server.clock.sleepers(5) }
        let sleep = Task { [server] in try await server.clock.sleep(for: .seconds(1)) }
        let wait = Task { @MainActor in await until { false } }
        await server.received("get")
        await server.clock.sleepers()
        for task in [call.cancel, sleepers.cancel, sleep.cancel, wait.cancel] { task() }
        for result in [await call.result.map { _ in }, await sleep.result] {
            guard case .failure(let error) = result else {
                Issue.record("not cancelled")
                return
            }
            expect(error is CancellationError)
        }
        await sleepers.value
        await wait.value
    }

    @Test func `requests take their time, and stay in order`() async throws {
        await stage.connected()
        server.delay = .seconds(2)
        let choice = Task { [client] in try await client.setStatus(.busy) }
        await server.received("status")
        server.clock.advance(by: .seconds(1))
        server.delay = nil
        let read = Task { [client] in try await client.person("bob") }
        await server.received("get")
        server.clock.advance(by: .seconds(1))
        try await expect(choice.value, equals: .saved)
        try await expect(read.value?.displayName, equals: "Bob")
    }

    @Test func `each key creates one conversation`() async throws {
        let room = try await client.createConversation(with: ["bob", "cy"], key: "k")
        expect(room.participants.sorted(), equals: ["ana", "bob", "cy"])
        try await expect(client.createConversation(with: ["bob", "cy"], key: "k"), equals: room)
        try await expect(client.createConversation(with: ["bob", "cy"]) != room)
    }
}
