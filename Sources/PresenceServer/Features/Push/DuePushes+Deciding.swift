import PresenceCore
import PresenceProtocol
import Redis

/// The decision whether a user is truly away, and what is pushed then.
extension DuePushes {
    /// The push to make, if any; and ms for which a session of the user may still get it first. With neither, no push is
    /// needed.
    struct Verdict {
        enum Subject {
            case message(StoredMessage, ConversationRecord)
            case notification(StoredNotification)
        }
        var subject: Subject?
        var wait: Milliseconds = 0

        var seq: Int64 {
            switch subject {
            case .message(let message, _): message.seq
            case .notification(let notification): notification.seq
            case nil: 0
            }
        }
        /// Only backends set it. Without an urgency of its own, a notification is as urgent as a message.
        var isUrgent: Bool { if case .notification(let one) = subject { one.urgency == .high } else { false } }
    }

    /// The contents of the push and its number, if there is a push; the verdict's `wait`; and whether the push is held, or not wanted.
    typealias Decision = (contents: [UInt8], seq: Int64, wait: Milliseconds, hold: Hold)

    enum Hold {
        case no, until(Timestamp)
        /// The user wants no pushes of such messages: only the list of notifications gets it.
        case never

        var argument: String {
            switch self {
            case .no: ""
            case .until(let time): String(time)
            case .never: "never"
            }
        }
    }

    /// - Parameter taken: When the lease of the note ends, by the partition's clock (ms since 1970).
    func decide(_ place: PushPlace, taken: Timestamp) async {
        do throws(RedisFailure) {
            // Before the conversation is read: a later deletion changes the record.
            guard let facts = try await facts(of: place) else { return await remove(place) }
            let verdict = try await verdict(of: place, facts, at: taken - Self.lease - Self.wait)
            let decision = try await decision(verdict, of: place, facts)
            if !decision.contents.isEmpty, case .no = decision.hold { told.value += 1 }
            try await settle(place, facts, decision, taken: taken)
        } catch {
            // Without an answer of Redis it is decided after the lease. A damaged note is removed: the next message is noted anew.
            guard error.isLasting else { return }
            shard.recordDamage("push", of: place.user)
            await remove(place)
        }
    }

    private func decision(
        _ verdict: Verdict, of place: PushPlace, _ facts: PushFacts
    ) async throws(RedisFailure) -> Decision {
        guard let subject = verdict.subject else { return ([], 0, verdict.wait, .no) }
        let contents = PushContents(shard: shard, user: place.user, settings: facts.settings)
        var hold = Hold.no
        if let time = await holdEnd(facts.settings, facts.isBusy, isUrgent: verdict.isUrgent, at: facts.now) {
            hold = .until(time)
        }
        switch subject {
        case .message(let message, let record):
            if !facts.settings.wants(record) { hold = .never }
            // The contents of a push that is held are not read, unless the message becomes a notification now.
            if !isNoticed, case .until = hold { return (Self.unread, verdict.seq, verdict.wait, hold) }
            return (try await contents.members(message, in: record), verdict.seq, verdict.wait, hold)
        case .notification(let notification):
            if case .until = hold { return (Self.unread, verdict.seq, verdict.wait, hold) }
            return (try await contents.members(notification, at: place), verdict.seq, verdict.wait, hold)
        }
    }

    private static let unread = Array("-".utf8)

    func verdict(of place: PushPlace, _ facts: PushFacts, at time: Timestamp) async throws(RedisFailure) -> Verdict {
        if place.notification != nil { return try await verdict(ofNotification: place, facts, at: time) }
        // The user has not read the last push: one is enough.
        guard let record = try await read(place.conversation), let member = record.member(place.user),
            wantsPushes(member), !isUnread(facts.told, by: member), facts.settings.wants(record) || isNoticed,
            let message = try await newestUnread(by: member, in: record, except: facts.blocked)
        else { return Verdict() }
        func pushed(_ wait: Milliseconds) -> Verdict { Verdict(subject: .message(message, record), wait: wait) }
        // A device that has a message shows nothing of its user: it may be an idle desktop, or a phone in a pocket.
        func isMissed(_ message: StoredMessage) -> Bool { !(facts.isActive && member.delivered >= message.seq) }
        // Another device may be in use, or its connection broken and not known to be.
        guard isMissed(message) else {
            return Verdict(wait: Self.rest(of: Self.wait + doubt, since: message.at, at: time))
        }
        let wait = Self.rest(of: Self.wait, since: message.at, at: time)
        guard wait > 0, facts.hasSession else { return pushed(wait) }
        // An earlier message may have had its time.
        let due = try await newestUnread(by: member, in: record, except: facts.blocked, sentBy: time - Self.wait)
        return due.map(isMissed) == true ? pushed(0) : Verdict(wait: wait)
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
                    "sessions": keys.sessions(user), "held": keys.held, "notifications": keys.notifications(user),
                ],
                [
                    "user": user, "conversation": place.conversation, "limit": taken - Self.wait,
                    "idle": shard.configuration[Accounts.idle], "seq": decision.seq, "contents": decision.contents,
                    "known": facts.record, "wait": decision.wait, "platforms": platforms.map { " \($0) " }.joined(),
                    "taken": taken, "hold": decision.hold.argument, "isNoticed": isNoticed,
                ]))
        schedule(place.user, after: reply[0].int)
        if case .until(let time) = decision.hold { schedule(place.user, after: time - facts.now) }
    }

    private func remove(_ place: PushPlace) async {
        let entry = "\(place.user) \(place.conversation)"
        _ = try? await shard.command(["ZREM", shard.partitions.keys(of: place.user).push, entry])
    }
}
