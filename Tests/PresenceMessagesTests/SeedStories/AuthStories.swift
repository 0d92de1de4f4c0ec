import Expectations
import Foundation
import PresenceAccounts
import PresenceKit
import PresenceMessages
import Testing

@testable import PresenceTesting

/// REQUIREMENTS 003: sign-up, sign-in, sign-out, and each case of AuthError. The numbers are those of the rows.
@MainActor @Suite(.timeLimit(.minutes(1))) struct AuthStories {
    private let server = InMemoryServer()

    private func model(_ app: PresenceApp) async -> (model: AuthModel, run: Task<Void, Never>) {
        let model = AuthModel(auth: app.account)
        let run = Task { await model.run() }
        await until { !model.isRestoring }
        (model.email, model.password, model.displayName) = ("ana@example.org", "correct horse", "Ana")
        return (model, run)
    }

    @Test func `003 23, 24, 52 test 1: a new user signs up, and is there with name, and online`() async throws {
        let app = server.app()
        let (model, run) = await model(app)
        await model.signUp()
        await until { model.isAuthenticated }
        expect(model.currentAccount?.email == "ana@example.org" && model.errorMessage == nil && !model.isLoading)
        let user = try await app.account.currentUser()
        expect(user.displayName == "Ana" && user.isOnline)
        run.cancel()
    }

    @Test func `003 26, 27, 53 test 2: an existing user signs in, and their data is read`() async throws {
        server.addAccount("ana", email: "ana@example.org", displayName: "Ana B", username: "ana.b")
        let app = server.app()
        let (model, run) = await model(app)
        await model.signIn()
        await until { model.isAuthenticated }
        try await expect(app.account.currentUser().displayName, equals: "Ana B")
        expect(model.currentAccount?.id == "ana" && model.currentAccount?.username == "ana.b", "003 32, 33")
        run.cancel()
    }

    @Test func `003 29, 54 test 3: a sign-out shows the user offline to others`() async throws {
        let app = server.app(as: "ana")
        app.client.connect()
        let bob = server.client(as: "bob")
        var online = bob.onlineUpdates(of: "ana").makeAsyncIterator()
        while await online.next() != true {}
        try await app.account.signOut()
        while await online.next() != false {}
        await expect(app.account.currentAccount, equals: nil)
    }

    @Test func `003 49 to 51, 55 test 4: an invalid e-mail is refused, and nothing is made`() async {
        let (model, run) = await model(server.app())
        model.email = "ana(at)example.org"
        expect(!model.isValidEmail && !model.canSignUp)
        await model.signUp()
        expect(model.errorMessage == "Please enter a valid email address." && !model.isAuthenticated)
        expect(server.requests("POST /v1/accounts").isEmpty)
        run.cancel()
    }

    @Test func `003 36, 56 test 5 AuthError.emailAlreadyInUse: a duplicate e-mail is refused`() async {
        server.addAccount("ana", email: "ana@example.org")
        let (model, run) = await model(server.app())
        await model.signUp()
        expect(model.errorMessage == "This email is already registered." && !model.isAuthenticated)
        run.cancel()
    }

    @Test func `003 57 test 6: the state persists over an app restart, also without a network`() async throws {
        let store = SessionStore.memory()
        let first = server.account(store.tokens)
        let made = try await first.signUp(email: "ana@example.org", password: "correct horse").account
        server.goOffline()
        let launched = server.account(store.tokens)
        var states = launched.states.makeAsyncIterator()
        var state = await states.next()
        while state == .restoring { state = await states.next() }
        expect(state?.account == made && made != nil)
    }

    @Test func `003 35 AuthError.invalidCredentials: a wrong password and an unknown user have the same text`() async {
        server.addAccount("ana", email: "ana@example.org")
        for (email, password) in [("ana@example.org", "wrong horse"), ("nobody@example.org", "correct horse")] {
            let (model, run) = await model(server.app())
            (model.email, model.password) = (email, password)
            await model.signIn()
            expect(model.errorMessage, equals: "Invalid email or password.")
            run.cancel()
        }
    }

    @Test func `003 34, 39 AuthError.userNotFound and .unknown: texts for what has no other`() {
        expect(PresenceError.account(.notFound).localizedDescription, equals: "User not found. Please sign up first.")
        let unknown = PresenceError.account(PresenceError.Code(rawValue: "of_a_later_version"), "why")
        expect(unknown.localizedDescription, equals: "An error occurred: why")
    }

    @Test func `003 4, 37, 50 AuthError.weakPassword: the minimum is the server's`() async {
        let (model, run) = await model(server.app())
        model.password = "1234567"
        await model.signUp()
        expect(model.errorMessage, equals: "Password must be at least 8 characters.")
        expect(User.PasswordRule(minimumLength: 6).fault(in: "123456"), equals: nil)
        run.cancel()
    }

    @Test func `003 38 AuthError.networkError: a missing network is told, and a retry succeeds`() async {
        let (model, run) = await model(server.app())
        server.goOffline()
        await model.signUp()
        expect(model.errorMessage, equals: "Network error. Please check your connection.")
        server.goOnline()
        await model.retry()
        await until { model.isAuthenticated }
        run.cancel()
    }

    @Test func `003 31, 48: a reset mail is sent, also to no one, and sets a password`() async throws {
        server.addAccount("ana", email: "ana@example.org")
        let (model, run) = await model(server.app())
        await model.resetPassword()
        expect(model.message, equals: "Password reset email sent!")
        let token = try #require(server.mailToken(to: "ana@example.org", resetsPassword: true))
        model.password = "battery staple"
        await model.setPassword(token: token)
        model.password = "battery staple"
        await model.signIn()
        await until { model.isAuthenticated }
        run.cancel()
    }
}
