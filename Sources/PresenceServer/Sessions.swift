import PresenceProtocol
import Redis

/// The sessions of this shard and the users that they belong to: opened, changed and ended here, decided in Redis.
///
/// A session that is lost without a word goes on for `linger`; if its user is back by then, wherever, nobody sees
/// anything. While Redis is out of reach sessions come and go here, and Redis is told afterwards.
final class Sessions {
    unowned let shard: ShardLogic
    private(set) var users: [UserID: LocalUser] = [:]
    private(set) var byNumber: [UInt64: Session] = [:]
    private var lastNumber: UInt64 = 0
    /// Sessions that Redis knows and that ended while it was out of reach.
    var endedAway: [Session] = []
    /// Sessions whose linger ran out while Redis was out of reach.
    private var overdue: [UInt64] = []
    /// How far ahead the end of a chosen status is waited for.
    private static let longestLapse: Milliseconds = 60_000
    /// Until that end is looked at again when Redis cannot be asked, or sees it otherwise.
    private static let lapsePause: Milliseconds = 500

    init(_ shard: ShardLogic) { self.shard = shard }

    var count: Int { byNumber.count }
    var lingering: Int { byNumber.values.count { $0.connection == nil } }

    // MARK: Opening

    /// A `connect` that was let in. `answer` gets what the user chose, or `nil` when that is not known now.
    func open(
        _ connection: Connection, user id: UserID, issuedAt: Timestamp, connect: ClientMessage.Connect,
        answer: @escaping (Opening) -> Void
    ) {
        let user = users[id] ?? LocalUser(id: id, partitions: shard.partitions)
        users[id] = user
        lastNumber += 1
        let session = Session(
            number: lastNumber, id: shard.randomName(), user: user, device: connect.device,
            activity: connect.activity, connection: connection, issuedAt: issuedAt, now: shard.clock.now)
        session.wantedStatus = connect.status
        connection.session = session
        shard.watchers.setBackground(session.activity == .background, connection)
        user.sessions.append(session)
        byNumber[session.number] = session
        guard shard.link.isLive else { return answer(.unheard) }
        say(session) { [self] outcome in
            switch outcome {
            case .heard: answer(.opened(user.chosen))
            case .unreachable: answer(.unheard)
            case .refused(let message): answer(.refused(message))
            case .crowded:
                drop(session)
                answer(.crowded)
            case .revoked:
                drop(session)
                answer(.revoked)
            case .replaced: shard.close(connection, .replaced)
            case .disconnected: shard.close(connection, .disconnected)
            }
        }
    }

    enum Opening {
        case opened(LocalUser.Chosen?)
        /// Redis will be told later.
        case unheard
        case refused(String)
        /// The user has too many connections.
        case crowded
        /// The token is one that has been revoked.
        case revoked
    }

    enum Outcome {
        case heard
        case unreachable(RedisFailure?)
        case refused(String)
        case crowded
        case revoked
        case replaced
        case disconnected
    }

    /// Tells Redis of a session: a new one, or one that it may have forgotten.
    func say(_ session: Session, done: @escaping (Outcome) -> Void) {
        let user = session.user
        let status = session.wantedStatus
        var chosen = ["", "", "", ""]
        if let status {
            chosen = StatusArguments(status).words + [""]
        } else if session.assertedRound > 0 || user.sessions.contains(where: { $0.assertedRound > 0 }),
            let held = user.chosen, held.version > 0
        {
            let clearAfter = held.clearAt.map { String(max(1, $0 - redisNow(for: user))) } ?? ""
            chosen = [held.status.rawValue, held.text ?? "null", clearAfter, String(held.version)]
        }
        let round = shard.link.round
        // A session that Redis has forgotten was within the limit when it began.
        let most = session.wasHeard ? 0 : shard.configuration.limits.connectionsPerUser
        let policy = shard.policies[user.id]?.head.version ?? 0
        session.assertedRound = round
        shard.store.run(
            .open,
            keys: [
                user.keys.shards, user.keys.floor, user.userKey, user.sessionsKey,
                user.keys.users(ofShard: shard.link.incarnation),
            ],
            arguments: [
                user.keys.events, shard.link.incarnation, user.id.string, session.id, session.deviceField,
                session.kind, session.state, String(shard.clock.now - session.began),
            ] + chosen + [
                String(most), String(session.issuedAt),
                shard.store.hasOneClock ? String(session.began + (shard.clock.redisNow - shard.clock.now)) : "",
            ],
            lane: .commands
        ) { [self] result in
            switch result {
            case .failure(let failure):
                if session.assertedRound == round { session.assertedRound = 0 }
                if case .server(_, let message) = failure, !failure.isPassing { return done(.refused(message)) }
                done(.unreachable(failure))
            case .success(let value):
                let words = value.array ?? []
                switch words.first?.string {
                case "OK":
                    session.wasHeard = true
                    if status == session.wantedStatus { session.wantedStatus = nil }
                    shard.policies.take(
                        words.last.flatMap { PolicyHead.read($0) }, of: user.id, asOf: policy)
                    // Their user's other sessions here: the new one hears it as the answer to its `connect`.
                    learn(words, of: user, tell: status != nil)
                    // What others show to this user depends on it.
                    shard.policies.complete(user.id) { _ in done(.heard) }
                case "REPLACED": done(.replaced)
                case "CROWDED": done(.crowded)
                case "REVOKED": done(.revoked)
                case "DISCONNECTED": done(.disconnected)
                default:
                    session.assertedRound = 0
                    shard.link.noticeFencing(in: result)
                    done(.unreachable(nil))
                }
            }
        }
    }

