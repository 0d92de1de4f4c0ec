import PresenceCore
import PresenceProtocol
import Redis

/// A conversation of a user for which a push may be due.
struct DueNote {
    let user: UserID
    let conversation: ConversationID
    /// The user's partition.
    let keys: PartitionKeys

    init?(_ text: String, _ keys: PartitionKeys) {
        let words = text.split(separator: " ")
        guard words.count == 2, let user = UserID(String(words[0])), let id = ConversationID(String(words[1]))
        else { return nil }
        (self.user, conversation, self.keys) = (user, id, keys)
    }
}

/// The decision whether a user is truly away, and what is pushed then.
extension DuePushes {
    /// A note as `push-lib.lua` writes it.
    private struct Noted {
        /// The message whose time it is.
        let first: Int64
        let newest: Int64
        /// The newest for which the decision was put off.
        let held: Int64
        /// As it was read: scripts compare how many messages have been deleted since.
        let text: String

        init(_ text: String?) {
            self.text = text ?? ""
            let numbers = self.text.split(separator: " ").compactMap { Int64($0) }
            (first, newest, held) = numbers.count >= 3 ? (numbers[0], numbers[1], numbers[2]) : (0, 0, 0)
        }
    }

    /// The facts of a decision, as they were read.
    private struct Situation {
        let note: DueNote
        let noted: Noted
        /// The user's last push of the conversation; empty without one.
        let told: String
        let record: ConversationRecord?
        let hasSession: Bool
        /// Whether one of the sessions is active.
        let isActive: Bool
        /// When the lease ends, by the partition's clock (ms since 1970).
        let limit: String

        var toldNumber: Int64? { told.split(separator: " ").first.flatMap { Int64($0) } }

        /// Whether a message has not reached the user. A device that has it shows nothing of its user: it may be an idle desktop, or a
        /// phone in a pocket.
        func isMissed(_ seq: Int64, by member: ConversationRecord.Member) -> Bool {
            max(member.read, member.own) < seq && !(isActive && member.delivered >= seq)
        }
    }

    private enum Decision {
        case push(StoredMessage, ConversationRecord)
        /// No push is needed.
        case nothing
        /// - Parameter held: The newest message for which it is put off.
        case later(StoredMessage, by: Milliseconds, held: Int64)
    }

    /// - Parameter limit: When the lease of the note ends (`push-take.lua`).
    func decide(_ note: DueNote, until limit: String) async {
        do throws(RedisFailure) {
            guard let situation = try await situation(of: note, until: limit) else { return await abandon(note) }
            switch try await decision(in: situation) {
            case .push(let message, let record):
                let contents = PushContents(shard: shard)
                let members = try await contents.members(message, in: record, for: note.user, note.keys)
                told.value += 1
                try await settle(situation, message.seq, before: members.before, after: members.after)
            case .nothing: try await settle(situation, 0)
            case .later(let message, let wait, let held): try await putOff(situation, to: message, by: wait, held: held)
            }
        } catch {
            // Without an answer of Redis it is decided after the lease. A damaged note is removed: the next message is noted anew.
            if error.isLasting { await abandon(note) }
        }
    }

    /// - Returns: `nil` if the last push is damaged: only text can be compared in `push-tell.lua`.
    private func situation(of note: DueNote, until limit: String) async throws(RedisFailure) -> Situation? {
        let id = note.conversation.string
        let words = try await shard.command(["HMGET", note.keys.pushed(note.user), " " + id, id]).array ?? []
        guard words.count == 2, let told = words[1].bytes == nil ? "" : words[1].string else { return nil }
        let record = try await read(note.conversation)
        let sessions = try await shard.command(["HVALS", note.keys.sessions(note.user)]).array ?? []
        return Situation(
            note: note, noted: Noted(words[0].string), told: told, record: record, hasSession: !sessions.isEmpty,
            isActive: sessions.contains { Self.isActive($0.string ?? "") }, limit: limit)
    }

    /// A session as Redis has it: `INCARNATION DEVICE KIND STATE BEGAN`.
    private static func isActive(_ session: String) -> Bool {
        let words = session.split(separator: " ")
        return words.count == 5 && words[3] == "a"
    }

    private func decision(in situation: Situation) async throws(RedisFailure) -> Decision {
        let noted = situation.noted
        guard let record = situation.record, let member = record.member(situation.note.user), wantsPushes(member)
        else { return .nothing }
        // The user has not read the last push: one is enough.
        if let told = situation.toldNumber, isUnread(told, by: member) { return .nothing }
        guard let message = try await newestUnread(by: member, in: record) else { return .nothing }
        guard situation.isMissed(message.seq, by: member) else {
            // One device has it. Another may be in use, or its connection broken and not known to be.
            guard noted.held < message.seq else { return .nothing }
            return .later(message, by: doubt, held: max(noted.newest, message.seq))
        }
        // A user with a session has a time for each message.
        if message.seq > noted.first, situation.hasSession {
            let due = try await newestUnread(by: member, in: record, upTo: noted.first)
            // The message that was due has reached a device, or is deleted. The newer one has a time of its own.
            guard let due, situation.isMissed(due.seq, by: member) else {
                return .later(message, by: Self.wait, held: noted.held)
            }
        }
        return .push(message, record)
    }

    // MARK: Settling

    private func abandon(_ note: DueNote) async {
        shard.recordDamage("push", of: note.user)
        _ = try? await shard.command(["ZREM", note.keys.push, note.user.string + " " + note.conversation.string])
    }

    private func putOff(
        _ situation: Situation, to message: StoredMessage, by wait: Milliseconds, held: Int64
    ) async throws(RedisFailure) {
        let note = situation.note
        let reply = try await shard.reply(
            to: ScriptCall(
                .pushLater, in: note.keys,
                [
                    "push": note.keys.push, "pushed": note.keys.pushed(note.user),
                    "sessions": note.keys.sessions(note.user),
                ],
                [
                    "user": note.user, "conversation": note.conversation, "decided": situation.noted.newest,
                    "wait": wait, "newerWait": Self.wait, "seq": message.seq, "held": held,
                    "limit": situation.limit, "note": situation.noted.text,
                ]))
        // Without a number another server has decided.
        if let wait = reply[0].int { schedule(note, after: wait) }
    }

    /// - Parameters:
    ///   - seq: The message that is pushed; 0: none is.
    ///   - before: What the push has before its devices, and `after` after them; empty: no push is needed.
    private func settle(
        _ situation: Situation, _ seq: Int64, before: [UInt8] = [], after: [UInt8] = []
    ) async throws(RedisFailure) {
        let (note, keys, user) = (situation.note, situation.note.keys, situation.note.user)
        let reply = try await shard.reply(
            to: ScriptCall(
                .pushTell, in: keys,
                [
                    "push": keys.push, "pushed": keys.pushed(user), "devices": keys.devices(user),
                    "grants": keys.grants(user), "user": keys.user(user), "inbox": keys.inbox(user),
                    "sessions": keys.sessions(user),
                ],
                [
                    "user": user, "conversation": note.conversation, "decided": situation.noted.newest,
                    "idle": shard.configuration[Accounts.idle], "seq": seq, "before": before, "after": after,
                    "told": situation.told, "wait": Self.wait, "platforms": platforms.map { " \($0) " }.joined(),
                    "limit": situation.limit, "note": situation.noted.text,
                ]))
        if reply.word == "AGAIN" { schedule(note, after: reply[0].int ?? 0) }
    }

    private func schedule(_ note: DueNote, after wait: Milliseconds) {
        schedule(shard.partitions.index(of: note.user), after: wait + 5)
    }
}
