import PresenceAccounts
import PresenceKit
import PresenceMessages
import PresenceTesting
import Testing

/// The app of a user who has just signed up, on a server in memory.
struct Newcomer {
    let server = InMemoryServer()
    let app: PresenceApp
    let account: Account
    var id: String { account.id }

    init(email: String = "ana.b@example.org", username: String? = nil) async throws {
        app = server.app()
        let outcome = try await app.account.signUp(
            email: email, password: "correct horse", displayName: nil, username: username)
        account = try #require(outcome.account)
        app.client.connect()
        for await state in app.client.connectionStates where state.isConnected { break }
    }

    /// The signed-in user as the server has them.
    var user: User { get async throws { try await app.account.currentUser() } }

    func goOffline() async {
        server.goOffline()
        for await state in app.client.connectionStates where !state.isConnected { break }
    }

    /// The error that a call throws.
    static func error<Value: Sendable>(of body: @Sendable () async throws -> Value) async -> PresenceError? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error as? PresenceError
        }
    }
}
