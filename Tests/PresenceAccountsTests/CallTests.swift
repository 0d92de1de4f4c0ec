import Expectations
import Foundation
import PresenceAccounts
import PresenceKit
import PresenceTesting
import Testing

/// All calls of a signed-in user: the requests and their effects.
@Suite(.timeLimit(.minutes(1))) struct CallTests {
    @Test func `the own user has what only they see`() async throws {
        let (bench, account) = try await Bench.signedIn()
        bench.server.change { $0.username = "ana.b" }
        let user = try await account.currentUser()
        expect(user.id == "u-1" && user.email == "ana@example.org" && user.username == "ana.b")
        expect(user.displayName == "ana" && user.timezone == "Europe/Lisbon" && user.isOnline)
        expect(user.profileImageURL?.absoluteString, equals: "https://example.org/a.jpg")
        await expect(account.currentAccount?.username, equals: "ana.b", "the account follows")
    }

    @Test func `without a network, and on a silent one, the user is as last read`() async throws {
        let (bench, account) = try await Bench.signedIn()
        let user = try await account.currentUser()
        let launched = Bench(kept: bench.store.session)
        launched.goOffline()
        let again = launched.launch()
        await expect(again.currentAccount.map(User.init)?.displayName, equals: "ana")
        try await expect(again.currentUser().profileImageURL, equals: user.profileImageURL)

        let (silent, gate) = (Bench(kept: bench.store.session), Gate())
        silent.transport.respond { _ in
            await gate.pass()
            throw HTTPFailure("silent", wasSent: true)
        }
        let third = silent.launch()
        async let known = third.currentUser()
        await silent.naps.wake()
        try await expect(known.displayName, equals: "ana")
        await expect(silent.naps.wanted, equals: [.seconds(1)])
        await gate.open()
    }

    @Test func `a user who was never read is not invented`() async throws {
        let bench = Bench(kept: Bench.kept)
        bench.goOffline()
        let account = bench.launch()
        let error = await #expect(throws: PresenceError.self) { try await account.currentUser() }
        expect(error?.code, equals: .notConnected)
    }

    @Test func `changes are sent as they are meant: set, removed, left alone`() async throws {
        let (bench, account) = try await Bench.signedIn()
        let user = try await account.update(
            ProfileChanges(displayName: "Ana Silva", photoURL: .remove, timezone: "Europe/Paris", locale: .remove),
            setupCompleted: true)
        expect(user.displayName, equals: "Ana Silva")
        let changes = try #require(bench.server.body("PATCH /v1/me")?["changes"] as? [String: Any])
        expect(changes["displayName"] as? String == "Ana Silva" && changes["timezone"] as? String == "Europe/Paris")
        expect(
            changes["photoURL"] is NSNull && changes["locale"] is NSNull && changes["setupCompleted"] as? Bool == true)
        expect(changes.count, equals: 5, "what stays is not sent")
        await expect(account.currentAccount?.setupCompleted, equals: true)
        await account.reaches { $0.account?.setupCompleted == true }
    }

    @Test func `changing the password needs the current one`() async throws {
        let (bench, account) = try await Bench.signedIn()
        try await account.changePassword(from: "correct horse", to: "battery staple")
        expect(bench.server.body("POST /v1/me/password")?["newPassword"] as? String, equals: "battery staple")
        let error = await #expect(throws: PresenceError.self) {
            try await account.changePassword(from: "wrong", to: "battery staple")
        }
        expect(error?.reason, equals: .invalidCredentials)
        expect(bench.server.count("POST /v1/me/password"), equals: 2, "a wrong password is no refused token")
        _ = try await account.currentUser()
        expect(bench.server.count("POST /v1/sessions/refresh"), equals: 1)
        await expect(account.currentAccount != nil)
    }

    @Test func `a change whose response is lost has an unknown outcome`() async throws {
        let (bench, account) = try await Bench.signedIn()
        bench.transport.respond { _ in throw HTTPFailure("lost", wasSent: true) }
        let error = await #expect(throws: PresenceError.self) {
            try await account.changePassword(from: "correct horse", to: "battery staple")
        }
        expect(error?.outcomeUnknown == true && error?.recoverySuggestion != nil)
        expect(bench.transport.requests.count { $0.url.path == "/v1/me/password" }, equals: 1, "it is not sent twice")
    }

    @Test func `a new e-mail address is requested`() async throws {
        let (bench, account) = try await Bench.signedIn()
        try await account.changeEmail(to: " new@example.org", password: "correct horse")
        expect(bench.server.body("POST /v1/me/email")?["email"] as? String, equals: "new@example.org")
        await expect(account.currentAccount?.email, equals: "ana@example.org", "until it is confirmed")
    }

    @Test func `a deleted account is signed out`() async throws {
        let (bench, account) = try await Bench.signedIn()
        await #expect(throws: PresenceError.self) { try await account.deleteAccount(password: "wrong") }
        await expect(account.currentAccount != nil)
        try await account.deleteAccount(password: "correct horse")
        await account.reaches { $0 == .signedOut(.accountDeleted) }
        expect(bench.store.session, equals: nil)
    }

    @Test func `a password is set anew with the token of a mail`() async throws {
        let bench = Bench()
        let account = bench.launch()
        try await account.resetPassword(email: "ana@example.org ")
        expect(bench.server.body("POST /v1/passwords/forgot")?["email"] as? String, equals: "ana@example.org")
        try await account.resetPassword(token: "good", newPassword: "battery staple")
        let error = await #expect(throws: PresenceError.self) {
            try await account.resetPassword(token: "old", newPassword: "battery staple")
        }
        expect(error?.reason, equals: .tokenExpired)
        expect(error?.localizedDescription, equals: "This link is no longer valid. Please ask for a new one.")
        await expect(account.currentAccount, equals: nil, "nobody is signed in by it")
    }

    @Test func `a link that is no longer valid signs nobody out`() async throws {
        let (_, account) = try await Bench.signedIn()
        await #expect(throws: PresenceError.self) { try await account.verifyEmail(token: "old") }
        await expect(account.currentAccount?.emailVerified, equals: false)
        try await account.verifyEmail(token: "good")
        await expect(account.currentAccount?.emailVerified, equals: true)
    }

    @Test func `usernames are checked, with and without a user`() async throws {
        let (bench, account) = try await Bench.signedIn()
        bench.server.change { $0.username = "ana.b" }
        try await expect(account.availability(ofUsername: "free"), equals: .available)
        try await expect(account.availability(ofUsername: "bob"), equals: .taken)
        try await expect(account.availability(ofUsername: "admin"), equals: .reserved)
        try await expect(account.availability(ofUsername: "ana.b"), equals: .yours)
        let asked = bench.server.lines.count
        for name in ["a", "a..b", ".ab", "a b", "a/b", "ü-ü"] {
            try await expect(account.availability(ofUsername: name), equals: .invalid)
        }
        expect(bench.server.lines.count, equals: asked, "what breaks the rule is not asked for")
        let nobody = Bench()
        try await expect(nobody.launch().availability(ofUsername: "bob"), equals: .taken)
    }

    @Test func `a user is found by username, or nobody is`() async throws {
        let (bench, account) = try await Bench.signedIn()
        let bob = try #require(try await account.user(named: "Bob".lowercased()))
        expect(bob.id == "u-bob" && bob.displayName == "Bob" && bob.username == "Bob" && bob.email == nil)
        expect(bob.profileImageURL?.absoluteString == "https://example.org/b.jpg" && !bob.isOnline)
        // A user who shows their profile to others only.
        let shy = try #require(try await account.user(named: "shy"))
        expect(shy.id == "u-shy" && shy.displayName.isEmpty && shy.profileImageURL == nil)
        try await expect(account.user(named: "none"), equals: nil)
        let asked = bench.server.lines.count
        try await expect(account.user(named: "a/b"), equals: nil)
        expect(bench.server.lines.count, equals: asked, "what breaks the rule is not asked for")
        try await account.signOut()
        let error = await #expect(throws: PresenceError.self) { try await account.user(named: "bob") }
        expect(error?.code, equals: .notSignedIn)
    }

    @Test func `a username is claimed and released`() async throws {
        let (_, account) = try await Bench.signedIn()
        var names = account.ownUsernames.makeAsyncIterator()
        await expect(names.next(), equals: .some(nil))
        try await expect(account.claimUsername("Ana.B").username, equals: "Ana.B")
        await expect(names.next(), equals: "Ana.B")
        let error = await #expect(throws: PresenceError.self) { try await account.claimUsername("bob") }
        expect(error?.reason, equals: .usernameTaken)
        let taken = await #expect(throws: PresenceError.self) { try await account.take("bob") }
        expect(taken?.code == .validationFailed && taken?.field == "username")
        expect(taken?.reason == .usernameTaken && taken?.message == error?.message)
        expect(taken?.localizedDescription, equals: "This username is already taken.")
        try await expect(account.isAvailable("free"))
        try await expect(!account.isAvailable("bob"))
        try await account.release()
        await expect(account.currentAccount?.username, equals: nil)
    }

    @Test func `a picture is uploaded with its progress, and removed`() async throws {
        let (bench, account) = try await Bench.signedIn()
        let picture = Data([0xFF, 0xD8, 0xFF, 0xE0] + [UInt8](repeating: 7, count: 996))
        var steps: [Upload<Photo>] = []
        for try await step in account.uploadPhoto(picture) { steps.append(step) }
        expect(steps.first, equals: .progress(1))
        expect(
            steps.last,
            equals: .saved(
                Photo(
                    url: URL(string: "https://p.example.org/v1/photos/x.jpg")!,
                    thumbnailURL: URL(string: "https://p.example.org/v1/photos/y.jpg"))))
        let sent = try #require(bench.transport.requests.last)
        expect(sent.method == "PUT" && sent.headers["Content-Type"] == "image/jpeg" && sent.body == picture)
        try await account.removePhoto()
        expect(bench.server.lines.last, equals: "DELETE /v1/me/photo")
    }

    @Test func `something that is not a picture, or is too large, is not sent`() async throws {
        let (bench, account) = try await Bench.signedIn()
        func upload(_ picture: Data) async throws { for try await _ in account.uploadPhoto(picture) {} }
        let exactly = Data([0xFF, 0xD8, 0xFF] + [UInt8](repeating: 0, count: (5 << 20) - 3))
        try await upload(exactly)
        let asked = bench.server.lines.count
        let large = await #expect(throws: PresenceError.self) { try await upload(exactly + [0]) }
        expect(large?.code == .validationFailed && large?.field == "photo" && large?.reason == .photoTooLarge)
        expect(large?.localizedDescription, equals: "Image is too large. Maximum size is 5MB.")
        expect(large?.message, equals: "5242881 bytes")
        let other = await #expect(throws: PresenceError.self) { try await upload(Data("GIF89a".utf8)) }
        expect(other?.code == .validationFailed && other?.field == "photo" && other?.reason == .photoNotAnImage)
        expect(other?.localizedDescription, equals: "Failed to process image")
        expect(bench.server.lines.count, equals: asked)
    }

    @Test func `nothing is asked for while nobody is signed in`() async throws {
        let bench = Bench()
        let account = bench.launch()
        await #expect(throws: PresenceError.account(.notSignedIn)) { try await account.currentUser() }
        await #expect(throws: PresenceError.account(.notSignedIn)) { try await account.update() }
        await #expect(throws: PresenceError.account(.notSignedIn)) { try await account.sessions() }
        await #expect(throws: PresenceError.account(.notSignedIn)) { try await account.removePhoto() }
        expect(bench.transport.requests.isEmpty)
    }
}
