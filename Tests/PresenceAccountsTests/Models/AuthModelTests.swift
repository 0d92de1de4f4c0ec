import Expectations
import Foundation
import PresenceAccounts
import PresenceKit
import Testing

@testable import PresenceTesting

/// REQUIREMENTS 003: the forms for sign-up, sign-in and sign-out.
@MainActor @Suite(.timeLimit(.minutes(1))) struct AuthModelTests {
    private let server = InMemoryServer()
    private let store = FakeTokenStore()
    private let auth: PresenceAccount

    init() { auth = server.account(store) }

    private var signUps: [InMemoryServer.Object] { server.requests("POST /v1/accounts") }
    private var signIns: [InMemoryServer.Object] { server.requests("POST /v1/sessions") }

    private func model(_ auth: PresenceAccount) async -> (model: AuthModel, run: Task<Void, Never>) {
        let model = AuthModel(auth: auth)
        expect(model.isRestoring && !model.isAuthenticated)
        let run = Task { await model.run() }
        await until { !model.isRestoring }
        return (model, run)
    }

    private func filled() async -> (model: AuthModel, run: Task<Void, Never>) {
        let (model, run) = await model(auth)
        model.email = "ana@example.org"
        model.password = "correct horse"
        model.displayName = "Ana"
        return (model, run)
    }

    @Test func `who signs up is signed in, and the password is forgotten`() async {
        let (model, run) = await filled()
        expect(model.canSignUp && model.canSignIn && model.canResetPassword)
        await model.signUp()
        await until { model.isAuthenticated }
        expect(model.currentAccount?.email == "ana@example.org" && model.password.isEmpty)
        expect(model.errorMessage == nil && !model.isLoading)
        expect(signUps.count == 1 && signUps[0]["email"] as? String == "ana@example.org")
        expect(signUps[0]["displayName"] as? String == "Ana" && signUps[0]["username"] == nil)
        await model.signOut()
        await until { !model.isAuthenticated }
        expect(model.state, equals: .signedOut(.requested))
        run.cancel()
    }

    @Test func `with hidden accounts, a sign-up asks the user to read their mail`() async throws {
        try await auth.signUp(email: "taken@example.org", password: "correct horse")
        try await auth.signOut()
        server.hidesExisting = true
        let (model, run) = await filled()
        for email in ["ana@example.org", "taken@example.org"] {
            model.email = email
            model.password = "battery staple"
            await model.signUp()
            expect(model.message, equals: "Please follow the link in the email that we have sent you, then sign in.")
            expect(model.errorMessage == nil && !model.isLoading && model.password.isEmpty)
            await expect(auth.currentAccount, equals: nil)
        }
        model.email = "ana@example.org"
        model.password = "battery staple"
        expect(model.message, equals: nil)
        await model.signIn()
        await until { model.isAuthenticated }
        run.cancel()
    }

    @Test func `who has an account signs in, by e-mail or username`() async throws {
        let (model, run) = await filled()
        try await auth.signUp(email: "ana@example.org", password: "correct horse", displayName: nil, username: "ana.b")
        try await auth.signOut()
        for name in [" Ana@example.org", "ana.b"] {
            model.email = name
            model.password = "correct horse"
            await model.signIn()
            await until { model.isAuthenticated }
            await model.signOut()
            await until { !model.isAuthenticated }
        }
        run.cancel()
    }

    @Test(arguments: ["", "ana", "ana@", "@example.org", "ana@example", "a b@example.org", "ana@example.org\u{0}"])
    func `an invalid e-mail is told, and nothing is sent`(email: String) async {
        let (model, run) = await filled()
        model.email = email
        expect(!model.isValidEmail && !model.canSignUp && !model.canResetPassword)
        expect(model.emailError, equals: email.isEmpty ? nil : "Please enter a valid email address.")
        await model.signUp()
        expect(model.errorMessage, equals: "Please enter a valid email address.")
        await model.resetPassword()
        expect(model.errorMessage == "Please enter a valid email address." && signUps.isEmpty)
        expect(server.requests("POST /v1/passwords/forgot").isEmpty)
        run.cancel()
    }

    @Test func `a password is at least as long as the server wants, and the text says the number`() async {
        let (model, run) = await filled()
        model.password = "1234567"
        expect(!model.isValidPassword && model.passwordError == "Password must be at least 8 characters.")
        await model.signUp()
        expect(model.errorMessage == "Password must be at least 8 characters." && signUps.isEmpty)
        model.password = "12345678"
        expect(model.isValidPassword && model.errorMessage == nil)
        let lenient = AuthModel(auth: auth, passwordRule: User.PasswordRule(minimumLength: 6))
        lenient.password = "12345"
        expect(lenient.passwordError, equals: "Password must be at least 6 characters.")
        lenient.password = "123456"
        expect(lenient.isValidPassword && lenient.passwordError == nil)
        lenient.password = String(repeating: "x", count: 1_025)
        expect(lenient.passwordError, equals: "Password is too long.")
        run.cancel()
    }

    @Test func `a display name is needed, and cut at 50`() async {
        let (model, run) = await filled()
        model.displayName = "  "
        expect(!model.isValidDisplayName && !model.canSignUp)
        await model.signUp()
        expect(model.errorMessage, equals: "Display name cannot be empty")
        model.displayName = String(repeating: "x", count: 60)
        expect(model.displayName.count == 50 && model.isValidDisplayName && model.displayNameError == nil)
        run.cancel()
    }

    @Test func `an e-mail that is taken is told, and typing takes the text away`() async throws {
        try await auth.signUp(email: "ana@example.org", password: "correct horse")
        try await auth.signOut()
        let (model, run) = await filled()
        await model.signUp()
        expect(model.errorMessage == "This email is already registered." && !model.isAuthenticated)
        expect(model.password, equals: "correct horse", "it need not be typed again")
        model.email = "other@example.org"
        expect(model.errorMessage, equals: nil)
        run.cancel()
    }

    @Test func `an unknown user and a wrong password have the same text`() async throws {
        let (model, run) = await filled()
        await model.signIn()
        expect(model.errorMessage, equals: "Invalid email or password.")
        model.password = ""
        expect(!model.canSignIn)
        await model.signIn()
        expect(model.errorMessage == "Invalid email or password." && signIns.count == 1)
        run.cancel()
    }

    @Test func `a missing network shows an error, and a retry succeeds`() async {
        let (model, run) = await filled()
        server.goOffline()
        await model.signUp()
        expect(model.errorMessage == "Network error. Please check your connection." && !model.isLoading)
        server.goOnline()
        await model.retry()
        await until { model.isAuthenticated }
        expect(model.errorMessage, equals: nil)
        run.cancel()
    }

    @Test func `while it takes time it says so, and does not ask twice`() async {
        let (model, run) = await filled()
        server.delay = .seconds(2)
        let signUp = Task { await model.signUp() }
        await server.clock.sleepers()
        expect(model.isLoading && !model.canSignUp && !model.canSignIn && model.errorMessage == nil)
        await model.signUp()
        server.clock.advance(by: .seconds(2))
        await signUp.value
        expect(!model.isLoading && signUps.count == 1)
        run.cancel()
    }

    @Test func `a cancelled call shows no error`() async {
        let (model, run) = await filled()
        server.delay = .seconds(2)
        let signIn = Task { await model.signIn() }
        await server.clock.sleepers()
        signIn.cancel()
        await signIn.value
        expect(model.errorMessage == nil && !model.isLoading)
        run.cancel()
    }

    @Test func `a mail is asked for, and the password is set with its token`() async throws {
        try await auth.signUp(email: "ana@example.org", password: "correct horse")
        try await auth.signOut()
        let (model, run) = await filled()
        await model.resetPassword()
        expect(model.message == "Password reset email sent!" && model.errorMessage == nil)
        let token = try #require(server.mailToken(to: "ana@example.org", resetsPassword: true))
        model.password = "battery staple"
        expect(model.message, equals: nil)
        await model.setPassword(token: token)
        expect(model.message == "Your password was changed. Please sign in." && !model.isAuthenticated)
        await model.setPassword(token: token)
        expect(model.errorMessage, equals: "Password must be at least 8 characters.", "it was forgotten")
        model.password = "battery staple"
        await model.setPassword(token: token)
        expect(model.errorMessage, equals: "This link is no longer valid. Please ask for a new one.")
        await model.signIn()
        await until { model.isAuthenticated }
        run.cancel()
    }

    @Test func `what fails without a reason has the texts asked for`() async {
        let (model, run) = await filled()
        server.goOffline()
        await model.resetPassword()
        expect(model.errorMessage, equals: "Failed to send reset email.")
        server.goOnline()
        store.failure = CocoaError(.fileWriteOutOfSpace)
        await model.signOut()
        expect(model.errorMessage, equals: "Failed to sign out.")
        store.failure = nil
        run.cancel()
        let other = AuthModel(auth: ForeignAccount())
        (other.email, other.password) = ("ana@example.org", "correct horse")
        await other.signIn()
        expect(other.errorMessage, equals: "An unexpected error occurred.")
    }

    @Test func `a session that the server ended brings the forms back`() async {
        let auth = server.app(as: "ana").account
        let (model, run) = await model(auth)
        expect(model.isAuthenticated)
        _ = try? await auth.accessToken()
        // Another device has used the refresh token.
        server.change { $0.grants[1]!.counter += 2 }
        _ = try? await auth.refresh()
        await until { model.state == .signedOut(.refused(.tokenReused)) }
        run.cancel()
        await run.value
    }
}

