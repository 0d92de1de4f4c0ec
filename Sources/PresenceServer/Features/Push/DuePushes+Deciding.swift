import PresenceCore
import PresenceProtocol
import Redis

/// The decision whether a user is truly away, and what is pushed then.
extension DuePushes {
    /// The message that is pushed, if any, and ms for which a session of the user may still get a message first. With neither, no push
    /// is needed.
    private typealias Decision = (message: StoredMessage?, wait: Milliseconds)

    /// - Parameter taken: When the lease of the note ends, by the partition's clock (ms since 1970).
    func decide(_ place: PushPlace, taken: Timestamp) async {
        do throws(RedisFailure) {
            // Before the conversation is read: a later deletion changes the record.
            guard let facts = try await facts(of: place) else { return await remove(place) }
            let record = try await read(place.conversation)
            let (message, wait) = try await decision(of: place, facts, record, at: taken - Self.lease - Self.wait)
            var contents: [UInt8] = []
            if let message, let record {
                contents = try await PushContents(shard: shard, user: place.user).members(message, in: record)
                told.value += 1
            }
            try await settle(place, facts, wait, message?.seq ?? 0, contents, taken: taken)
        } catch {
            // Without an answer of Redis it is decided after the lease. A damaged note is removed: the next message is noted anew.
            guard error.isLasting else { return }
            shard.recordDamage("push", of: place.user)
            await remove(place)
        }
    }

    private func decision(
        of place: PushPlace, _ facts: PushFacts, _ record: ConversationRecord?, at time: Timestamp
    ) async throws(RedisFailure) -> Decision {
        // The user has not read the last push: one is enough.
        guard let record, let member = record.member(place.user), wantsPushes(member),
            !isUnread(facts.told, by: member),
            let message = try await newestUnread(by: member, in: record, except: facts.blocked)
        else { return (nil, 0) }
        // The rest of a time since the message. A message from the future was sent before the clock was set back.
        func rest(of wait: Milliseconds) -> Milliseconds {
            message.at > time + 60_000 ? 0 : max(0, message.at + wait - time)
        }
        // A device that has a message shows nothing of its user: it may be an idle desktop, or a phone in a pocket.
        func isMissed(_ message: StoredMessage) -> Bool { !(facts.isActive && member.delivered >= message.seq) }
        // Another device may be in use, or its connection broken and not known to be.
        guard isMissed(message) else { return (nil, rest(of: Self.wait + doubt)) }
        let wait = rest(of: Self.wait)
        guard wait > 0, facts.hasSession else { return (message, wait) }
        // An earlier message may have had its time.
        let due = try await newestUnread(by: member, in: record, except: facts.blocked, sentBy: time - Self.wait)
        return due.map(isMissed) == true ? (message, 0) : (nil, wait)
    }

    private func settle(
        _ place: PushPlace, _ facts: PushFacts, _ wait: Milliseconds, _ seq: Int64, _ contents: [UInt8],
        taken: Timestamp
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
                    "idle": shard.configuration[Accounts.idle], "seq": seq, "contents": contents,
                    "known": facts.record, "wait": wait, "platforms": platforms.map { " \($0) " }.joined(),
                    "taken": taken,
                ]))
        schedule(place.user, after: reply[0].int)
    }

    private func remove(_ place: PushPlace) async {
        let entry = "\(place.user) \(place.conversation)"
        _ = try? await shard.command(["ZREM", shard.partitions.keys(of: place.user).push, entry])
    }
}
