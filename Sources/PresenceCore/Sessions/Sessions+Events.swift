import PresenceProtocol
import Redis
import Tokens

/// What sessions here hear of what was done elsewhere, and what they say again after a break.
extension Sessions {
    // MARK: Events

    /// What a user chose, on whichever of their devices.
    package func handle(ownStatus event: StoreEvent) {
        guard let id = event.subject else { return }
        let words = event.rest.split(separator: 0x20, maxSplits: 2).map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 3, let status = ChosenStatus(rawValue: words[0]) else { return }
        for feature in shard.features { feature.statusChosen(status, by: id) }
        guard let user = users[id] else { return }
        take(
            .init(
                status: status, text: words[2] == "-" ? nil : words[2], clearAt: Timestamp(words[1]),
                version: event.version),
            of: user)
    }

    /// A session of one of our users gave way to a younger one of the same device.
    package func handle(replaced event: StoreEvent) {
        guard let user = event.subject.flatMap({ users[$0] }), let id = event.words.first,
            let session = user.sessions.first(where: { $0.id == id })
        else { return }
        close(session, .replaced)
    }

    package func handle(disconnected event: StoreEvent) {
        guard let user = event.subject.flatMap({ users[$0] }) else { return }
        // By the clock that wrote the event's time: in a cluster each master has its own.
        let ahead = redisNow(for: user) - shard.clock.now
        let named = event.words
        for session in user.sessions where named.contains(session.id) || session.began + ahead <= event.at {
            close(session, .disconnected)
        }
    }

    /// All tokens of a user from before are worthless: their clients have to connect again with another.
    package func handle(revoked event: StoreEvent) {
        guard let user = event.subject.flatMap({ users[$0] }) else { return }
        user.revokedAt = max(user.revokedAt, event.at)
        // Who was there before has a token from before, though a server whose clock was ahead may have dated it later.
        for session in user.sessions where min(session.issuedAt, session.letInAt ?? .max) < event.at {
            revoke(session)
        }
    }

    /// Devices of a user have been signed out, by the names of their grants.
    package func handle(signedOut event: StoreEvent) {
        guard let user = event.subject.flatMap({ users[$0] }) else { return }
        let grants = Set(event.words)
        for session in user.sessions {
            guard let grant = session.grant, grants.contains(grant.string) else { continue }
            let isAnswered = session.connection?.isGreeted ?? true
            revoke(session)
            // It does not linger, unless its device comes back by another grant.
            if isAnswered, event.words.first != "-" {
                close(session, .unauthorized, reason: "\(AuthenticationFailure.revoked)")
            }
        }
    }

    /// The token of a session is worthless. One that lingers goes on for that time: nobody can come back to it with it.
    func revoke(_ session: Session) {
        guard let connection = session.connection else { return }
        if connection.isGreeted {
            shard.close(connection, .unauthorized, reason: "\(AuthenticationFailure.revoked)")
        } else {
            // Its `connect` is still to be answered: with that.
            session.isRevoked = true
        }
    }

    /// `presenced doctor` asks after sessions that are this shard's by what Redis says. Those that it does not hold it
    /// denies; of those that it holds, and while it may be wrong itself, it says nothing.
    package func handle(question event: StoreEvent) {
        guard shard.link.isLive else { return }
        let words = event.words
        guard words.count > 2, words[1] == shard.link.incarnation, let user = event.subject else { return }
        let held = Set(users[user]?.sessions.map(\.id) ?? [])
        let denied = words[2...].filter { !held.contains($0) }
        guard !denied.isEmpty else { return }
        shard.store.command(
            ["PUBLISH", words[0], ([user.string, words[1]] + denied).joined(separator: " ")], lane: .commands
        ) { _ in }
    }

    // MARK: After a break

    /// Whether Redis has still to be told that some are there or have ended.
    var hasUnasserted: Bool {
        !ended.isEmpty || byNumber.values.contains { $0.assertedRound < shard.link.round }
    }

    /// Takes what was told before the round `round` for told, but for the users of some partitions.
    func trustAll(except partitions: Set<Int>, round: Int) {
        for session in byNumber.values where session.assertedRound == round - 1 {
            guard !partitions.contains(shard.partitions.index(of: session.user.id)) else { continue }
            session.assertedRound = round
        }
    }

    /// Tells every session again, and the end of those that ended meanwhile. Stops at the first that Redis does not take
    /// now: `done` gets why.
    func assertAll(done: @escaping (RedisFailure?) -> Void) {
        let round = shard.link.round
        let untold = byNumber.values.filter { $0.assertedRound < round }.sorted { $0.number < $1.number }
        let ended = ended.values.sorted { $0.number < $1.number }
        var failure: RedisFailure?
        BoundedConcurrency(untold, window: 256) { [self] session, next in
            guard !session.hasEnded, failure == nil else { return next() }
            tell(session) { [self] outcome in
                if case .unreachable(let reason) = outcome { failure = reason ?? .disconnected(sent: true) }
                settle(session, outcome)
                next()
            }
        } done: { [self] in
            BoundedConcurrency(ended, window: 256) { [self] session, next in
                tellEnd(session, done: next)
            } done: {
                done(failure)
            }
        }
    }
}
