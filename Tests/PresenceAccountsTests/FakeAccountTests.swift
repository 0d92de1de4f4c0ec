import Foundation
import PresenceAccounts
import PresenceKit
import PresenceTesting
import Testing

/// The fake follows the server's rules.
@Suite(.timeLimit(.minutes(1))) struct FakeAccountTests {
    private let account = FakeAccount()

    @Test func `e-mails and usernames are unique, regardless of case`() async throws {
        try await account.signUp(email: "Ana@Example.org", password: "12345678", displayName: nil, username: "Ana.B")
        #expect(try await account.currentUser().displayName == "Ana")
        try await account.signOut()
        await #expect(throws: PresenceError.account(.conflict, reason: .emailTaken, field: "email")) {
            try await account.signUp(email: "ana@example.org", password: "12345678")
        }
        try await account.signUp(email: "bob@example.org", password: "12345678")
        #expect(try await account.availability(ofUsername: "ana.b") == .taken)
        #expect(try await account.availability(ofUsername: "root") == .reserved)
        #expect(try await account.availability(ofUsername: "x") == .invalid)
        await #expect(throws: PresenceError.account(.conflict, reason: .usernameTaken, field: "username")) {
            try await account.claimUsername("ANA.B")
        }
        try await account.claimUsername("bob")
        #expect(try await account.availability(ofUsername: "Bob") == .yours)
        let found = try #require(try await account.user(named: "ana.b"))
        #expect(found.displayName == "Ana" && found.username == "Ana.B" && found.email == nil)
        #expect(try await account.user(named: "none") == nil)
    }

    @Test func `passwords are checked, and reset with the newest mail only`() async throws {
        await #expect(throws: PresenceError.self) { try await account.signUp(email: "a@b.de", password: "short") }
        try await account.signUp(email: "a@b.de", password: "12345678")
        await #expect(throws: PresenceError.self) { try await account.changePassword(from: "x", to: "87654321") }
        try await account.resetPassword(email: "a@b.de")
        let old = try #require(account.mails.last)
        try await account.resetPassword(email: "a@b.de")
        try await account.resetPassword(email: "nobody@b.de")
        let new = try #require(account.mails.last)
        #expect(new.isReset && old != new && !account.mails.contains(old))
        await #expect(throws: PresenceError.account(.unauthorized, reason: .tokenExpired)) {
            try await account.resetPassword(token: old.token, newPassword: "87654321")
        }
        try await account.resetPassword(token: new.token, newPassword: "87654321")
        #expect(account.currentAccount == nil)
        try await account.signIn(email: "a@b.de", password: "87654321")
        #expect(account.currentAccount?.emailVerified == true)
    }

    @Test func `another user's new password ends no session here`() async throws {
        try await account.signUp(email: "a@b.de", password: "12345678")
        try await account.signOut()
        try await account.signUp(email: " B@b.de ", password: "12345678")
        #expect(account.currentAccount?.email == "b@b.de")
        try await account.resetPassword(email: "a@b.de")
        let mail = try #require(account.mails.last { $0.isReset })
        try await account.resetPassword(token: mail.token, newPassword: "87654321")
        #expect(account.currentAccount?.email == "b@b.de")
    }

    @Test func `values that the server never accepts are rejected`() async throws {
        let long = String(repeating: "x", count: 51)
        await #expect(throws: PresenceError.account(.validationFailed, field: "displayName")) {
            try await account.signUp(email: "a@b.de", password: "12345678", displayName: long)
        }
        try await account.signUp(email: "a@b.de", password: "12345678", displayName: " Ana ")
        #expect(try await account.currentUser().displayName == "Ana")
        let error = await #expect(throws: PresenceError.self) {
            for try await _ in account.uploadPhoto(Data("no picture".utf8)) {}
        }
        #expect(error?.code == .validationFailed && error?.field == "photo" && error?.reason == .photoNotAnImage)
        #expect(error?.localizedDescription == "Failed to process image")
        #expect(!account.calls.contains(.uploadPhoto(bytes: 10)))
    }

    @Test func `with hidden accounts, a sign-up and a change of the e-mail reveal nothing`()
        async throws
    {
        try await account.signUp(email: "a@b.de", password: "12345678", displayName: nil, username: "ana")
        account.hidesExisting = true
        for email in ["a@b.de", "c@d.de"] {
            await #expect(throws: PresenceError.self) { try await account.signUp(email: email, password: "short") }
            let outcome = try await account.signUp(
                email: email, password: "87654321", displayName: nil, username: "ana")
            #expect(outcome == .mailSent && account.currentAccount?.email == "a@b.de")
        }
        #expect(account.mails.map(\.email) == ["a@b.de", "c@d.de"])
        try await account.changeEmail(to: "c@d.de", password: "12345678")
        #expect(account.mails.count == 2)
        try await account.signIn(email: "c@d.de", password: "87654321")
        #expect(account.currentAccount?.username == nil)
    }

    @Test func `sessions end one by one or all at once`() async throws {
        try await account.signUp(email: "a@b.de", password: "12345678")
        account.otherSessions = [AccountSession(id: "web", createdAt: .distantPast, lastUsedAt: .distantPast)]
        #expect(try await account.sessions().map(\.id) == ["current", "web"])
        try await account.signOut(.session("web"))
        await #expect(throws: PresenceError.account(.notFound)) { try await account.signOut(.session("web")) }
        account.isOffline = true
        await #expect(throws: PresenceError.account(.notConnected)) { try await account.signOut(.allDevices) }
        try await account.signOut()
        account.isOffline = false
        await #expect(throws: PresenceError.account(.notSignedIn)) { try await account.sessions() }
    }

    @Test func `each short form of a change keeps what it does not name`() async throws {
        try await account.signUp(email: "a@b.de", password: "12345678")
        let (repository, before): (any AccountRepository, Int) = (account, account.calls.count)
        try await repository.update()
        try await repository.update(ProfileChanges(displayName: "A"))
        try await repository.update(preferredLanguage: "pt")
        try await repository.update(ProfileChanges(displayName: "B"), preferredLanguage: .remove)
        try await repository.update(setupCompleted: true)
        try await repository.update(ProfileChanges(displayName: "C"), setupCompleted: false)
        try await repository.update(preferredLanguage: "de", setupCompleted: true)
        #expect(
            account.calls.dropFirst(before) == [
                .update(ProfileChanges(), preferredLanguage: .keep, setupCompleted: nil),
                .update(ProfileChanges(displayName: "A"), preferredLanguage: .keep, setupCompleted: nil),
                .update(ProfileChanges(), preferredLanguage: "pt", setupCompleted: nil),
                .update(ProfileChanges(displayName: "B"), preferredLanguage: .remove, setupCompleted: nil),
                .update(ProfileChanges(), preferredLanguage: .keep, setupCompleted: true),
                .update(ProfileChanges(displayName: "C"), preferredLanguage: .keep, setupCompleted: false),
                .update(ProfileChanges(), preferredLanguage: "de", setupCompleted: true),
            ])
    }

    @Test func `an account is confirmed, changed, and deleted with all its data`() async throws {
        try await account.signUp(email: "a@b.de", password: "12345678", displayName: nil, username: "ana")
        try await account.verifyEmail(token: try #require(account.mails.last).token)
        #expect(account.currentAccount?.emailVerified == true)
        let changed = try await account.update(
            ProfileChanges(displayName: " A "), preferredLanguage: "pt", setupCompleted: true)
        #expect(changed.displayName == "A" && changed.preferredLanguage == "pt")
        try await account.changeEmail(to: " C@d.de", password: "12345678")
        #expect(account.currentAccount?.email == "a@b.de", "until the mail is confirmed")
        try await account.verifyEmail(token: try #require(account.mails.last { $0.email == "c@d.de" }).token)
        #expect(account.currentAccount?.email == "c@d.de")
        await #expect(throws: PresenceError.self) { try await account.deleteAccount(password: "wrong") }
        try await account.deleteAccount(password: "12345678")
        #expect(try await account.availability(ofUsername: "ana") == .available)
        await #expect(throws: PresenceError.self) { try await account.signIn(email: "c@d.de", password: "12345678") }
    }
}
