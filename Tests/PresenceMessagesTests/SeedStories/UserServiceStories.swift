import Expectations
import Foundation
import PresenceAccounts
import PresenceKit
import PresenceMessages
import PresenceTesting
import Testing

/// REQUIREMENTS 002: the user service, and each case of its error. The numbers are those of the rows.
@Suite(.timeLimit(.minutes(1))) struct UserServiceStories {
    @Test func `002 11, 20, 48 UserServiceError.invalidEmail: no user is created with an address without an at sign`()
        async throws
    {
        let app = InMemoryServer().app()
        let error = await Newcomer.error {
            try await app.account.signUp(email: "not an address", password: "correct horse")
        }
        expect(error?.code == .validationFailed && error?.reason == .invalidEmail && error?.field == "email")
        expect(error?.localizedDescription, equals: "Please enter a valid email address.")
        await expect(app.account.currentAccount, equals: nil)
    }

    @Test func `002 12, 27, 46 UserServiceError.userNotFound: getUser throws it for an unknown id`() async throws {
        let ana = try await Newcomer()
        let error = await Newcomer.error { try await ana.app.client.user("nobody") }
        expect(error == .userNotFound("nobody") && error?.localizedDescription == "User not found.")
    }

    @Test func `002 13, 39 UserServiceError.createFailed: a sign-up that fails creates nothing, and can be repeated`()
        async throws
    {
        let server = InMemoryServer()
        let app = server.app()
        server.fail("POST /v1/accounts", with: PresenceError(.unavailable))
        let error = await Newcomer.error {
            try await app.account.signUp(email: "ana@example.org", password: "correct horse")
        }
        expect(error?.code == .unavailable && error?.outcomeUnknown == false)
        await expect(app.account.currentAccount, equals: nil)
        let outcome = try await app.account.signUp(email: "ana@example.org", password: "correct horse")
        expect(outcome.account?.email, equals: "ana@example.org")
    }

    @Test func `002 14 UserServiceError.updateFailed: an update that is refused says so, and changes nothing`()
        async throws
    {
        let ana = try await Newcomer()
        ana.server.fail("updateProfile")
        let error = await Newcomer.error { try await ana.app.client.update(ProfileChanges(displayName: "Eve")) }
        expect(error?.localizedDescription, equals: "Failed to save the user. You are not allowed to do that.")
        try await expect(ana.user.displayName, equals: "ana.b")
    }

    @Test func `002 15 UserServiceError.fetchFailed: a user who is not known offline could not be read`() async throws {
        let ana = try await Newcomer()
        await ana.goOffline()
        let error = await Newcomer.error { try await ana.app.client.user("bob") }
        expect(error?.code, equals: .notConnected)
        expect(error?.localizedDescription, equals: "Failed to load the user. There is no connection to the server.")
        expect(error?.recoverySuggestion != nil, "002 17 LocalizedError")
    }

    @Test func `002 1 CodingKeys: the id is encoded as uid`() async throws {
        let user = try await Newcomer().user
        let object = try JSONSerialization.jsonObject(with: JSONEncoder().encode(user)) as? [String: Any]
        expect(object?["uid"] as? String == user.id && object?["id"] == nil)
    }

    @Test func `002 3, 18, 40, 60: createUser is a part of the sign-up, and others see the user at once`() async throws
    {
        let ana = try await Newcomer()
        let bob = ana.server.client(as: "bob")
        bob.connect()
        for await state in bob.connectionStates where state.isConnected { break }
        let seen = try await bob.user(ana.id)
        expect(seen.displayName == "ana.b" && seen.email == nil)
        try await expect(ana.user.email, equals: "ana.b@example.org")
    }

    @Test func `002 25, 42: getUser of an observed user answers from memory, without a request`() async throws {
        let ana = try await Newcomer()
        ana.server.set(.online("bob", name: "Bob"))
        var loop = ana.app.client.userUpdates(of: "bob").makeAsyncIterator()
        while await loop.next()?.displayName != "Bob" {}
        try await expect(ana.app.client.user("bob").displayName, equals: "Bob")
        expect(ana.server.requests("get").isEmpty)
    }

    @Test func `002 28: getUsers returns those found, and one missing user fails no batch, online and offline`()
        async throws
    {
        let ana = try await Newcomer()
        ana.server.set(.online("bob", name: "Bob"))
        for isOffline in [false, true] {
            if isOffline { await ana.goOffline() }
            let users = try await ana.app.client.users(["bob", "nobody", "no id"])
            expect(users.map(\.displayName) == ["Bob"] && users.missing == ["nobody", "no id"])
            expect(users.isStale, equals: isOffline)
        }
    }

    @Test func `002 31: an observed user changes live, and is known to be stale offline`() async throws {
        let ana = try await Newcomer()
        ana.server.set(.online("bob", name: "Bob"))
        var states = ana.app.client.userStates(of: "bob").makeAsyncIterator()
        while await states.next()?.user.isOnline != true {}
        ana.server.set(.offline("bob", name: "Bob"))
        while await states.next()?.user.isOnline != false {}
        await ana.goOffline()
        while await states.next()?.isStale != true {}
    }

    @Test func `002 61: what was known is there after a launch without a network`() async throws {
        let server = InMemoryServer()
        let storage = Storage.memory()
        server.set(.online("bob", name: "Bob"))
        do {
            let client = server.client(as: "ana", storage: storage)
            var loop = client.userUpdates(of: "bob").makeAsyncIterator()
            while await loop.next()?.displayName != "Bob" {}
            await client.close()
        }
        server.goOffline()
        let launched = server.client(as: "ana", storage: storage)
        let users = try await launched.users(["bob"])
        expect(users.map(\.displayName) == ["Bob"] && users.isStale)
    }
}