/// An app's own account, whose errors are no ``PresenceError``.
struct ForeignAccount: AccountRepository {
    private static let error = CocoaError(.fileNoSuchFile)
    var states: PresenceUpdates<AuthState> { PresenceUpdates(AsyncStream { $0.finish() }) }
    var currentAccount: Account? { nil }
    func signUp(
        email: String, password: String, displayName: String?, username: String?
    ) async throws -> Account.SignUpOutcome { throw Self.error }
    func signIn(email: String, password: String) async throws -> Account { throw Self.error }
    func signOut(_ scope: Account.SignOutScope) async throws { throw Self.error }
    func resetPassword(email: String) async throws { throw Self.error }
    func resetPassword(token: String, newPassword: String) async throws { throw Self.error }
    func verifyEmail(token: String) async throws { throw Self.error }
    func currentUser() async throws -> User { throw Self.error }
    func update(
        _ changes: ProfileChanges, preferredLanguage: Change<String>, setupCompleted: Bool?
    ) async throws -> User { throw Self.error }
    func changePassword(from password: String, to newPassword: String) async throws { throw Self.error }
    func changeEmail(to email: String, password: String) async throws { throw Self.error }
    func deleteAccount(password: String?) async throws { throw Self.error }
    func sessions() async throws -> [Account.Session] { throw Self.error }
    func availability(ofUsername username: String) async throws -> Account.UsernameAvailability { throw Self.error }
    func claimUsername(_ username: String) async throws -> Account { throw Self.error }
    func user(named username: String) async throws -> User? { throw Self.error }
    func releaseUsername() async throws { throw Self.error }
    func uploadPhoto(_ picture: Data) -> AsyncThrowingStream<Upload<Photo>, any Error> {
        AsyncThrowingStream { $0.finish(throwing: Self.error) }
    }
    func removePhoto() async throws { throw Self.error }
}
