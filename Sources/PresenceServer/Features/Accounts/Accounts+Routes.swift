import PresenceCore
import PresenceProtocol

/// The calls of accounts. Their bodies are short, and those of calls without a token are read before anybody is known.
extension Accounts {
    func registerRoutes(in registry: inout Registry) {
        let limits = RouteLimits(bodyBytes: Self.mostBytes)
        registry.route("POST", "/v1/accounts", for: .everyone, limits: limits) {
            [unowned self] (call) throws(DecodingFailure) in
            try signUp(call)
        }
        registry.route("POST", "/v1/sessions", for: .everyone, limits: limits) {
            [unowned self] (call) throws(DecodingFailure) in
            try signIn(call)
        }
        registry.route("POST", "/v1/sessions/refresh", for: .everyone, limits: limits) {
            [unowned self] (call) throws(DecodingFailure) in
            try refresh(call)
        }
        registry.route("DELETE", "/v1/sessions/{id}", for: .users, limits: limits) { [unowned self] call in
            signOut(call)
        }
        registry.route("GET", "/v1/me/sessions", for: .users, limits: limits) { [unowned self] call in
            listDevices(call)
        }
        registry.route("GET", "/v1/me", for: .users, limits: limits) { [unowned self] call in
            showOwn(call)
        }
        registry.route("PATCH", "/v1/me", for: .users, limits: limits) { [unowned self] call in
            changeOwn(call)
        }
        registry.route("DELETE", "/v1/me", for: .users, limits: limits) {
            [unowned self] (call) throws(DecodingFailure) in
            try deleteOwn(call)
        }
        registry.route("POST", "/v1/me/password", for: .users, limits: limits) {
            [unowned self] (call) throws(DecodingFailure) in
            try changePassword(call)
        }
        registry.route("POST", "/v1/me/email", for: .users, limits: limits) {
            [unowned self] (call) throws(DecodingFailure) in
            try askForEmail(call)
        }
        registry.route("POST", "/v1/emails/verify", for: .everyone, limits: limits) {
            [unowned self] (call) throws(DecodingFailure) in
            try verify(call)
        }
        let forgotten = ForgottenPasswords(self, in: &registry)
        registry.route("POST", "/v1/passwords/forgot", for: .everyone, limits: limits) {
            (call) throws(DecodingFailure) in
            try forgotten.ask(call)
        }
        registry.route("POST", "/v1/passwords/reset", for: .everyone, limits: limits) {
            [unowned self] (call) throws(DecodingFailure) in
            try reset(call)
        }
        registry.route("GET", "/v1/users/{id}/account") { [unowned self] call in show(call) }
        registry.route("DELETE", "/v1/users/{id}/account") { [unowned self] call in delete(call) }
        registry.route("POST", "/v1/users/{id}/account/disable") { [unowned self] call in setDisabled(true, call) }
        registry.route("POST", "/v1/users/{id}/account/enable") { [unowned self] call in setDisabled(false, call) }
    }
}
