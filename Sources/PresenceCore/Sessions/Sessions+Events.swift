import PresenceProtocol
import Redis
import Tokens

/// Events from other shards that concern sessions here, and assertions after a break.
extension Sessions {
    // MARK: Events

    /// The user chose a status, on any of their devices.
    package func handle(ownStatus event: StoreEvent) {
        guard let id = event.subject else { return }
        let words = event.rest.split(separator: 0x20, maxSplits: 2).map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 3, let status = ChosenStatus(rawValue: words[0]) else { return }
        for react in shard.registry.statusChosen { react(status, id) }
        guard let user = users[id] else { return }
        apply(
            .init(
                status: status, text: words[2] == "-" ? nil : words[2], clearAt: Timestamp(words[1]),
                version: event.version),
            of: user)
    }

    /// A session of a user here was replaced by a younger one of the same device.
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

    /// All earlier tokens of a user were revoked: their clients have to connect again with new ones.
    package func handle(revoked event: StoreEvent) {
        guard let user = event.subject.flatMap({ users[$0] }) else { return }
        user.revokedAt = max(user.revokedAt, event.at)
        // A session that existed before the revocation has an older token, even if a server whose clock was ahead dated
        // it later.
        for session in user.sessions where min(session.issuedAt, session.letInAt ?? .max) < event.at {
            revoke(session)
        }
    }

    /// Devices of a user were signed out; the event has their grants.
    package func handle(signedOut event: StoreEvent) {
        guard let user = event.subject.flatMap({ users[$0] }) else { return }
        let grants = Set(event.words)
        for session in user.sessions {
            guard let grant = session.grant, grants.contains(grant.string) else { continue }
            let isAnswered = session.connection?.isGreeted ?? true
            revoke(session)
            // The session does not linger, unless its device has a new grant.
            if isAnswered, event.words.first != "-" {
                close(session, .unauthorized, reason: "\(AuthenticationFailure.revoked)")
            }
        }
    }

    /// A session's token was revoked. If it lingers, it continues to do so: no client can resume it with that token.
    func revoke(_ session: Session) {
        guard let connection = session.connection else { return }
        if connection.isGreeted {
            shard.close(connection, .unauthorized, reason: "\(AuthenticationFailure.revoked)")
        } else {
            // The reply to the pending `connect` uses this.
            session.isRevoked = true
        }
    }

    /// `presenced doctor` asks about sessions that Redis lists for this shard. The shard denies those that it does not
    /// have. It does not mention those that it has, and does not reply at all while it may be wrong.
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

    /// Whether Redis has yet to be informed of some sessions or ends.
    var hasUnasserted: Bool {
        !ended.isEmpty || byNumber.values.contains { $0.assertedRound < shard.link.round }
    }

    /// Counts the assertions of the previous round as valid in `round`, except for users of some partitions.
    func trustAll(except partitions: Set<Int>, round: Int) {
        for session in byNumber.values where session.assertedRound == round - 1 {
            guard !partitions.contains(shard.partitions.index(of: session.user.id)) else { continue }
            session.assertedRound = round
        }
    }

    /// Asserts every session again, and reports the sessions that ended meanwhile. Stops at the first session that
    /// Redis cannot store now; `done` gets the reason.
    func assertAll(done: @escaping (RedisFailure?) -> Void) {
        let round = shard.link.round
        let untold = byNumber.values.filter { $0.assertedRound < round }.sorted { $0.number < $1.number }
        let ended = ended.values.sorted { $0.number < $1.number }
        var failure: RedisFailure?
        BoundedConcurrency(untold, window: 256) { [self] session, next in
            guard !session.hasEnded, failure == nil else { return next() }
            store(session) { [self] outcome in
                if case .unreachable(let reason) = outcome { failure = reason ?? .disconnected(sent: true) }
                complete(session, outcome)
                next()
            }
        } done: { [self] in
            BoundedConcurrency(ended, window: 256) { [self] session, next in
                storeEnd(session, done: next)
            } done: {
                done(failure)
            }
        }
    }
}
