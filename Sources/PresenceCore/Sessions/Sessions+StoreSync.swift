import PresenceProtocol
import Redis
import Tokens

/// Reports this shard's sessions to Redis: that they exist, are active or idle, and have ended.
///
/// Each session has its own state (`state`, `hasEnded`) and what Redis has acknowledged (`assertedRound`,
/// `storedState`). Where the two differ, the session is sent to Redis. If Redis rejects it for a moment (a full disk,
/// too few replicas), it is sent again after a pause that doubles, until Redis acknowledges. After a break the
/// resynchronisation sends everything.
extension Sessions {
    private static let shortestPause: Milliseconds = 100
    /// For a temporary rejection. The promised bounds count from when Redis accepts writes again, so the pause is
    /// short.
    private static let longestPause: Milliseconds = 1_000
    /// For a record that no script can process until it is repaired.
    private static let longestPauseForDamage: Milliseconds = 60_000

    /// A time of issue that is never before a revocation.
    private static let noToken: Timestamp = 9_007_199_254_740_991

    /// The number of sessions whose current state Redis does not have.
    var untold: Int {
        ended.count
            + byNumber.values.count { $0.assertedRound < shard.link.round || $0.storedState != $0.state }
    }

    // MARK: Reporting sessions

    /// Reports a session to Redis: a new session, or one that Redis may have lost.
    func store(_ session: Session, done: @escaping (Outcome) -> Void) {
        // In a local variable: the property is unowned, and each access counts references.
        let shard = shard
        let user = session.user
        let chosen = chosenStatus(toReport: session)
        // A session that Redis lost was within the limit when it began.
        let most = session.isAdmitted ? 0 : shard.configuration.limits.connectionsPerUser
        // An admitted session is kept even when memory is full.
        let script: Script = session.isAdmitted ? .assert : .open
        let report = SessionReport(
            session, round: shard.link.round, policy: shard.policies[user.id]?.head.version ?? 0,
            hasStatus: chosen.status != "")
        // A lingering session needs no token: its client resumes it with the client's own token.
        let isThere = session.connection != nil
        let userKey = user.userKey
        let call = ScriptCall(
            script, in: user.keys,
            [
                "user": userKey, "sessions": user.sessionsKey,
                "shardUsers": user.keys.users(ofShard: shard.link.incarnation), "grants": user.keys.grants(user.id),
                "past": shard.past.key(of: user.id, in: user.keys, or: userKey),
            ],
            [
                "id": user.id, "sessionID": session.id, "device": session.deviceField, "kind": session.kind,
                "state": report.state, "age": shard.clock.now - session.began, "chosen": chosen.status,
                "text": chosen.text, "clearAfter": chosen.clearAfter, "chosenVersion": chosen.version, "most": most,
                "issued": isThere ? session.issuedAt : Self.noToken,
                "known": shard.store.hasOneClock
                    ? session.began + (shard.clock.redisNow - shard.clock.now) : nil,
                "grant": isThere ? session.grant : nil, "bounds": shard.past.bounds,
            ])
        shard.run(call) { [self] result in
            switch result {
            case .failure(let failure): failed(report, failure, done)
            case .success(let value): received(report, value, done)
            }
        }
    }

    /// As arguments of `open.lua`.
    private struct ChosenWords {
        var status = ""
        var text = ""
        var clearAfter = ""
        var version = ""
    }

    /// The status that the session's client asked for, or the known one, in case Redis has lost it.
    private func chosenStatus(toReport session: Session) -> ChosenWords {
        let user = session.user
        if let status = session.wantedStatus {
            let words = StatusArguments(status)
            return ChosenWords(status: words.chosen, text: words.text, clearAfter: words.clearAfter)
        }
        guard session.isAdmitted || user.sessions.contains(where: \.isAdmitted), let held = user.chosen,
            held.version > 0
        else { return ChosenWords() }
        let clearAfter = held.clearAt.map { String(max(1, $0 - redisNow(for: user))) } ?? ""
        return ChosenWords(
            status: held.status.rawValue, text: held.text ?? "null", clearAfter: clearAfter,
            version: String(held.version))
    }

