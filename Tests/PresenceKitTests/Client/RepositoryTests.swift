import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// A client as a repository of users; the test plays the server.
@Suite(.timeLimit(.minutes(1))) struct RepositoryTests {
    private let dialler = ScriptedDialler()
    private let client: PresenceClient
    private var users: any UserRepository { client }

    init() { client = .scripted(dialler) }

    @Test func `a hidden user is offline`() async throws {
        let updates = users.userUpdates(of: "bob")
        var loop = updates.makeAsyncIterator()
        let server = await dialler.next()
        await server.welcome()
        await server.subscribe(.online("bob", 3, name: "Bob"))
        await expect(loop.next()?.isOnline, equals: true)
        server.deliver(.presence(user: "bob", .unknown, at: nil))
        server.deliver(.profile(user: "bob", .none, at: nil))
        var bob = await loop.next()
        while bob?.isOnline == true { bob = await loop.next() }
        while bob?.displayName != "" { bob = await loop.next() }
        expect(bob?.isOnline, equals: false)
    }

    @Test func `a user who does not exist is an element that says so`() async throws {
        var loop = users.userStates(of: "nobody").makeAsyncIterator()
        let server = await dialler.next()
        await server.welcome()
        await server.subscribe(.unknown("nobody"))
        let state = await loop.next()
        expect(state?.isFound == false && state?.isStale == false && state?.user.displayName == "")
        var malformed = users.userStates(of: "no id").makeAsyncIterator()
        await expect(malformed.next()?.isFound, equals: false)
        await expect(malformed.next(), equals: nil)
    }

    @Test func `a user as last known says so`() async throws {
        var loop = users.userStates(of: "bob").makeAsyncIterator()
        let server = await dialler.next()
        await server.welcome()
        await server.subscribe(.online("bob", 3, name: "Bob"))
        await expect(loop.next()?.isStale, equals: false)
        server.end(code: 4006)
        var bob = await loop.next()
        while bob?.isStale == false { bob = await loop.next() }
        expect(bob?.user.displayName, equals: "Bob")
    }

    @Test func `a malformed id in a batch is missing, and the others are found`() async throws {
        async let found = users.users(["no id", "bob", "no id", "cy"])
        let server = await dialler.next()
        await server.welcome()
        let message = try #require(await server.message())
        expect(message.body, equals: .get(users: ["bob", "cy"]))
        server.deliver(.users(id: message.id, [.online("bob", 1, name: "Bob"), .unknown("cy")], more: false))
        let users = try await found
        expect(users.map(\.id) == ["bob"] && users.missing == ["no id", "cy"])
    }

    @Test func `a saved user is as others see them, and a missing name is not sent`() async throws {
        client.connect()
        let server = await dialler.next()
        await server.welcome(user: "ana")
        async let update = users.update(User(id: "ana", displayName: ""))
        let message = try #require(await server.message())
        expect(
            message.body, equals: .updateProfile(ProfileChanges(photoURL: .remove, timezone: .remove, locale: .remove)))
        server.deliver(.profileUpdated(id: message.id, Profile(version: 1)))
        let get = try #require(await server.message())
        expect(get.body, equals: .get(users: ["ana"]))
        server.deliver(.users(id: get.id, [.online("ana", 2)], more: false))
        guard case .saved(let user) = try await update else {
            Issue.record("not saved")
            return
        }
        expect(user.isOnline && user.lastSeen > .distantPast)
    }

    @Test func `a rejection of a queued change is reported`() async throws {
        await client.disconnect()
        try await expect(users.update(PresenceKit.ProfileChanges(displayName: "Ana")), equals: .queued)
        var refusals = users.updateRefusals.makeAsyncIterator()
        client.connect()
        let server = await dialler.next()
        await server.welcome()
        let message = try #require(await server.message())
        server.deliver(.refusal(message.id, .validationFailed, field: "displayName"))
        let refusal = await refusals.next()
        expect(refusal?.code == .validationFailed && refusal?.field == "displayName")
        expect(refusal?.localizedDescription, equals: "This name cannot be used.")
    }

    @Test func `pending changes are reported at once, and when they are done`() async throws {
        await client.disconnect()
        var pending = users.pendingUpdates.makeAsyncIterator()
        await expect(pending.next(), equals: false)
        try await expect(users.update(PresenceKit.ProfileChanges(displayName: "Ana")), equals: .queued)
        await expect(pending.next(), equals: true)
        client.connect()
        let server = await dialler.next()
        await server.welcome()
        let message = try #require(await server.message())
        server.deliver(.profileUpdated(id: message.id, Profile(version: 1, displayName: "Ana")))
        while await pending.next() == true {}
    }

    @Test func `whether somebody is here is told when that changes, and not with each device`() async throws {
        var online = users.onlineUpdates(of: "bob").makeAsyncIterator()
        let server = await dialler.next()
        await server.welcome()
        await server.subscribe(.online("bob", 3))
        while await online.next() == false {}
        // Away counts as online: the next element is of the status after it.
        server.deliver(.event("bob", 4, .away))
        var people = client.presence(of: "bob").makeAsyncIterator()
        while await people.next()?.version != 4 {}
        server.deliver(.event("bob", 5, .offline))
        await expect(online.next(), equals: false)
    }

    @Test func `a name that passes the form's rule passes the server's`() {
        let names = [
            "Ana", " Ana ", "", "  ", "\u{200B}", "a\u{0}b", "a\nb", "\u{202E}abc", "a\u{206A}b", "\u{2800}", "👩‍👩‍👧",
            "\u{301}",
            "\u{FEFF}Ana\u{FEFF}", "\u{3000}Ana\u{3000}", "\u{85}Ana", String(repeating: "x", count: 50),
            String(repeating: "x", count: 51), "e" + String(repeating: "\u{301}", count: 600), "a\u{FFFE}", "\u{1D159}",
            "\u{E000}", "\u{378}", "a\u{E000}", "\u{10FFFD}",
            "김 民", "‏שלום",
        ]
        for name in names {
            expect(
                User.DisplayNameRule.fault(in: name) == nil, equals: DisplayName.normalized(name) != nil,
                "\(name.debugDescription)")
            expect(User.DisplayNameRule.trimmed(name), equals: FreeText.trimmed(name))
        }
    }

    @Test func `the storage on a full disk keeps promised writes, and rejects new ones`() async throws {
        let time = TestTime()
        let client = PresenceClient.scripted(
            dialler, time, storage: Storage(cache: PresenceCache(), writes: StoredWrites(capacity: 1)))
        await client.disconnect()
        try await expect(client.updateProfile(displayName: "A"), equals: .queued)
        do {
            try await client.updateProfile(locale: "de")
            Issue.record("nothing was thrown")
        } catch let error as PresenceError {
            expect(error.code == .storageFailed && !error.outcomeUnknown)
        }
        await expect(client.pendingProfileChanges.waiting, equals: PresenceKit.ProfileChanges(displayName: "A"))
        client.connect()
        let server = await dialler.next()
        await server.welcome()
        await expect(server.message()?.body, equals: .updateProfile(ProfileChanges(displayName: .set("A"))))
    }
}
