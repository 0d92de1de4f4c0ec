import PresenceCore
import PresenceProtocol
import Redis

/// Compares what is shown of users with their sessions, and the sessions with the leases.
extension Doctor {
    /// One step of the first scan, over users of one server: a pipeline, not a transaction.
    func checkUsers(_ users: [UserID], of redis: DoctorRedis, _ look: inout Look) throws(RedisFailure) {
        var answers = try redis.runAll(users.flatMap { readings(of: $0) } + [["TIME"]])
        let now = DoctorRedis.milliseconds(try answers.removeLast().get())
        var listings: [(user: UserID, session: HeldSession)] = []
        for (index, user) in users.enumerated() {
            guard let held = recordFaults(user, answers[2 * index], answers[2 * index + 1], look.leases, now, &look)
            else { continue }
            listings += held.sessions.map { (user, $0) }
            if held.hasRecord { try checkRecords(of: user, &look) }
            if held.hasAccount { try checkAccount(of: user, &look) }
            if counts.sessionHolders.remove(user) != nil {
                counts.sessions += held.sessions.count
                for session in held.sessions { counts.sessionsOf[session.incarnation, default: 0] += 1 }
            }
        }
        if let inquiry {
            let sessions = Dictionary(grouping: listings, by: \.user)
            let questions = sessions.flatMap { inquiry.questions($0.key, $0.value.map(\.session), look.leases) }
            _ = try redis.runAll(questions)
        }
        let listed = try redis.runAll(
            listings.map { user, session in
                ["SISMEMBER", partitions.keys(of: user).users(ofShard: session.incarnation), user.string]
            })
        for ((user, session), answer) in zip(listings, listed) {
            checkListed(of: session, of: user, isListed: answer, &look)
        }
    }

    /// The second check of a user reads all their keys atomically, and the leases before and after, since the leases may be on
    /// another server. A session whose incarnation is in neither read of the leases is certainly an error: no incarnation can
    /// start, open a session and be reaped between the two.
    func checkUser(_ user: UserID, _ look: inout Look) throws(RedisFailure) {
        let keys = partitions.keys(of: user)
        let redis = store[keys.user(user)]
        let before = try readLeases()
        let answers = try redis.runAtOnce(readings(of: user) + [["TIME"]])
        let leases = try readLeases().with(before)
        let now = DoctorRedis.milliseconds(answers[2])
        guard
            let held = recordFaults(
                user, Result(checking: answers[0]), Result(checking: answers[1]), leases, now, &look)
        else { return }
        for session in held.sessions {
            let again = try redis.runAtOnce([
                ["HEXISTS", keys.sessions(user), session.name],
                ["SISMEMBER", keys.users(ofShard: session.incarnation), user.string],
            ])
            guard again[0].int == 1 else { continue }
            checkListed(of: session, of: user, isListed: .success(again[1]), &look)
        }
    }

    func readings(of user: UserID) -> [[String]] {
        let keys = partitions.keys(of: user)
        return [["HMGET", keys.user(user)] + HeldUser.fields, ["HGETALL", keys.sessions(user)]]
    }

    /// Notes all errors of a user; returns `nil` if their keys have the wrong type.
    private func recordFaults(
        _ user: UserID, _ values: Result<RedisValue, RedisFailure>, _ sessions: Result<RedisValue, RedisFailure>,
        _ leases: HeldLeases, _ now: Timestamp, _ look: inout Look
    ) -> HeldUser? {
        guard case .success(let values) = values else {
            look.record(.wrongType, .field(user, "(the key)"))
            return nil
        }
        guard case .success(let sessions) = sessions else {
            look.record(.unusableKey, .session(user, "(the key)"))
            return nil
        }
        let held = HeldUser(user, values: values.array ?? [], sessions: sessions.array ?? [])
        if held.isVisibilityMalformed { look.record(.malformedVisibility, .field(user, "visibility")) }
        for field in held.malformedFields { look.record(.malformedValue, .field(user, field)) }
        for name in held.malformedSessions { look.record(.malformedSession, .session(user, name)) }
        for session in held.sessions where !leases.hold(session.incarnation) {
            look.record(.ghost, .session(user, session.name))
        }
        if held.malformedFields.isEmpty, held.malformedSessions.isEmpty, !held.isShownRightly {
            look.record(.wrongPresence, .user(user))
        }
        checkTimes(of: held, leases, now, &look)
        return held
    }

    /// - Parameter now: The time of the Redis server with this user.
    private func checkTimes(of held: HeldUser, _ leases: HeldLeases, _ now: Timestamp, _ look: inout Look) {
        // A status is shown only while its user is online, so servers end it only then.
        if let clearAt = held.number("clearAt"), clearAt + Self.lapsing < now,
            held.sessions.contains(where: { leases.isLive($0.incarnation) })
        {
            look.record(.overdueStatus, .user(held.id))
        }
        for field in ["presenceVersion", "profileVersion", "chosenVersion"] {
            if let version = held.number(field), version > now + Self.tolerance {
                look.record(.versionAhead, .field(held.id, field))
            }
        }
        for field in ["since", "lastSeen", "barredAt"] {
            if let time = held.number(field), time > now + Self.tolerance {
                look.record(.timeAhead, .field(held.id, field))
            }
        }
        for session in held.sessions where session.began > now + Self.tolerance {
            look.record(.timeAhead, .session(held.id, session.name))
        }
    }

    /// Checks that a session is on the list of its incarnation; otherwise no reaper would find it when the incarnation dies.
    private func checkListed(
        of session: HeldSession, of user: UserID, isListed: Result<RedisValue, RedisFailure>, _ look: inout Look
    ) {
        guard look.leases.hold(session.incarnation), case .success(let answer) = isListed, answer.int == 0 else {
            return
        }
        look.record(.unlistedSession, .session(user, session.name))
    }
}

extension Result<RedisValue, RedisFailure> {
    /// Converts an answer from within a script, where an error is a value.
    init(checking value: RedisValue) {
        if case .error(let line) = value {
            self = .failure(.server(code: "", message: line))
        } else {
            self = .success(value)
        }
    }
}