    // MARK: Changes

    func change(_ session: Session, to activity: Activity) {
        let before = session.state
        session.activity = activity
        if let connection = session.connection { shard.watchers.setBackground(activity == .background, connection) }
        guard before != session.state else { return }
        guard shard.link.isLive else {
            // It may have been asserted already, as it was before: then it is asserted once more.
            if session.assertedRound == shard.link.round { session.assertedRound -= 1 }
            return
        }
        let user = session.user
        shard.store.run(
            .activity, keys: [user.keys.shards, user.keys.floor, user.userKey, user.sessionsKey],
            arguments: [user.keys.events, shard.link.incarnation, user.id.string, session.id, session.state],
            lane: .commands
        ) { [self] result in
            if shard.link.noticeFencing(in: result) { return }
            // Memory is full, say: it is said again with the next resynchronisation.
            if case .failure(.server(_, let message)) = result { shard.log("activity refused", ["reason": message]) }
        }
    }

    func choose(_ status: StatusChange, for user: LocalUser, done: @escaping (Result<RedisValue, RedisFailure>) -> Void)
    {
        shard.store.run(
            .status, keys: [user.keys.shards, user.keys.floor, user.userKey, user.sessionsKey],
            arguments: [user.keys.events, shard.link.incarnation, user.id.string] + StatusArguments(status).words,
            lane: .commands
        ) { [self] result in
            // First the answer, then what it means for all of the user's sessions here.
            done(result)
            if case .success(let value) = result, let words = value.array, words.first?.string == "OK" {
                learn(words, of: user, tell: true)
            }
        }
    }

    /// A chosen status may have run out by now.
    func lapse(_ id: UserID) {
        guard let user = users[id], shard.clock.now >= user.nextLook else { return }
        user.nextLook = .max
        guard let clearAt = user.chosen?.clearAt else { return }
        guard clearAt <= redisNow(for: user) else { return scheduleLapse(of: user) }
        // Out of reach, Redis is told afterwards: every session said again looks at it too, unless that was a moment ago.
        guard shard.link.isLive else {
            user.nextLook = shard.clock.now + Self.lapsePause
            return shard.deadlines.set(.lapse(id), at: user.nextLook)
        }
        shard.store.run(
            .lapse, keys: [user.keys.shards, user.keys.floor, user.userKey, user.sessionsKey],
            arguments: [user.keys.events, shard.link.incarnation, user.id.string], lane: .commands
        ) { [self] result in
            guard !shard.link.noticeFencing(in: result), case .success(let value) = result, let words = value.array
            else { return }
            learn(words, of: user, tell: true)
        }
    }

    /// By the clock that the user's record goes by.
    private func redisNow(for user: LocalUser) -> Timestamp {
        shard.store.hasOneClock ? shard.clock.redisNow : shard.clock.now + user.redisOffset
    }

    private func scheduleLapse(of user: LocalUser) {
        guard let clearAt = user.chosen?.clearAt else { return }
        // One past it: the script must find it over. What is far off is looked at again, so that entries of users who
        // have left do not pile up.
        let left = clearAt - redisNow(for: user) + 1
        // Over, and Redis has not ended it: its clock has jumped, and it is not asked without a pause.
        let look = shard.clock.now + min(left > 0 ? left : Self.lapsePause, Self.longestLapse)
        guard look < user.nextLook else { return }
        user.nextLook = look
        shard.deadlines.set(.lapse(user.id), at: look)
    }

