import PresenceProtocol
import Redis

/// The chosen statuses of users of this shard: set, learnt from replies of Redis, and cleared when their time is over.
extension Sessions {
    /// The longest deadline for the end of a chosen status.
    private static let longestLapse: Milliseconds = 60_000
    /// Delay before the end is checked again if Redis is unreachable, rejects the call, or disagrees about the time.
    private static let lapsePause: Milliseconds = 500

    package func choose(
        _ status: StatusChange, by session: Session, done: @escaping (Result<RedisValue, RedisFailure>) -> Void
    ) {
        let user = session.user
        let words = StatusArguments(status)
        let userKey = user.userKey
        let call = ScriptCall(
            .status, in: user.keys,
            [
                "user": userKey, "sessions": user.sessionsKey,
                "past": shard.past.key(of: user.id, in: user.keys, or: userKey),
            ],
            [
                "id": user.id, "chosen": words.chosen, "text": words.text, "clearAfter": words.clearAfter,
                "bounds": shard.past.bounds,
            ], by: Writer(session), readsUser: true)
        shard.run(call) { [self] result in
            // The reply first, then the effects on all sessions of the user here.
            done(result)
            if case .success(let value) = result, let words = value.array, words.first?.string == "OK" {
                learn(words, of: user)
            }
        }
    }

    /// Checks whether a user's chosen status has expired.
    package func lapse(_ id: UserID) {
        guard let user = users[id], shard.clock.now >= user.nextLook else { return }
        user.nextLook = .max
        guard let clearAt = user.chosen?.clearAt else { return }
        guard clearAt <= redisNow(for: user) else { return scheduleLapse(of: user) }
        // If Redis is unreachable, it is asked later. Asserting a session clears an expired status too, but the
        // assertion may have run just before the status expired.
        guard shard.link.isLive else { return lapseLater(user) }
        let userKey = user.userKey
        let call = ScriptCall(
            .lapse, in: user.keys,
            [
                "user": userKey, "sessions": user.sessionsKey,
                "past": shard.past.key(of: user.id, in: user.keys, or: userKey),
            ], ["id": user.id, "bounds": shard.past.bounds])
        shard.run(call) { [self] result in
            guard !shard.link.noticeFencing(in: result), case .success(let value) = result, let words = value.array
            else { return lapseLater(user) }
            learn(words, of: user)
        }
    }

    /// Redis was unreachable or rejected the call: retries while the user has sessions here.
    private func lapseLater(_ user: LocalUser) {
        user.nextLook = shard.clock.now + Self.lapsePause
        shard.deadlines.set(.lapse(user.id), at: user.nextLook)
    }

    /// The time by the clock that applies to the user's record.
    package func redisNow(for user: LocalUser) -> Timestamp {
        shard.store.hasOneClock ? shard.clock.redisNow : shard.clock.now + user.redisOffset
    }

    private func scheduleLapse(of user: LocalUser) {
        guard let clearAt = user.chosen?.clearAt else { return }
        // One ms past the end, so that the script finds it expired. A distant end is checked in between too, so that
        // deadlines of users who left do not pile up.
        let left = clearAt - redisNow(for: user) + 1
        // Overdue, and Redis has not cleared it: its clock has jumped. Retry with a pause.
        let look = shard.clock.now + min(left > 0 ? left : Self.lapsePause, Self.longestLapse)
        guard look < user.nextLook else { return }
        user.nextLook = look
        shard.deadlines.set(.lapse(user.id), at: look)
    }

    /// Applies a script's reply `OK, "now chosen clearAt version revokedAt text", visibility, findable` (`ownStatus` in presence-lib.lua).
    ///
    /// - Returns: The version of the chosen status in Redis; `nil` if it is not in the reply.
    @discardableResult
    func learn(_ words: [RedisValue], of user: LocalUser) -> Timestamp? {
        guard words.count > 1, let read = OwnStatusRead(words[1]) else { return nil }
        user.revokedAt = max(user.revokedAt, read.revokedAt)
        user.isRevocationKnown = true
        user.redisOffset = read.time - shard.clock.now
        if shard.store.hasOneClock { shard.clock.learn(redisTime: read.time) }
        apply(read.chosen, of: user)
        // The end is scheduled anew even if the status has not changed: the estimate of the clock may have.
        scheduleLapse(of: user)
        return read.chosen.version
    }

    package func apply(_ chosen: LocalUser.Chosen, of user: LocalUser) {
        guard chosen.version >= user.chosen?.version ?? 0 else { return }
        let differs = user.chosen != chosen
        user.chosen = chosen
        if differs {
            if chosen.clearAt != nil { scheduleLapse(of: user) }
            for react in shard.registry.statusChosen { react(chosen.status, user.id) }
        }
        for react in shard.registry.statusKnown { react(user) }
    }
}

/// A script's data about a user with a session here, parsed from one string.
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

/// A status change as arguments of the scripts.
package struct StatusArguments {
    let chosen: String
    let text: String
    let clearAfter: String

    package init(_ change: StatusChange) {
        text =
            switch change.text {
            case .keep: ""
            case .remove: "null"
            case .set(let text): JSONWriter.encoded(text)
            }
        chosen = change.status.rawValue
        clearAfter = change.clearAfter.scriptText
    }
}

extension JSONWriter {
    /// A string of JSON, in its quotes.
    package static func encoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        string(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