    private func failed(_ report: SessionReport, _ failure: RedisFailure, _ done: (Outcome) -> Void) {
        let session = report.session
        if session.assertedRound == report.round { session.assertedRound = 0 }
        if !failure.mayHaveRun || failure.code == "OOM" { session.mayBeStored = report.wasStored }
        if case .server(_, let message) = failure, !failure.isTransient || !session.isAdmitted {
            return done(.refused(message))
        }
        if case .overloaded = failure, !session.isAdmitted { return done(.refused("\(failure)")) }
        storeLater(session, failure)
        done(.unreachable(failure))
    }

    private func received(_ report: SessionReport, _ value: RedisValue, _ done: @escaping (Outcome) -> Void) {
        let session = report.session
        let words = value.array ?? []
        let word = words.first?.string
        if word == "OK" { return accepted(report, words, done) }
        session.mayBeStored = report.wasStored
        switch word {
        case "REPLACED": done(.replaced)
        case "CROWDED": done(.crowded)
        case "REVOKED": done(.revoked)
        case "DISCONNECTED": done(.disconnected)
        case "BANNED" where words.count > 2:
            done(Ban(words[1].string, words[2].string).map { .banned($0) } ?? .disconnected)
        default:
            session.assertedRound = 0
            shard.link.noticeFencing(in: .success(value))
            done(.unreachable(nil))
        }
    }

    private func accepted(_ report: SessionReport, _ words: [RedisValue], _ done: @escaping (Outcome) -> Void) {
        let (session, user) = (report.session, report.session.user)
        let isNew = !session.isAdmitted
        session.isAdmitted = true
        if report.number == session.reports { session.storedState = report.state }
        session.failures = 0
        if report.status == session.wantedStatus { session.wantedStatus = nil }
        let policy = words.count > 3 ? PolicyHead.read(words[2], findable: words[3]) : nil
        shard.policies.apply(policy, of: user.id, asOf: report.policy)
        endOlder(than: session)
        let stored = learn(words, of: user)
        // The reply has just set `redisOffset`.
        if isNew, stored != nil { session.letInAt = shard.clock.now + user.redisOffset }
        // Redis has lost the chosen status, and this report could not restore it, because the session was not admitted
        // yet.
        let isForgotten = !report.hasStatus && stored.map { user.chosen?.version ?? 0 > $0 } ?? false
        // The user's own policy decides what others show to this user.
        shard.policies.complete(user.id, for: user.id) { [self] _ in
            done(.stored)
            if isForgotten, !session.hasEnded { assertAgain(session) }
        }
    }

    /// A device has one session. Redis has accepted a younger one, and the event for the older ones may be lost.
    private func endOlder(than session: Session) {
        guard let device = session.device?.id else { return }
        for older in session.user.sessions where older.number < session.number && older.device?.id == device {
            close(older, .replaced)
        }
    }

    // MARK: Active or idle

    /// The client reports whether its user is active. `done` gets whether Redis has stored the state; if not, the state
    /// is sent again until Redis has it.
    package func change(_ session: Session, to activity: Activity, done: @escaping (_ isStored: Bool) -> Void) {
        session.activity = activity
        if let connection = session.connection {
            shard.watchers.set(.background, activity == .background, on: connection)
        }
        for react in shard.registry.activityChanged { react(session) }
        guard session.storedState != session.state else { return done(true) }
        guard shard.link.isLive else {
            // Redis may have got it with its former state, so it is asserted once more.
            if session.assertedRound == shard.link.round { session.assertedRound -= 1 }
            return done(false)
        }
        storeState(session, done: done)
    }

