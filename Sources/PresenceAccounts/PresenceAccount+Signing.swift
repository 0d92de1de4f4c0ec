import Foundation
import PresenceKit

// Sign-up, sign-in and sign-out.
extension PresenceAccount {
    @discardableResult
    public func signUp(
        email: String, password: String, displayName: String?, username: String?
    ) async throws -> Account.SignUpOutcome {
        let email = User.EmailRule.trimmed(email)
        if signUpAttempt?.email != email { signUpAttempt = (email, UUID().uuidString.lowercased()) }
        var members = credentials(email, password)
        members["idempotency"] = signUpAttempt.map { .string($0.id) }
        if let displayName { members["displayName"] = .string(displayName) }
        if let username { members["username"] = .string(username) }
        let account = try await authenticate(.init("POST", "v1/accounts", members, isRepeatable: true))
        signUpAttempt = nil
        return account.map(Account.SignUpOutcome.signedIn) ?? .mailSent
    }

    @discardableResult
    public func signIn(email: String, password: String) async throws -> Account {
        try await signedIn("v1/sessions", credentials(User.EmailRule.trimmed(email), password))
    }

    public func requestCode(email: String) async throws {
        _ = try await server.send(.init("POST", "v1/signin/mail", ["email": .string(User.EmailRule.trimmed(email))]))
    }

    @discardableResult
    public func signIn(email: String, code: String, displayName: String? = nil) async throws -> Account {
        var members = credentials(User.EmailRule.trimmed(email))
        members["mailCode"] = .string(code)
        if let displayName { members["displayName"] = .string(displayName) }
        do {
            return try await signedIn("v1/sessions", members)
        } catch var error as PresenceError where error.reason == .invalidCredentials {
            error.sentence = Sentence.codeInvalid.text()
            throw error
        }
    }

    /// Signs in with an identity token of a provider that the server is configured for, such as Apple or Google. The app
    /// gets the token from the provider's own library. Without an account for the identity, the server creates one.
    ///
    /// - Parameters:
    ///   - provider: its name in the server's configuration.
    ///   - nonce: the text that the app has given to the provider, itself or as its SHA-256 in hexadecimal.
    ///   - displayName: of a new account; Apple states a name to the app only. By default that in the token.
    /// - Throws: reasons `invalidCredentials` for a token that is not accepted, `emailTaken` if an account has the
    ///   identity's address without having confirmed it: a code was mailed to the address.
    @discardableResult
    public func signIn(
        provider: String, idToken: String, nonce: String? = nil, displayName: String? = nil
    ) async throws -> Account {
        var members = credentials()
        members["provider"] = .string(provider)
        members["idToken"] = .string(idToken)
        members["nonce"] = nonce.map { .string($0) }
        members["displayName"] = displayName.map { .string($0) }
        return try await signedIn("v1/sessions", members)
    }

    @discardableResult
    public func signInAsGuest(displayName: String? = nil) async throws -> Account {
        var members = credentials()
        members["guest"] = .bool(true)
        if let displayName { members["displayName"] = .string(displayName) }
        return try await signedIn("v1/accounts", members)
    }

    @discardableResult
    public func upgrade(email: String, password: String) async throws -> Account.SignUpOutcome {
        let members: [String: JSONValue] = [
            "email": .string(User.EmailRule.trimmed(email)), "password": .string(password),
        ]
        let request = AccountServer.Request("POST", "v1/me/upgrade", members)
        let (body, asked) = try await authorized(request)
        let answer = try AccountServer.decode(Answer.Upgraded.self, from: body, of: request)
        guard let account = answer.account else { return .mailSent }
        let upgraded = Account(Answer.Me(account: account, profile: answer.profile))
        hold(upgraded, of: asked)
        return .signedIn(upgraded)
    }

    private func credentials(_ email: String? = nil, _ password: String? = nil) -> [String: JSONValue] {
        var device: [String: JSONValue] = ["kind": .string(self.device.kind.rawValue)]
        if let id = self.device.id { device["id"] = .string(id) }
        if let name = self.device.name { device["name"] = .string(name) }
        var members: [String: JSONValue] = ["device": .object(device)]
        members["email"] = email.map { .string($0) }
        members["password"] = password.map { .string($0) }
        return members
    }

