import Foundation
import PresenceKit

// Access tokens, and requests that need one.
extension PresenceAccount {
    /// A valid access token of the signed-in user, renewed if necessary, for requests to the app's own servers.
    ///
    /// - Throws: `notSignedIn`; `unauthorized` if the server has just ended the session; `notConnected`,
    ///   `connectionLost`, `unavailable` if it cannot be renewed now.
    public func accessToken() async throws -> String {
        try restore()
        guard let session else { throw PresenceError.account(.notSignedIn) }
        guard let access = session.access, access.until > uptime() + configuration.renewalMargin else {
            do {
                return try await renew()
            } catch let error as PresenceError where !error.isRefusal && error.code != .notSignedIn {
                // The current token may still be valid for a while.
                guard let access = self.session?.access, access.until > uptime() else { throw error }
                return access.token
            }
        }
        return access.token
    }

    /// Renews the access token now, and with it the account.
    ///
    /// - Throws: as ``accessToken()``.
    @discardableResult
    public func refresh() async throws -> Account {
        try restore()
        _ = try await renew()
        guard let session else { throw PresenceError.account(.notSignedIn) }
        return session.stored.account
    }

    /// Renews the access token, unless it already differs from this one.
    func renew(insteadOf refused: String) async throws -> String {
        if let access = session?.access, access.token != refused { return access.token }
        return try await renew()
    }

    /// Waits for the renewal in flight, or starts one. The renewal is not cancelled with a caller's task, because
    /// others may wait for it.
    private func renew() async throws -> String {
        guard let session else { throw PresenceError.account(.notSignedIn) }
        let renewal = renewal ?? Task { [generation] in try await exchange(session.stored, generation) }
        self.renewal = renewal
        let token = try await renewal.value
        try Task.checkCancellation()
        return token
    }

    private func exchange(_ held: StoredSession, _ generation: Int) async throws -> String {
        defer { if generation == self.generation { renewal = nil } }
        guard generation == self.generation else { throw PresenceError.account(.notSignedIn) }
        var presented = try reloaded(held)
        while true {
            do {
                return try await exchange(presented, of: generation)
            } catch let error as PresenceError where error.isRefusal {
                // Another process of the app may have signed in or renewed the session, so its newer token was not
                // rejected.
                let newer = try reloaded(presented)
                if newer.refreshToken == presented.refreshToken {
                    // If the removal fails, the token is rejected again after the next launch.
                    try? storing { try $0.clear() }
                    forget(.refused(error.reason))
                    throw error
                }
                presented = newer
            }
        }
    }

    /// Reads the session from the store again, because other processes of the app may share it and have renewed the
    /// session, signed out, or signed in as another user.
    ///
    /// - Throws: `notSignedIn` if the session is no longer this user's.
    private func reloaded(_ held: StoredSession) throws -> StoredSession {
        let kept: StoredSession?
        // If it cannot be read now, it counts as unchanged.
        do { kept = try store.load() } catch { return held }
        if let kept, kept.account.id == held.account.id { return kept }
        forget(.notSignedIn)
        if kept != nil {
            isRestored = false
            try restore()
        }
        throw PresenceError.account(.notSignedIn)
    }

    private func exchange(_ presented: StoredSession, of generation: Int) async throws -> String {
        let before = eventCount
        do {
            let tokens = try await server.send(Self.refresh(presented.refreshToken), as: Answer.Tokens.self)
            guard generation == self.generation else { throw PresenceError.account(.notSignedIn) }
            guard tokens.user == presented.account.id else {
                throw PresenceError.account(.notAnAnswer, "a session of another user")
            }
            // An event received in the meantime may be newer than this account.
            try keep(tokens, account: before == eventCount ? nil : session?.stored.account)
            publish(.live)
            if !farewells.isEmpty { tasks.start { await self.sendFarewells() } }
            return tokens.accessToken
        } catch let error as PresenceError {
            guard generation == self.generation else { throw PresenceError.account(.notSignedIn) }
            logger?.log(.notice, "the access token is not renewed: \(error)")
            throw error
        }
    }

    static func refresh(_ token: String) -> AccountServer.Request {
        // Safe to repeat: the server accepts the previous token as well.
        .init("POST", "v1/sessions/refresh", ["refreshToken": .string(token)], isRepeatable: true)
    }

    /// Sends a request as the signed-in user, and repeats it once with a new token if its token is rejected. Also
    /// returns the session of the request.
    func authorized(
        _ request: AccountServer.Request, progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> (body: Data, asked: Asked) {
        let token = try await accessToken()
        let asked = asked
        do {
            return (try await server.send(request, token: token, progress: progress), asked)
        } catch let error as PresenceError where error.isRefusal {
            guard asked.generation == generation else { throw PresenceError.account(.notSignedIn) }
            let token = try await renew(insteadOf: token)
            return (try await server.send(request, token: token, progress: progress), asked)
        }
    }
}
