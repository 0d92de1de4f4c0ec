import PresenceCore
import PresenceProtocol
import WebSockets

/// The calls of accounts. Their bodies are short, because some are read before the caller is authenticated.
extension Accounts {
    func registerRoutes(in registry: inout Registry) {
        let limits = RouteLimits(bodyBytes: Self.mostBytes)
        func route(
            _ method: String, _ path: String, for audience: Route.Audience,
            _ answer: @escaping (Accounts) -> (HTTPCall) async throws(Refusal) -> HTTPResponse
        ) {
            registry.route(
                method, path, for: audience, limits: limits,
                answer: { [unowned self] (call) async throws(Refusal) in try await answer(self)(call) })
        }
        route("POST", "/v1/accounts", for: .everyone, Accounts.signUp)
        route("POST", "/v1/sessions", for: .everyone, Accounts.signIn)
        route("POST", "/v1/sessions/refresh", for: .everyone, Accounts.refresh)
        route("DELETE", "/v1/sessions/{id}", for: .users, Accounts.signOut)
        route("GET", "/v1/me/sessions", for: .users, Accounts.listDevices)
        route("GET", "/v1/me", for: .users, Accounts.showOwn)
        route("PATCH", "/v1/me", for: .users, Accounts.changeOwn)
        route("DELETE", "/v1/me", for: .users, Accounts.deleteOwn)
        route("POST", "/v1/me/password", for: .users, Accounts.changePassword)
        route("POST", "/v1/me/email", for: .users, Accounts.requestEmailChange)
        route("POST", "/v1/me/upgrade", for: .users, Accounts.upgrade)
        route("POST", "/v1/me/identities", for: .users, Accounts.addIdentity)
        route("DELETE", "/v1/me/identities/{text}", for: .users, Accounts.removeIdentity)
        route("GET", "/v1/signin/{text}", for: .everyone, Accounts.beginSignIn)
        route("GET", "/v1/signin/{text}/callback", for: .everyone, Accounts.finishSignIn)
        route("POST", "/v1/signin/{text}/callback", for: .everyone, Accounts.finishSignIn)
        route("POST", "/v1/signin/{text}/notifications", for: .everyone, Accounts.receiveNotice)
        route("POST", "/v1/emails/verify", for: .everyone, Accounts.verify)
        route("POST", "/v1/passwords/reset", for: .everyone, Accounts.reset)
        registry.route(
            "POST", "/v1/passwords/forgot", for: .everyone, limits: limits,
            answer: { [unowned self] (call) async throws(Refusal) in try requestReset(call) })
        registry.route(
            "POST", "/v1/signin/mail", for: .everyone, limits: limits,
            answer: { [unowned self] (call) async throws(Refusal) in try requestMailCode(call) })
        registry.route(
            "GET", "/v1/users/{id}/account", scope: .usersRead,
            answer: { [unowned self] (call) async throws(Refusal) in try await show(call.ids[0]) })
        registry.route(
            "DELETE", "/v1/users/{id}/account", scope: .usersWrite,
            answer: { [unowned self] (call) async throws(Refusal) in
                try await remove(call.ids[0], held: nil, by: call.writer)
            })
        registry.route(
            "POST", "/v1/users/{id}/account/disable", scope: .usersWrite,
            answer: { [unowned self] in try await setDisabled(true, $0.ids[0]) })
        registry.route(
            "POST", "/v1/users/{id}/account/enable", scope: .usersWrite,
            answer: { [unowned self] in try await setDisabled(false, $0.ids[0]) })
    }
}
