import Foundation
import PresenceKit
import PresenceTesting
import Testing

/// The fake repository of users follows a client's rules.
@Suite(.timeLimit(.minutes(1))) struct FakeUserTests {
    private let users = FakeUserRepository([
        User(id: "me", displayName: "Ana", username: "ana.b"), User(id: "bob", displayName: "Bob", username: "bob"),
    ])

    private func error(_ body: () async throws -> Void) async -> PresenceError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? PresenceError
        }
    }

    @Test func `offline changes are queued, with the newest value of each member, and made with the next connection`()
        async throws
    {
        var pending = users.pendingUpdates.makeAsyncIterator()
        #expect(await pending.next() == false)
        users.isOffline = true
        #expect(try await users.update(ProfileChanges(displayName: "A")) == .queued)
        #expect(await pending.next() == true)
        #expect(try await users.update(ProfileChanges(displayName: "B", locale: "de")) == .queued)
        try await users.setOnline(true)
        let known = try await users.user("me")
        #expect(known.displayName == "Ana" && !known.isOnline)
        users.isOffline = false
        while await pending.next() == true {}
        let saved = try await users.user("me")
        #expect(saved.displayName == "B" && saved.locale == "de" && saved.isOnline)
    }

    @Test func `rejected parts of queued changes are not made`() async throws {
        users.isOffline = true
        _ = try await users.update(ProfileChanges(displayName: "A", locale: "de"))
        users.refuse(.invalid(field: "displayName", reason: "no"))
        users.isOffline = false
        let saved = try await users.user("me")
        #expect(saved.displayName == "Ana" && saved.locale == "de")
    }

    @Test func `values shown offline are stale`() async {
        var states = users.userStates(of: "bob").makeAsyncIterator()
        #expect(await states.next()?.isStale == false)
        users.isOffline = true
        #expect(await states.next()?.isStale == true)
        users.isOffline = false
        #expect(await states.next()?.isStale == false)
    }

    @Test func `a user who does not exist is an element that says so`() async {
        var states = users.userStates(of: "nobody").makeAsyncIterator()
        #expect(await states.next()?.isFound == false)
        users.set(User(id: "nobody", displayName: "Now here"))
        #expect(await states.next()?.isFound == true)
    }

    @Test func `each user is requested once, and offline it is unknown whether a user exists`() async throws {
        let found = try await users.users(["bob", "cy", "bob", "cy"])
        #expect(found.map(\.id) == ["bob"] && found.missing == ["cy"])
        #expect(await error { _ = try await users.user("cy") } == .userNotFound("cy"))
        users.isOffline = true
        let reason = "There is no connection to the server."
        #expect(await error { _ = try await users.user("cy") } == .fetchFailed(reason: reason))
        #expect(
            await error { try await users.take("ana.c") } == .updateFailed(reason: reason, outcomeUnknown: false))
    }

    @Test func `values that the server never accepts are rejected, also offline`() async throws {
        for isOffline in [false, true] {
            users.isOffline = isOffline
            for name in ["", String(repeating: "x", count: 51)] {
                let error = await error { try await users.update(ProfileChanges(displayName: .set(name))) }
                #expect(error == .invalid(field: "displayName", reason: "This name cannot be used."))
            }
            let address = URL(string: "http://example.org/a.jpg")
            let error = await error { try await users.update(ProfileChanges(photoURL: Change(address))) }
            #expect(error == .invalid(field: "photoURL", reason: "This picture cannot be used."))
        }
        users.isOffline = false
        guard case .saved(let user) = try await users.update(ProfileChanges(displayName: " Ana ")) else {
            Issue.record("not saved")
            return
        }
        #expect(user.displayName == "Ana")
        do {
            for try await _ in users.uploadPhoto(Data("no picture".utf8)) {}
            Issue.record("nothing was thrown")
        } catch {
            #expect(error as? PresenceError == .invalid(field: "photo", reason: "Failed to process image"))
        }
        #expect(users.uploads.isEmpty)
    }

    @Test func `a username is taken, malformed, or free`() async throws {
        #expect(try await users.isAvailable("BOB") == false)
        #expect(try await users.isAvailable("x") == false)
        #expect(try await users.isAvailable("ana.b"), "the user's own")
        #expect(await error { try await users.take("bob") }?.localizedDescription == "This username is already taken.")
        let fault = await error { try await users.take("a..b") }
        guard fault?.code == .validationFailed, fault?.field == "username" else {
            Issue.record("a malformed name was taken")
            return
        }
    }

    @Test func `a sign-out ends the loops`() async {
        var (updates, online) = (
            users.userUpdates(of: "bob").makeAsyncIterator(), users.onlineUpdates(of: "bob").makeAsyncIterator()
        )
        #expect(await updates.next()?.displayName == "Bob")
        #expect(await online.next() == false)
        users.signOut()
        #expect(await updates.next() == nil)
        #expect(await online.next() == nil)
    }
}