    /// Takes in a script's answer `OK, now, chosen, text, clearAt, version, revokedAt, visibility`.
    private func learn(_ words: [RedisValue], of user: LocalUser, tell: Bool) {
        guard words.count >= 7, let time = words[1].int else { return }
        user.revokedAt = max(user.revokedAt, words[6].int ?? 0)
        user.redisOffset = time - shard.clock.now
        if shard.store.hasOneClock { shard.clock.learn(redisTime: time) }
        let text = words[3].string.flatMap { $0.isEmpty ? nil : $0 }
        take(
            .init(
                status: words[2].string.flatMap(ChosenStatus.init) ?? .auto, text: text, clearAt: words[4].int,
                version: words[5].int ?? 0),
            of: user, tell: tell)
    }

    func take(_ chosen: LocalUser.Chosen, of user: LocalUser, tell: Bool) {
        guard chosen.version >= user.chosen?.version ?? 0 else { return }
        let differs = user.chosen != chosen
        user.chosen = chosen
        if differs {
            if chosen.clearAt != nil { scheduleLapse(of: user) }
            if chosen.status == .invisible { user.sessions.forEach { shard.typing.stop($0) } }
        }
        // Redis does not tell what its answer says already; if it does all the same, once is enough.
        guard tell, chosen.version > user.toldVersion else { return }
        user.toldVersion = chosen.version
        shard.tellOwnStatus(user)
    }

    // MARK: Ending

    /// A connection ended. `isFinal`: its user meant it, or the session has gone already.
    func lost(_ session: Session, lastHeard: Milliseconds, isFinal: Bool) {
        guard !session.hasEnded else { return }
        session.connection = nil
        session.lastHeard = lastHeard
        guard !isFinal else { return end(session) }
        let settings = shard.configuration
        // A silent loss was noticed late already; the promised bound counts from the last thing received.
        let bound = lastHeard + settings.heartbeat.interval + settings.heartbeat.timeout + settings.linger
        shard.deadlines.set(.linger(session: session.number), at: min(shard.clock.now + settings.linger, bound))
    }

    /// Redis did not take it, so it has never been: nothing is to be told of its end.
    func drop(_ session: Session) {
        session.hasEnded = true
        session.connection?.session = nil
        forget(session)
    }

    func lingerOver(_ number: UInt64) {
        guard let session = byNumber[number], session.connection == nil else { return }
        // Out of sight of the truth nobody here can know whether its user is back elsewhere; and if they are, the shard
        // that has them may tell Redis after we do. (Of whom Redis never heard, nobody waits.)
        guard shard.link.isLive || session.assertedRound == 0 else { return overdue.append(number) }
        end(session)
    }

    /// The truth is in sight again: whose linger ran out meanwhile has it once more, for the other shards to say who
    /// came back to them.
    func lingerAgain() {
        for number in overdue where byNumber[number] != nil {
            shard.deadlines.set(.linger(session: number), at: shard.clock.now + shard.configuration.linger)
        }
        overdue = []
    }

    func end(_ session: Session) {
        guard !session.hasEnded else { return }
        session.hasEnded = true
        if let connection = session.connection { session.lastHeard = connection.lastHeard }
        shard.typing.stop(session)
        forget(session)
        if shard.link.isLive { sayEnd(session) {} } else if session.assertedRound > 0 { endedAway.append(session) }
    }

    private func forget(_ session: Session) {
        byNumber[session.number] = nil
        session.user.sessions.removeAll { $0 === session }
        guard session.user.sessions.isEmpty else { return }
        users[session.user.id] = nil
        shard.policies.forgetIfUnused(session.user.id)
    }

    func sayEnd(_ session: Session, done: @escaping () -> Void) {
        let user = session.user
        shard.store.run(
            .end,
            keys: [
                user.keys.shards, user.keys.floor, user.userKey, user.sessionsKey,
                user.keys.users(ofShard: shard.link.incarnation),
            ],
            arguments: [
                user.keys.events, shard.link.incarnation, user.id.string, session.id,
                String(max(0, shard.clock.now - session.lastHeard)),
            ],
            lane: .commands
        ) { [self] result in
            if case .failure(let failure) = result {
                if case .server = failure, !failure.isPassing {
                    // What no script can do now it cannot do later: `presenced doctor` finds what is wrong there.
                    shard.log("session not ended", ["reason": "\(failure)"], level: .error)
                } else {
                    endedAway.append(session)
                }
            }
            if shard.link.noticeFencing(in: result) { endedAway.append(session) }
            done()
        }
    }
}
