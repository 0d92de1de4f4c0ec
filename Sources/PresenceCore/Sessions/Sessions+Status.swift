import PresenceProtocol
import Redis

/// What the users of this shard chose: set, read from what Redis answers, and ended when its time is over.
extension Sessions {
    /// How far ahead the end of a chosen status is waited for.
    private static let longestLapse: Milliseconds = 60_000
    /// Until that end is looked at again when Redis cannot be asked, refuses, or sees it otherwise.
    private static let lapsePause: Milliseconds = 500

    package func choose(
        _ status: StatusChange, by session: Session, done: @escaping (Result<RedisValue, RedisFailure>) -> Void
    ) {
        let user = session.user
        let words = StatusArguments(status)
        let call = ScriptCall(
            .status, in: user.keys,
            [
                "user": user.userKey, "sessions": user.sessionsKey,
                "past": shard.past.key(of: user.id, in: user.keys, or: user.userKey),
            ],
            [
                "id": user.id, "chosen": words.chosen, "text": words.text, "clearAfter": words.clearAfter,
                "bounds": shard.past.bounds,
            ], by: Writer(session), readsUser: true)
        shard.run(call) { [self] result in
            // First the answer, then what it means for all of the user's sessions here.
            done(result)
            if case .success(let value) = result, let words = value.array, words.first?.string == "OK" {
                learn(words, of: user)
            }
        }
    }

    /// A chosen status may have run out by now.
    package func lapse(_ id: UserID) {
        guard let user = users[id], shard.clock.now >= user.nextLook else { return }
        user.nextLook = .max
        guard let clearAt = user.chosen?.clearAt else { return }
        guard clearAt <= redisNow(for: user) else { return scheduleLapse(of: user) }
        // Out of reach, Redis is told afterwards: every session said again looks at it too, unless that was a moment ago.
        guard shard.link.isLive else { return lapseLater(user) }
        let call = ScriptCall(
            .lapse, in: user.keys,
            [
                "user": user.userKey, "sessions": user.sessionsKey,
                "past": shard.past.key(of: user.id, in: user.keys, or: user.userKey),
            ], ["id": user.id, "bounds": shard.past.bounds])
        shard.run(call) { [self] result in
            guard !shard.link.noticeFencing(in: result), case .success(let value) = result, let words = value.array
            else { return lapseLater(user) }
            learn(words, of: user)
        }
    }

    /// Redis could not be asked, or refused: it is asked again, as long as the user has sessions here.
    private func lapseLater(_ user: LocalUser) {
        user.nextLook = shard.clock.now + Self.lapsePause
        shard.deadlines.set(.lapse(user.id), at: user.nextLook)
    }

    /// By the clock that the user's record goes by.
    package func redisNow(for user: LocalUser) -> Timestamp {
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

    /// Takes in a script's answer `OK, "now chosen clearAt version revokedAt text", visibility` (`ownStatus` in lib.lua).
    ///
    /// - Returns: The version of the chosen status that Redis has; `nil` if the answer does not say.
    @discardableResult
    func learn(_ words: [RedisValue], of user: LocalUser) -> Timestamp? {
        guard words.count > 1, let told = OwnStatusRead(words[1]) else { return nil }
        user.revokedAt = max(user.revokedAt, told.revokedAt)
        user.isRevocationKnown = true
        user.redisOffset = told.time - shard.clock.now
        if shard.store.hasOneClock { shard.clock.learn(redisTime: told.time) }
        take(told.chosen, of: user)
        // The clock may be elsewhere than was thought here, and the status as it was.
        scheduleLapse(of: user)
        return told.chosen.version
    }

    package func take(_ chosen: LocalUser.Chosen, of user: LocalUser) {
        guard chosen.version >= user.chosen?.version ?? 0 else { return }
        let differs = user.chosen != chosen
        user.chosen = chosen
        if differs {
            if chosen.clearAt != nil { scheduleLapse(of: user) }
            for feature in shard.features { feature.statusChosen(chosen.status, by: user.id) }
        }
        for feature in shard.features { feature.statusKnown(of: user) }
    }
}

/// What a script says of a user whose session is here, read from one string.
private struct OwnStatusRead {
    let time: Timestamp
    let chosen: LocalUser.Chosen
    let revokedAt: Timestamp

    init?(_ value: RedisValue) {
        guard let line = value.bytes else { return nil }
        var words = Pieces(line[...], separator: 0x20)
        guard let time = words.number() else { return nil }
        let (status, clearAt, version, revokedAt) = (words.text(), words.number(), words.number(), words.number())
        guard let text = words.rest else { return nil }
        self.time = time
        self.revokedAt = revokedAt ?? 0
        chosen = LocalUser.Chosen(
            status: status.flatMap(ChosenStatus.init) ?? .auto,
            text: text.isEmpty ? nil : String(validating: text, as: UTF8.self), clearAt: clearAt, version: version ?? 0)
    }
}
