import Expectations
import Foundation
import PresenceAccounts
import PresenceKit
import PresenceMessages
import PresenceTesting
import Testing

/// The accounts library against a real server: two devices of one user, and the effect of one on the other.
@Suite(.sharedServer(["accounts.enabled": "true"])) struct AccountTests {
    private let server = SharedServer.current!
    private static let password = "correct horse battery"

    private func device(_ store: any TokenStore = FakeTokenStore()) -> PresenceAccount {
        var configuration = PresenceAccount.Configuration()
        configuration.requestTimeout = Patience.limit
        return PresenceAccount(
            url: URL(string: "http://127.0.0.1:\(server.port)")!, store: store, configuration: configuration)
    }

    @Test func `a device follows another one's changes, and signs out when its session is ended`() async throws {
        let (phone, laptop) = (device(), device())
        try await phone.signUp(email: "ana.two@example.org", password: Self.password)
        let client = PresenceClient(account: phone)
        let connections = Sightings(client.connectionStates)
        let states = Sightings(phone.states)
        client.connect()
        try await connections.until("a connection") { $0.isConnected }
        try await states.until("signed in") { $0.account?.preferredLanguage == nil && $0.account != nil }

        let account = try await laptop.signIn(email: "ANA.two@example.org ", password: Self.password)
        expect(account.email, equals: "ana.two@example.org")
        try await laptop.update(preferredLanguage: "pt-PT", setupCompleted: true)
        let followed = try await states.until("the other device's change") {
            $0.account?.preferredLanguage == "pt-PT" && $0.account?.setupCompleted == true
        }
        expect(followed, equals: .signedIn(try #require(followed.account), .live))

        try await laptop.changePassword(from: Self.password, to: "a better horse battery")
        try await connections.until("the socket is closed") {
            if case .closed = $0 { true } else { false }
        }
        try await states.until("signed out") { $0 == .signedOut(.refused(.tokenExpired)) }
        await expect(laptop.currentAccount?.id, equals: account.id)
    }

    @Test func `a client follows its account: closed before the sign-in, forgotten after the sign-out, there again`()
        async throws
    {
        let phone = device()
        let client = PresenceClient(account: phone)
        let connections = Sightings(client.connectionStates)
        client.connect()
        try await connections.until("nobody is signed in") { if case .closed = $0 { true } else { false } }
        for number in 1...2 {
            let account = try await phone.signUp(email: "follow.\(number)@example.org", password: Self.password).account
            try await connections.until("a connection") { $0.isConnected }
            try await expect(client.person(account!.id)?.profile.displayName, equals: "follow.\(number)")
            await expect(client.me.user, equals: account?.id)
            try await phone.signOut()
            await expect(client.me.user, equals: nil)
            try await phone.signIn(email: "follow.\(number)@example.org", password: Self.password)
            try await expect(client.person(account!.id)?.profile.displayName, equals: "follow.\(number)")
        }
    }

    @Test func `a signed-in user stays so after a launch, and a wrong password fails like an unknown address`()
        async throws
    {
        let directory = try #require(FileManager.default.temporaryDirectory as URL?)
            .appendingPathComponent("accounts-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appendingPathComponent("session")
        let account = try await device(FileTokenStore(file)).signUp(
            email: "bob@example.org", password: Self.password
        ).account
        let signedUp = try #require(account)
        let again = device(FileTokenStore(file))
        let states = Sightings(again.states)
        try await states.until("the launch") { $0 == .signedIn(signedUp, .live) }
        let user = try await again.currentUser()
        expect(user.displayName, equals: "bob")

        let stranger = device()
        var errors: [PresenceError] = []
        for email in ["bob@example.org", "nobody@example.org"] {
            let error = await #expect(throws: PresenceError.self) {
                try await stranger.signIn(email: email, password: "wrong horse battery")
            }
            errors.append(try #require(error))
        }
        expect(errors[0] == errors[1] && errors[0].reason == .invalidCredentials)
    }

    @Test func `a device is registered for an account and for a token of the app's own`() async throws {
        let account = device()
        try await account.signUp(email: "dan@example.org", password: Self.password)
        for client in [PresenceClient(account: account), server.client("device-eve")] {
            let messages = PresenceMessenger(client)
            let connections = Sightings(client.connectionStates)
            client.connect()
            try await connections.until("a connection") { $0.isConnected }
            try await expect(messages.registerDevice(.fcm("token:1")))
            try await expect(messages.registerDevice(.apns(Data(repeating: 0xA7, count: 32))))
            try await expect(messages.removeDevice())
        }
    }

    @Test func `a deleted account disappears for its watchers`() async throws {
        let account = device()
        let outcome = try await account.signUp(email: "cy@example.org", password: Self.password)
        let id = try #require(outcome.account).id
        let profile = Sightings(server.client("accounts-watcher").profile(of: id))
        try await profile.until("a profile") { $0.displayName == "cy" }
        let states = Sightings(account.states)
        try await account.deleteAccount(password: Self.password)
        try await states.until("the end") { $0 == .signedOut(.accountDeleted) }
        try await profile.until("nobody") { $0.displayName == nil }
    }
}

/// The same on a server that hides which addresses have an account.
@Suite(.sharedServer(["accounts.enabled": "true", "accounts.hideExisting": "true"])) struct HiddenAccountTests {
    private let server = SharedServer.current!
    private static let password = "correct horse battery"

    @Test func `a sign-up signs no one in, and the link in the mail makes the sign-in possible`() async throws {
        let account = PresenceAccount(
            url: URL(string: "http://127.0.0.1:\(server.port)")!, store: FakeTokenStore())
        let email = "ana.hidden@example.org"
        for _ in 1...2 {
            try await expect(account.signUp(email: email, password: Self.password), equals: .mailSent)
            await expect(account.currentAccount, equals: nil)
        }
        let token = try await Patience.wait(for: "the mail") { try await self.token(of: email) }
        try await account.verifyEmail(token: token)
        let user = try await account.signIn(email: email, password: Self.password)
        expect(user.email == email && user.emailVerified)
    }

    /// The token of the link that confirms an address, as soon as it is in the outbox.
    private func token(of email: String) async throws -> String {
        while true {
            let mails = try await Presenced.run(["mail", "--data-dir", server.directory.path]).output.joined()
            if let link = mails.firstMatch(of: #/verify#token=([A-Za-z0-9_-]+)/#) { return String(link.1) }
        }
    }
}

/// Users without a password, on a server with guests and codes by mail.
@Suite(
    .sharedServer([
        "accounts.enabled": "true", "accounts.guests.enabled": "true", "accounts.mailCodeSignUp": "true",
    ])) struct PasswordlessTests
{
    private let server = SharedServer.current!
    private static let password = "correct horse battery"

    private func device(_ store: any TokenStore = FakeTokenStore()) -> PresenceAccount {
        var configuration = PresenceAccount.Configuration()
        configuration.requestTimeout = Patience.limit
        return PresenceAccount(
            url: URL(string: "http://127.0.0.1:\(server.port)")!, store: store, configuration: configuration)
    }

    @Test func `a guest is one after a launch, and keeps user, name and sessions through the upgrade`() async throws {
        let store = FakeTokenStore()
        let phone = device(store)
        let guest = try await phone.signInAsGuest(displayName: "Gast")
        expect(guest.isGuest && guest.email == nil && guest.username == nil)
        try await expect(phone.currentUser().displayName, equals: "Gast")
        let launched = device(store)
        let states = Sightings(launched.states)
        try await states.until("the launch") { $0.account?.isGuest == true && $0.account?.id == guest.id }
        let client = PresenceClient(account: launched)
        client.connect()
        for await me in client.meUpdates where me.user == guest.id { break }

        let taken = device()
        try await taken.signUp(email: "taken.guest@example.org", password: Self.password)
        let error = await #expect(throws: PresenceError.self) {
            try await launched.upgrade(email: "taken.guest@example.org", password: Self.password)
        }
        expect(error?.code == .conflict && error?.reason == .emailTaken)
        await expect(launched.currentAccount?.isGuest, equals: true)

        let outcome = try await launched.upgrade(email: " Guest.no.more@example.org", password: Self.password)
        expect(outcome.account?.email == "guest.no.more@example.org" && outcome.account?.id == guest.id)
        await expect(launched.currentAccount == outcome.account && store.session?.account.isGuest == false)
        expect(outcome.account?.displayName, equals: "Gast")
        let again = await #expect(throws: PresenceError.self) {
            try await launched.upgrade(email: "another@example.org", password: Self.password)
        }
        expect(again?.reason, equals: .alreadyUpgraded)
        try await expect(
            device().signIn(email: "guest.no.more@example.org", password: Self.password).id, equals: guest.id)
    }

    @Test func `a guest has no password to change, and is deleted without one`() async throws {
        let account = device()
        let guest = try await account.signInAsGuest()
        try await expect(account.currentUser().displayName, equals: "Guest")
        let error = await #expect(throws: PresenceError.self) {
            try await account.changePassword(from: "", to: Self.password)
        }
        expect(error?.code == .conflict && error?.reason == .noPassword)
        try await account.deleteAccount(password: nil)
        await expect(account.currentAccount, equals: nil)
        try await expect(server.client("guest-watcher").person(guest.id), equals: nil)
    }

    @Test func `the code of a mail signs a new user up and an existing one in, once`() async throws {
        let email = "by.mail@example.org"
        let (phone, laptop) = (device(), device())
        try await phone.requestCode(email: email)
        let first = try await Patience.wait(for: "the mail") { try await self.code(of: email, after: nil) }
        let wrong = await #expect(throws: PresenceError.self) {
            try await phone.signIn(email: email, code: first == "000000" ? "000001" : "000000")
        }
        expect(wrong?.reason, equals: .invalidCredentials)
        let account = try await phone.signIn(email: email, code: first, displayName: "Mel")
        expect(account.email == email && account.emailVerified && !account.isGuest)
        try await expect(phone.currentUser().displayName, equals: "Mel")
        let used = await #expect(throws: PresenceError.self) { try await laptop.signIn(email: email, code: first) }
        expect(used?.reason, equals: .invalidCredentials)

        try await laptop.requestCode(email: email)
        let second = try await Patience.wait(for: "the second mail") {
            try await self.code(of: email, after: first)
        }
        let known = try await laptop.signIn(email: email, code: "\(second.prefix(3)) \(second.suffix(3))")
        expect(known.id, equals: account.id)
    }

    /// The newest code in the outbox that differs from an earlier one, as soon as it is there.
    private func code(of email: String, after earlier: String?) async throws -> String {
        let outbox = URL(fileURLWithPath: server.directory.path + "/outbox")
        while true {
            let files =
                (try? FileManager.default.contentsOfDirectory(at: outbox, includingPropertiesForKeys: nil)) ?? []
            let mails = files.filter { $0.pathExtension == "eml" }.compactMap {
                try? String(contentsOf: $0, encoding: .utf8)
            }
            let codes = mails.flatMap { $0.matches(of: /signs you in:\s+(\d{6})\s/).map { String($0.1) } }
            if let code = codes.first(where: { $0 != earlier }) { return code }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
