import Expectations
import Foundation
import PresenceAccounts
import PresenceKit
import PresenceTesting
import Testing

/// The accounts of the server in memory follow the rules of the real one.
@Suite(.timeLimit(.minutes(1))) struct AccountRuleTests {
    private let server = InMemoryServer()
    private let account: PresenceAccount

    init() { account = server.app().account }

    private func expectError<Value>(
        _ code: PresenceError.Code, _ reason: PresenceError.Reason?, _ field: String?, _ body: () async throws -> Value
    ) async {
        let error = await #expect(throws: PresenceError.self) { _ = try await body() }
        expect(error?.code == code && error?.reason == reason && error?.field == field)
    }

    @Test func `e-mails and usernames are unique, regardless of case`() async throws {
        try await account.signUp(email: "Ana@Example.org", password: "12345678", displayName: nil, username: "Ana.B")
        try await expect(account.currentUser().displayName, equals: "Ana")
        try await account.signOut()
        await expectError(.conflict, .emailTaken, "email") {
            try await account.signUp(email: "ana@example.org", password: "12345678")
        }
        try await account.signUp(email: "bob@example.org", password: "12345678")
        try await expect(account.availability(ofUsername: "ana.b"), equals: .taken)
        try await expect(account.availability(ofUsername: "root"), equals: .reserved)
        try await expect(account.availability(ofUsername: "x"), equals: .invalid)
        await expectError(.conflict, .usernameTaken, "username") {
            try await account.claimUsername("ANA.B")
        }
        try await account.claimUsername("bob")
        try await expect(account.availability(ofUsername: "Bob"), equals: .yours)
        let found = try #require(try await account.user(named: "ana.b"))
        expect(found.displayName == "Ana" && found.username == "Ana.B" && found.email == nil)
        try await expect(account.user(named: "none"), equals: nil)
    }

    @Test func `passwords are checked, and reset with the newest mail only`() async throws {
        await #expect(throws: PresenceError.self) { try await account.signUp(email: "a@b.de", password: "short") }
        try await account.signUp(email: "a@b.de", password: "12345678")
        await #expect(throws: PresenceError.self) { try await account.changePassword(from: "x", to: "87654321") }
        try await account.resetPassword(email: "a@b.de")
        let old = try #require(server.mailToken(to: "a@b.de", resetsPassword: true))
        try await account.resetPassword(email: "a@b.de")
        try await account.resetPassword(email: "nobody@b.de")
        let new = try #require(server.mailToken(to: "a@b.de", resetsPassword: true))
        expect(old != new && server.mailToken(to: "nobody@b.de", resetsPassword: true) == nil)
        await expectError(.unauthorized, .tokenExpired, nil) {
            try await account.resetPassword(token: old, newPassword: "87654321")
        }
        try await account.resetPassword(token: new, newPassword: "87654321")
        _ = try? await account.refresh()
        await expect(account.currentAccount, equals: nil)
        try await account.signIn(email: "a@b.de", password: "87654321")
        await expect(account.currentAccount?.emailVerified, equals: true)
    }

    @Test func `another user's new password ends no session here`() async throws {
        try await account.signUp(email: "a@b.de", password: "12345678")
        try await account.signOut()
        try await account.signUp(email: " B@b.de ", password: "12345678")
        await expect(account.currentAccount?.email, equals: "b@b.de")
        try await account.resetPassword(email: "a@b.de")
        let token = try #require(server.mailToken(to: "a@b.de", resetsPassword: true))
        try await account.resetPassword(token: token, newPassword: "87654321")
        await expect(account.currentAccount?.email, equals: "b@b.de")
    }

    @Test func `values that the server never accepts are rejected`() async throws {
        let long = String(repeating: "x", count: 51)
        await expectError(.validationFailed, nil, "displayName") {
            try await account.signUp(email: "a@b.de", password: "12345678", displayName: long)
        }
        try await account.signUp(email: "a@b.de", password: "12345678", displayName: " Ana ")
        try await expect(account.currentUser().displayName, equals: "Ana")
        let error = await #expect(throws: PresenceError.self) {
            for try await _ in account.uploadPhoto(Data("no picture".utf8)) {}
        }
        expect(error?.code == .validationFailed && error?.field == "photo" && error?.reason == .photoNotAnImage)
        expect(error?.localizedDescription, equals: "Failed to process image")
        expect(server.requests("PUT /v1/me/photo").isEmpty)
    }

    @Test func `with hidden accounts, a sign-up and a change of the e-mail reveal nothing`()
        async throws
    {
        try await account.signUp(email: "a@b.de", password: "12345678", displayName: nil, username: "ana")
        server.hidesExisting = true
        for email in ["a@b.de", "c@d.de"] {
            await #expect(throws: PresenceError.self) { try await account.signUp(email: email, password: "short") }
            let outcome = try await account.signUp(
                email: email, password: "87654321", displayName: nil, username: "ana")
            expect(outcome, equals: .mailSent)
            await expect(account.currentAccount?.email, equals: "a@b.de")
        }
        let token = server.mailToken(to: "c@d.de")
        expect(token != nil && server.mailToken(to: "a@b.de") != nil)
        try await account.changeEmail(to: "c@d.de", password: "12345678")
        expect(server.mailToken(to: "c@d.de"), equals: token)
        try await account.signIn(email: "c@d.de", password: "87654321")
        await expect(account.currentAccount?.username, equals: nil)
    }

    @Test func `sessions end one by one or all at once`() async throws {
        try await account.signUp(email: "a@b.de", password: "12345678")
        let web = server.app().account
        try await web.signIn(email: "a@b.de", password: "12345678")
        let sessions = try await account.sessions()
        expect(sessions.map(\.isCurrent), equals: [true, false])
        try await account.signOut(.session(sessions[1].id))
        await expectError(.notFound, nil, nil) { try await account.signOut(.session(sessions[1].id)) }
        _ = try? await web.refresh()
        await expect(web.currentAccount, equals: nil)
        server.goOffline()
        let error = await #expect(throws: PresenceError.self) { try await account.signOut(.allDevices) }
        expect(error?.code, equals: .notConnected)
        try await account.signOut()
        server.goOnline()
        await #expect(throws: PresenceError.account(.notSignedIn)) { try await account.sessions() }
    }

    @Test func `each short form of a change keeps what it does not name`() async throws {
        try await account.signUp(email: "a@b.de", password: "12345678")
        let repository: any AccountRepository = account
        try await repository.update()
        try await repository.update(ProfileChanges(displayName: "A"))
        try await repository.update(preferredLanguage: "pt")
        try await repository.update(ProfileChanges(displayName: "B"), preferredLanguage: .remove)
        try await repository.update(setupCompleted: true)
        try await repository.update(ProfileChanges(displayName: "C"), setupCompleted: false)
        try await repository.update(preferredLanguage: "de", setupCompleted: true)
        let changes = server.requests("PATCH /v1/me").map { $0["changes"] as? [String: any Sendable] ?? [:] }
        expect(changes.map { $0["displayName"] as? String }, equals: [nil, "A", nil, "B", nil, "C", nil])
        expect(changes.map { $0["preferredLanguage"] as? String }, equals: [nil, nil, "pt", nil, nil, nil, "de"])
        expect(changes.map { $0["setupCompleted"] as? Bool }, equals: [nil, nil, nil, nil, true, false, true])
        try await expect(account.currentUser().preferredLanguage, equals: "de")
    }

    @Test func `an account is confirmed, changed, and deleted with all its data`() async throws {
        try await account.signUp(email: "a@b.de", password: "12345678", displayName: nil, username: "ana")
        try await account.verifyEmail(token: try #require(server.mailToken(to: "a@b.de")))
        try await account.refresh()
        await expect(account.currentAccount?.emailVerified, equals: true)
        let changed = try await account.update(
            ProfileChanges(displayName: " A "), preferredLanguage: "pt", setupCompleted: true)
        expect(changed.displayName == "A" && changed.preferredLanguage == "pt")
        try await account.changeEmail(to: " C@d.de", password: "12345678")
        await expect(account.currentAccount?.email, equals: "a@b.de", "until the mail is confirmed")
        try await account.verifyEmail(token: try #require(server.mailToken(to: "c@d.de")))
        try await account.refresh()
        await expect(account.currentAccount?.email, equals: "c@d.de")
        await #expect(throws: PresenceError.self) { try await account.deleteAccount(password: "wrong") }
        try await account.deleteAccount(password: "12345678")
        try await expect(account.availability(ofUsername: "ana"), equals: .available)
        await #expect(throws: PresenceError.self) { try await account.signIn(email: "c@d.de", password: "12345678") }
    }

    @Test func `a guest has no address until an upgrade, which comes once, and is deleted without a password`()
        async throws
    {
        let guest = try await account.signInAsGuest()
        expect(guest.isGuest)
        try await expect(account.currentUser().displayName, equals: "Guest")
        await expectError(.conflict, .noPassword, nil) { try await account.changePassword(from: "", to: "12345678") }
        let upgraded = try await account.upgrade(email: " A@b.de", password: "12345678").account
        expect(upgraded?.id == guest.id && upgraded?.email == "a@b.de")
        await expect(account.currentAccount == upgraded && upgraded != nil)
        await expectError(.conflict, .alreadyUpgraded, nil) {
            try await account.upgrade(email: "c@d.de", password: "12345678")
        }
        try await expect(server.app().account.signIn(email: "a@b.de", password: "12345678").id, equals: guest.id)
        let other = server.app().account
        try await other.signInAsGuest(displayName: "Gast")
        try await other.deleteAccount(password: nil)
        await expect(other.currentAccount, equals: nil)
    }

    @Test func `a code by mail signs in once, and confirms the address`() async throws {
        server.addAccount("ana", email: "ana@example.org")
        try await account.requestCode(email: "nobody@example.org")
        expect(server.mailCode(to: "nobody@example.org"), equals: nil)
        try await account.requestCode(email: " Ana@example.org ")
        let code = try #require(server.mailCode(to: "ana@example.org"))
        await expectError(.unauthorized, .invalidCredentials, "password") {
            try await account.signIn(email: "ana@example.org", code: "1")
        }
        let spaced = "\(code.prefix(3)) \(code.dropFirst(3))"
        try await expect(account.signIn(email: "ana@example.org", code: spaced).emailVerified)
        await expectError(.unauthorized, .invalidCredentials, "password") {
            try await account.signIn(email: "ana@example.org", code: code)
        }
    }
}
