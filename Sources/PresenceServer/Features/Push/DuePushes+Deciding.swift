import PresenceCore
import PresenceProtocol
import Redis

/// The decision whether a user is truly away, and what is pushed then.
extension DuePushes {
    /// The contents of the push and its message's number, if there is a push; and ms for which a session of the user may still get
    /// the message first. With neither, no push is needed.
    typealias Decision = (contents: [UInt8], seq: Int64, wait: Milliseconds)

    /// - Parameter taken: When the lease of the note ends, by the partition's clock (ms since 1970).
    func decide(_ place: PushPlace, taken: Timestamp) async {
        do throws(RedisFailure) {
            // Before the conversation is read: a later deletion changes the record.
            guard let facts = try await facts(of: place) else { return await remove(place) }
            let time = taken - Self.lease - Self.wait
            let decision =
                place.notification == nil
                ? try await decision(of: place, facts, at: time)
                : try await decision(ofNotification: place, facts, at: time)
            if !decision.contents.isEmpty { told.value += 1 }
            try await settle(place, facts, decision, taken: taken)
        } catch {
            // Without an answer of Redis it is decided after the lease. A damaged note is removed: the next message is noted anew.
            guard error.isLasting else { return }
            shard.recordDamage("push", of: place.user)
            await remove(place)
        }
    }

    private func decision(
        of place: PushPlace, _ facts: PushFacts, at time: Timestamp
    ) async throws(RedisFailure) -> Decision {
        let none: Decision = ([], 0, 0)
        // The user has not read the last push: one is enough.
        guard let record = try await read(place.conversation), let member = record.member(place.user),
            wantsPushes(member), !isUnread(facts.told, by: member),
            let message = try await newestUnread(by: member, in: record, except: facts.blocked)
        else { return none }
        func pushed(_ wait: Milliseconds) async throws(RedisFailure) -> Decision {
            let contents = PushContents(shard: shard, user: place.user)
            return (try await contents.members(message, in: record), message.seq, wait)
        }
        // A device that has a message shows nothing of its user: it may be an idle desktop, or a phone in a pocket.
        func isMissed(_ message: StoredMessage) -> Bool { !(facts.isActive && member.delivered >= message.seq) }
        // Another device may be in use, or its connection broken and not known to be.
        guard isMissed(message) else { return ([], 0, Self.rest(of: Self.wait + doubt, since: message.at, at: time)) }
        let wait = Self.rest(of: Self.wait, since: message.at, at: time)
        guard wait > 0, facts.hasSession else { return try await pushed(wait) }
        // An earlier message may have had its time.
        let due = try await newestUnread(by: member, in: record, except: facts.blocked, sentBy: time - Self.wait)
        return due.map(isMissed) == true ? try await pushed(0) : ([], 0, wait)
    }

    /// The rest of a time since a message. A message from the future was sent before the clock was set back.
    static func rest(of wait: Milliseconds, since start: Timestamp, at time: Timestamp) -> Milliseconds {
        start > time + 60_000 ? 0 : max(0, start + wait - time)
    }

    private func settle(
        _ place: PushPlace, _ facts: PushFacts, _ decision: Decision, taken: Timestamp
    ) async throws(RedisFailure) {
        let (user, keys) = (place.user, shard.partitions.keys(of: place.user))
        let reply = try await shard.reply(
            to: ScriptCall(
                .pushSettle, in: keys,
                [
                    "push": keys.push, "pushed": keys.pushed(user), "devices": keys.devices(user),
                    "grants": keys.grants(user), "user": keys.user(user), "inbox": keys.inbox(user),
                    "sessions": keys.sessions(user),
                ],
                [
                    "user": user, "conversation": place.conversation, "limit": taken - Self.wait,
                    "idle": shard.configuration[Accounts.idle], "seq": decision.seq, "contents": decision.contents,
                    "known": facts.record, "wait": decision.wait, "platforms": platforms.map { " \($0) " }.joined(),
                    "taken": taken,
                ]))
        schedule(place.user, after: reply[0].int)
    }

    private func remove(_ place: PushPlace) async {
        let entry = "\(place.user) \(place.conversation)"
        _ = try? await shard.command(["ZREM", shard.partitions.keys(of: place.user).push, entry])
    }
}