    private func storeState(_ session: Session, done: @escaping (_ isStored: Bool) -> Void = { _ in }) {
        // Sent once there is room, with the state that the session then has.
        guard !shard.isStoreFull() else {
            storeLater(session, .overloaded)
            return done(false)
        }
        let user = session.user
        let state = session.state
        session.storedState = nil
        session.reports += 1
        let report = session.reports
        let userKey = user.userKey
        let call = ScriptCall(
            .activity, in: user.keys,
            [
                "user": userKey, "sessions": user.sessionsKey,
                "past": shard.past.key(of: user.id, in: user.keys, or: userKey),
            ], ["id": user.id, "sessionID": session.id, "state": state, "bounds": shard.past.bounds])
        shard.run(call) { [self] result in
            var isStored = false
            switch result {
            case .failure(let failure): storeLater(session, failure)
            case .success(let value):
                switch value.array?.first?.string {
                case "OK":
                    isStored = true
                    if report == session.reports { session.storedState = state }
                    session.failures = 0
                case "GONE": isMissing(session)
                default: shard.link.noticeFencing(in: result)
                }
            }
            done(isStored)
        }
    }

    // MARK: Reporting ends

    func storeEnd(_ session: Session, done: @escaping () -> Void) {
        let user = session.user
        let call = ScriptCall.end(
            session.id, of: user.id, in: user.keys, by: shard.link.incarnation,
            silence: max(0, shard.clock.now - session.lastHeard), shard.past)
        shard.run(call) { [self] result in
            switch result {
            case .failure(let failure): storeLater(session, failure)
            case .success: if !shard.link.noticeFencing(in: result) { ended[session.number] = nil }
            }
            done()
        }
    }

    // MARK: Retries

    /// Redis rejected a session. (A broken connection is followed by a resynchronisation, which sends everything.)
    private func storeLater(_ session: Session, _ failure: RedisFailure) {
        guard failure.code != nil || failure == .overloaded else { return }
        if shard.clock.now - lastComplaint >= 1_000 {
            lastComplaint = shard.clock.now
            shard.log("session not stored yet", ["session": session.id, "reason": "\(failure)"], level: .warning)
        }
        guard !session.isToBeTold else { return }
        session.isToBeTold = true
        let longest = failure.isTransient ? Self.longestPause : Self.longestPauseForDamage
        let pause = min(longest, Self.shortestPause << min(session.failures, 20))
        session.failures += 1
        shard.metrics.storeRetries += 1
        shard.deadlines.set(.report(session: session.number), at: shard.clock.now + pause)
    }

    /// The pause is over.
    func storeAgain(_ number: UInt64) {
        guard let session = byNumber[number] ?? ended[number] else { return }
        session.isToBeTold = false
        guard shard.link.isLive else { return }
        if session.hasEnded {
            storeEnd(session) {}
        } else if session.assertedRound < shard.link.round {
            assertAgain(session)
        } else if session.storedState != session.state {
            storeState(session)
        }
    }

    /// A script did not find the session: Redis lost it, or it has ended and the event is still to come. Asserting it
    /// again shows which.
    func isMissing(_ session: Session) {
        if !session.hasEnded { assertAgain(session) }
    }

    private func assertAgain(_ session: Session) {
        // Not before the shard has joined: it then asserts all sessions anyway.
        guard shard.link.hasJoined else { return }
        store(session) { [self] outcome in complete(session, outcome) }
    }

    /// Acts on the outcome of an assertion.
    func complete(_ session: Session, _ outcome: Outcome) {
        guard !session.hasEnded else { return }
        let connection = session.connection
        switch outcome {
        case .stored:
            if let connection { shard.handleHeld(of: connection) }
        case .unreachable: break
        case .refused(let message):
            // A session that is not stored must not look as if it were.
            if !session.mayBeStored { drop(session) }
            if let connection { shard.refuse(connection, message) } else { end(session) }
        case .crowded:
            drop(session)
            if let connection { shard.crowdOut(connection) }
        case .revoked:
            guard let connection else { return end(session) }
            shard.close(connection, .unauthorized, reason: "\(AuthenticationFailure.revoked)")
        case .replaced: close(session, .replaced)
        case .disconnected: close(session, .disconnected)
        case .banned(let ban): expel(session, ban)
        }
    }
}