    private func signedIn(_ path: String, _ members: [String: JSONValue]) async throws -> Account {
        guard let account = try await authenticate(.init("POST", path, members)) else {
            throw PresenceError.account(.notAnAnswer, "to POST \(path)", outcomeUnknown: true)
        }
        return account
    }

    /// - Returns: `nil` for a response that does not sign the user in.
    private func authenticate(_ request: AccountServer.Request) async throws -> Account? {
        // A store that cannot be read will be overwritten.
        try? restore()
        let decisions = decisions
        let answer = try await server.response(to: request)
        if answer.status == 202 { return nil }
        let tokens = try AccountServer.decode(Answer.Tokens.self, from: answer.body, of: request)
        guard decisions == self.decisions else {
            revoke(tokens.accessToken)
            throw CancellationError()
        }
        let former = session
        do {
            try adopt(tokens)
        } catch {
            revoke(tokens.accessToken)
            throw error
        }
        if let former { self.tasks.start { await self.leave(former) } }
        if !farewells.isEmpty { self.tasks.start { await self.sendFarewells() } }
        await stateFeed.formerUserIsForgotten()
        return Account(tokens.account)
    }

    /// Replaces the current session by that of these tokens.
    private func adopt(_ tokens: Answer.Tokens) throws {
        try keep(tokens)
        isRestored = true
        decisions += 1
        generation += 1
        heardVersion = 0
        renewal = nil
        publish(.live)
    }

    /// Stores the tokens before they are used.
    func keep(_ tokens: Answer.Tokens, account: Account? = nil) throws {
        var account = account ?? Account(tokens.account)
        if let known = session?.stored.account { account.addProfile(of: known) }
        let stored = StoredSession(refreshToken: tokens.refreshToken, account: account, savedAt: Date())
        try storing { try $0.save(stored) }
        let until = uptime() + .milliseconds(min(max(tokens.expiresIn, 0), 1e12))
        session = Session(stored: stored, access: (tokens.accessToken, until))
    }

    // MARK: Signing out

    /// - ``Account/SignOutScope/thisDevice``: signs out at once, even without a network; the server is notified when it can be
    ///   reached, if necessary after a later launch. Throws only if the session cannot be removed from this device
    ///   (`storageFailed`).
    /// - It returns when the data of the clients of this account is deleted, also if no user was signed in and an earlier
    ///   process had left it.
    /// - Other scopes send the request first. If it fails, they throw and change nothing.
    public func signOut(_ scope: Account.SignOutScope) async throws {
        switch scope {
        case .thisDevice:
            try restore()
            guard let former = session else { return try await end(.requested) }
            try remove(.requested)
            await leave(former)
        case .allDevices:
            let generation = generation
            _ = try await authorized(.init("DELETE", "v1/sessions/all", isRepeatable: false))
            if generation == self.generation { try await end(.requested) }
        case .session(let id):
            _ = try await authorized(.init("DELETE", "v1/sessions/\(HTTPServer.escaped(id))"))
        }
    }

    /// Waits until the data of a session that has ended is deleted, and notifies the server. If that fails, it is repeated
    /// later.
    private func leave(_ former: Session) async {
        let refreshToken = former.stored.refreshToken
        // Before the data is deleted, because the process may be killed meanwhile.
        keepFarewells { $0.append(refreshToken) }
        await stateFeed.formerUserIsForgotten()
        var access = former.access?.token
        if former.access.map({ $0.until <= uptime() }) ?? true { access = nil }
        await sendFarewell(of: refreshToken, access: access)
    }

    private func revoke(_ token: String) {
        tasks.start { [server] in _ = try? await server.send(.init("DELETE", "v1/sessions/current"), token: token) }
    }

    /// Ends the session, and returns when the user's data on this device is deleted.
    ///
    /// - Throws: if the session cannot be removed from the store; it then continues.
    func end(_ reason: AuthState.SignOutReason) async throws {
        try remove(reason)
        await stateFeed.formerUserIsForgotten()
    }

    private func remove(_ reason: AuthState.SignOutReason) throws {
        try storing { try $0.clear() }
        decisions += 1
        forget(reason)
    }

    func forget(_ reason: AuthState.SignOutReason) {
        isRestored = true
        generation += 1
        heardVersion = 0
        renewal = nil
        session = nil
        stateFeed.publish(.signedOut(reason))
    }
}
