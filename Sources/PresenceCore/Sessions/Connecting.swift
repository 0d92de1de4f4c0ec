import PresenceProtocol
import Tokens

/// Authentication of connections: `connect`, refreshed tokens and their expiry.
extension ShardLogic {
    /// The longest message before `connect`, in bytes: the longest token, plus room for the other members.
    static let mostOfConnect = Authenticator.longestToken + 4_096

    func connect(_ connection: Connection, _ id: Int64?, _ connect: ClientMessage.Connect) {
        guard connection.session == nil else {
            return refuse(.init(id: id, code: .badRequest, message: "connected already"), on: connection)
        }
        guard let token = connect.token ?? connection.headerToken else {
            return turnAway(connection, id, "a token is needed")
        }
        sockets.allowLongMessages(connection.socket)
        check(token, of: connection) { [self] verdict in decide(verdict, connection, id, connect) }
    }

    private func decide(
        _ verdict: TokenVerdict, _ connection: Connection, _ id: Int64?, _ connect: ClientMessage.Connect
    ) {
        switch verdict {
        case .tooMany(let wait): limitRate(of: connection, id, .failedTokens, retryAfter: wait)
        case .overloaded(let refusal):
            replies.now(on: connection) { [self] in
                replies.error(.init(refusal, id: id), to: connection)
                close(connection, .tryAgainLater, reason: reconnectAdvice())
            }
        case .refused(let failure): turnAway(connection, id, "\(failure)")
        case .valid(let claims) where claims.isBackend:
            turnAway(connection, id, "a backend's token cannot open a session")
        // The revocation is known here from another session of the user.
        case .valid(let claims) where (claims.issuedAt ?? 0) < sessions.users[claims.subject]?.revokedAt ?? 0:
            recordFailedToken(from: connection.address)
            turnAway(connection, id, "\(AuthenticationFailure.revoked)")
        case .valid(let claims):
            guard charge(claims.subject, connection, id) else { return }
            connection.tokenExpiresAt = claims.expiresAt
            let reply = replies.expect(on: connection)
            sessions.open(
                connection, user: claims.subject, issuedAt: claims.issuedAt ?? 0, grant: claims.grant,
                connect: connect
            ) { [self] opening in
                replies.fulfil(reply, on: connection) { [self] in
                    complete(connection, id, opening)
                }
                handleHeld(of: connection)
            }
        }
    }

    private func turnAway(_ connection: Connection, _ id: Int64?, _ message: String) {
        replies.now(on: connection) { [self] in
            replies.error(.init(id: id, code: .unauthorized, message: message), to: connection)
            close(connection, .unauthorized, reason: "unauthorized")
        }
    }

    private func complete(_ connection: Connection, _ id: Int64?, _ opening: Sessions.Opening) {
        guard !connection.isClosed else { return }
        switch opening {
        case .crowded: return crowdOut(connection, id)
        case .revoked:
            recordFailedToken(from: connection.address)
            return turnAway(connection, id, "\(AuthenticationFailure.revoked)")
        case .banned(let ban): return turnAway(connection, id, ban)
        case .refused(let message):
            replies.error(
                .init(id: id, code: .unavailable, message: "the session cannot be stored now", retryAfter: 1_000),
                to: connection)
            return refuse(connection, message)
        case .opened:
            // The event of a ban or a revocation arrived before the script's reply.
            if let session = connection.session, let ban = session.ban {
                sessions.drop(session)
                return turnAway(connection, id, ban)
            }
            if let session = connection.session, session.isRevoked {
                sessions.drop(session)
                recordFailedToken(from: connection.address)
                return turnAway(connection, id, "\(AuthenticationFailure.revoked)")
            }
            greet(connection, id)
        }
    }

    private func greet(_ connection: Connection, _ id: Int64?) {
        guard let session = connection.session else { return }
        // Empty if Redis was unreachable: then the client gets the status as soon as it is known.
        let chosen = session.user.chosen
        connection.toldStatus = chosen
        var payload: [UInt8] = []
        payload.reserveCapacity(settingsOfConnected.count + 256)
        ServerMessageWriter.connected(
            id: id, user: session.user.id, session: session.id, serverTime: clock.redisNow,
            status: chosen.map { OwnStatus($0) }, settings: settingsOfConnected, to: &payload)
        replies.send(payload, to: connection)
        connection.isGreeted = true
        logSession(of: connection)
        if !link.isLive { connection.staleness = .stale }
        scheduleTokenCheck(connection)
        for react in registry.sessionGreeted { react(session) }
    }

    // MARK: Tokens

    /// The user has reached the limit of connections. Some of the connections may be lingering, so a later attempt may
    /// succeed.
    func crowdOut(_ connection: Connection, _ id: Int64? = nil) {
        guard !connection.isClosed else { return }
        metrics.met(.connectionsPerUser)
        let most = configuration.limits.connectionsPerUser
        replies.error(
            .init(
                id: id, code: .tooMany, message: "at most \(most) connections of one user",
                retryAfter: configuration.linger),
            to: connection)
        close(connection, .tryAgainLater, reason: reconnectAdvice())
    }

