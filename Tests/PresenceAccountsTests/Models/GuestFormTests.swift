import Expectations
import Foundation
import PresenceAccounts
import PresenceKit
import PresenceTesting
import Testing

/// The forms for guests and for codes by mail.
@MainActor @Suite(.timeLimit(.minutes(1))) struct GuestFormTests {
    private let server = InMemoryServer()
    private let auth: PresenceAccount
    private let model: AuthModel

    init() {
        auth = server.app().account
        model = AuthModel(auth: auth)
    }

    /// Performs a test while the model observes the session.
    private func running(_ body: () async throws -> Void) async rethrows {
        let run = Task { await model.run() }
        await until { !model.isRestoring }
        try await body()
        run.cancel()
    }

    @Test func `a guest begins without fields, and keeps everything as a user`() async throws {
        await running {
            expect(model.canSignInAsGuest && !model.isGuest && !model.canUpgrade)
            await model.signInAsGuest()
            await until { model.isGuest }
            let guest = model.currentAccount?.id
            expect(model.errorMessage == nil && model.message == nil)
            (model.email, model.password) = (" Ana@example.org", "correct horse")
            expect(model.canUpgrade)
            await model.upgrade()
            await until { !model.isGuest }
            expect(model.currentAccount?.id == guest && model.currentAccount?.email == "ana@example.org")
            expect(model.errorMessage == nil && model.password.isEmpty && !model.canUpgrade)
        }
        let signUp = try #require(server.requests("POST /v1/accounts").first)
        expect(signUp["guest"] as? Bool == true && signUp["displayName"] == nil)
    }

    @Test func `a guest's name is checked only if there is one`() async {
        await running {
            model.displayName = "  "
            expect(!model.canSignInAsGuest)
            await model.signInAsGuest()
            expect(model.errorMessage, equals: "Display name cannot be empty")
            expect(server.requests("POST /v1/accounts").isEmpty)
            model.displayName = " Ana "
            await model.signInAsGuest()
            await until { model.isGuest }
            expect(server.requests("POST /v1/accounts").first?["displayName"] as? String, equals: "Ana")
        }
    }

    @Test func `invalid fields of an upgrade are told, and nothing is sent`() async throws {
        try await auth.signInAsGuest()
        await running {
            model.password = "correct horse"
            await model.upgrade()
            expect(model.errorMessage, equals: "Please enter a valid email address.")
            (model.email, model.password) = ("ana@example.org", "short")
            expect(!model.canUpgrade)
            await model.upgrade()
            expect(model.errorMessage, equals: "Password must be at least 8 characters.")
            expect(server.requests("POST /v1/me/upgrade").isEmpty)
        }
    }

    @Test func `an upgrade to a taken address fails, and can be tried with another`() async throws {
        try await auth.signUp(email: "ana@example.org", password: "correct horse")
        try await auth.signOut()
        try await auth.signInAsGuest()
        await running {
            (model.email, model.password) = ("ana@example.org", "battery staple")
            await model.upgrade()
            expect(model.errorMessage == "This email is already registered." && model.isGuest)
            model.email = "bob@example.org"
            expect(model.errorMessage, equals: nil)
            await model.retry()
            await until { !model.isGuest }
        }
    }

    @Test(arguments: ["ana@example.org", "taken@example.org"])
    func `with hidden accounts, a guest stays one until the link is opened`(email: String) async throws {
        try await auth.signUp(email: "taken@example.org", password: "correct horse")
        try await auth.signOut()
        let earlier = server.mailToken(to: "taken@example.org")
        try await auth.signInAsGuest()
        server.hidesExisting = true
        try await running {
            (model.email, model.password) = (email, "battery staple")
            await model.upgrade()
            expect(
                model.message,
                equals: "Please follow the link in the email that we have sent you. Until then you are a guest.")
            expect(model.isGuest && model.errorMessage == nil && model.password.isEmpty)
            guard email == "ana@example.org" else {
                return expect(server.mailToken(to: email), equals: earlier)
            }
            try await auth.verifyEmail(token: try #require(server.mailToken(to: email)))
            try await auth.signIn(email: email, password: "battery staple")
            await until { model.currentAccount?.emailVerified == true }
        }
    }

    @Test func `a server without guests says so, and a missing network is told`() async {
        await running {
            server.fail("POST /v1/accounts", with: PresenceError(.forbidden, reason: .guestsOff))
            await model.signInAsGuest()
            expect(model.errorMessage, equals: "There are no guests here. Please sign up.")
            server.goOffline()
            await model.signInAsGuest()
            expect(model.errorMessage == "Network error. Please check your connection." && !model.isLoading)
            server.goOnline()
            await model.retry()
            await until { model.isGuest }
        }
    }

    @Test func `a code is mailed, and signs in once`() async throws {
        try await auth.signUp(email: "ana@example.org", password: "correct horse")
        try await auth.signOut()
        try await running {
            model.email = "ana@example.org"
            expect(model.canRequestCode && !model.canSignInWithCode)
            await model.requestCode()
            expect(model.message, equals: "Please enter the code of the email that we have sent you.")
            expect(model.errorMessage == nil && !model.isAuthenticated)
            let code = try #require(server.mailCode(to: "ana@example.org"))
            model.code = "\(code.prefix(3)) \(code.suffix(3))"
            expect(model.message == nil && model.canSignInWithCode)
            await model.signInWithCode()
            await until { model.isAuthenticated }
            expect(model.code.isEmpty && model.currentAccount?.emailVerified == true)
            await model.signOut()
            model.code = code
            await model.signInWithCode()
            expect(model.errorMessage == "This code is wrong or no longer valid." && model.code == code)
        }
    }

    @Test func `a request of a code does not tell whether the address has an account`() async {
        await running {
            model.email = "nobody@example.org"
            await model.requestCode()
            expect(model.message, equals: "Please enter the code of the email that we have sent you.")
            model.email = "nobody"
            expect(!model.canRequestCode)
            await model.requestCode()
            expect(model.errorMessage, equals: "Please enter a valid email address.")
            expect(server.requests("POST /v1/signin/mail").count, equals: 1)
        }
    }

    @Test func `invalid fields of a code are told, and nothing is sent`() async {
        await running {
            await model.signInWithCode()
            expect(model.errorMessage, equals: "Please enter a valid email address.")
            (model.email, model.code) = ("ana@example.org", " ")
            await model.signInWithCode()
            expect(model.errorMessage, equals: "This code is wrong or no longer valid.")
            (model.code, model.displayName) = ("123456", " ")
            expect(!model.canSignInWithCode)
            await model.signInWithCode()
            expect(model.errorMessage, equals: "Display name cannot be empty")
            expect(server.requests("POST /v1/sessions").isEmpty)
        }
    }

    @Test func `while it takes time no form can be sent`() async {
        await running {
            (model.email, model.code) = ("ana@example.org", "123456")
            server.delay = .seconds(2)
            let signIn = Task { await model.signInAsGuest() }
            await server.clock.sleepers()
            expect(model.isLoading && !model.canSignInAsGuest && !model.canRequestCode && !model.canSignInWithCode)
            await model.requestCode()
            server.clock.advance(by: .seconds(2))
            await signIn.value
            expect(!model.isLoading && server.requests("POST /v1/signin/mail").isEmpty)
        }
    }

    @Test func `an app's own account without guests and codes says so`() async {
        let model = AuthModel(auth: ForeignAccount())
        (model.email, model.code) = ("ana@example.org", "123456")
        for form in [model.signInAsGuest, model.requestCode, model.signInWithCode] {
            await form()
            expect(model.errorMessage, equals: "The server does not offer that.")
        }
    }
}