    func refresh(_ connection: Connection, _ id: Int64?, _ token: String) {
        check(token, of: connection) { [self] verdict in renew(verdict, connection, id) }
    }

    func renew(_ verdict: TokenVerdict, _ connection: Connection, _ id: Int64?) {
        switch verdict {
        case .tooMany(let wait): limitRate(of: connection, id, .failedTokens, retryAfter: wait)
        // The old token remains in use.
        case .overloaded(let refusal): refuse(.init(refusal, id: id), on: connection)
        // Revocations known when the session was opened, or published since, apply here too.
        case .valid(let claims) where (claims.issuedAt ?? 0) < connection.session?.user.revokedAt ?? 0:
            recordFailedToken(from: connection.address)
            refuseRefresh(connection, id, "\(AuthenticationFailure.revoked)")
        case .valid(let claims) where !claims.isBackend && claims.subject == connection.session?.user.id:
            let reply = replies.expect(on: connection)
            checkRevocation(of: claims) { [self] isRevoked in
                replies.fulfil(reply, on: connection) { [self] in apply(claims, isRevoked, connection, id) }
            }
        case .valid:
            recordFailedToken(from: connection.address)
            refuseRefresh(connection, id, "this token belongs to another user")
        case .refused(let failure): refuseRefresh(connection, id, "\(failure)")
        }
    }

    /// Checks whether a token has been revoked. While Redis is unreachable, the check is postponed until it is back. A
    /// ban ends the session by its event.
    private func checkRevocation(of claims: Claims, answer: @escaping (Bool) -> Void) {
        guard link.isLive else { return answer(false) }
        queryStanding(of: Writer(claims, in: partitions)) { answer((try? $0.get()) == .revoked) }
    }

    /// Continues a connection with a new token, unless that token was revoked.
    private func apply(_ claims: Claims, _ isRevoked: Bool, _ connection: Connection, _ id: Int64?) {
        guard !connection.isClosed, let session = connection.session else { return }
        let issuedAt = claims.issuedAt ?? 0
        guard !isRevoked, issuedAt >= session.user.revokedAt else {
            recordFailedToken(from: connection.address)
            return rejectRefresh(connection, id, "\(AuthenticationFailure.revoked)")
        }
        (session.issuedAt, session.grant, session.letInAt) = (issuedAt, claims.grant, nil)
        // The event that signs the device out may have arrived before the session had this grant, so check once more.
        connection.tokenExpiresAt = claims.grant == nil ? claims.expiresAt : clock.redisNow
        var payload: [UInt8] = []
        ServerMessageWriter.refreshed(id: id, to: &payload)
        replies.send(payload, to: connection)
        scheduleTokenCheck(connection)
    }

    /// The old token remains in use; but after too many invalid new tokens the client has to reconnect with a valid
    /// one.
    private func refuseRefresh(_ connection: Connection, _ id: Int64?, _ message: String) {
        replies.now(on: connection) { [self] in rejectRefresh(connection, id, message) }
    }

    private func rejectRefresh(_ connection: Connection, _ id: Int64?, _ message: String) {
        connection.failedRefreshes += 1
        let isTooMany = connection.failedRefreshes >= ServerConfiguration.Limits.failedRefreshes
        replies.error(.init(id: id, code: .unauthorized, message: message), to: connection)
        if isTooMany { close(connection, .unauthorized, reason: "too many refused tokens") }
    }

    /// A new token's expiry notice or end may be due before the connection's other deadlines, so it is scheduled.
    private func scheduleTokenCheck(_ connection: Connection) {
        guard let due = checkToken(connection), due < connection.nextLook else { return }
        scheduleCheck(of: connection, due)
    }

    /// Sends the expiry notice when it is due, and closes the connection at expiry. Returns when to check again.
    func checkToken(_ connection: Connection) -> Milliseconds? {
        guard let expiresAt = connection.tokenExpiresAt else { return nil }
        // A signed-in device stays connected until it is signed out.
        if let grant = connection.session?.grant { return checkGrant(grant, of: connection, expiresAt) }
        let left = expiresAt - clock.redisNow
        let notice = configuration.tokenExpiringNotice
        if left <= 0 {
            close(connection, .tokenExpired, reason: "token expired")
            return nil
        }
        guard left <= notice else { return clock.now + left - notice }
        // Not before `connected`, which is the first message to a client.
        if connection.noticedExpiry != expiresAt, connection.isGreeted {
            connection.noticedExpiry = expiresAt
            var payload: [UInt8] = []
            ServerMessageWriter.tokenExpiring(expiresIn: left, to: &payload)
            replies.send(payload, to: connection)
        }
        return clock.now + left
    }
}

extension OwnStatus {
    package init(_ chosen: LocalUser.Chosen?) {
        self.init()
        guard let chosen else { return }
        status = chosen.status
        text = chosen.plainText
        clearAt = chosen.clearAt
    }
}
