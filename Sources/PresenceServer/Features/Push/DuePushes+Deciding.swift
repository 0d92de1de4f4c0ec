import PresenceCore
import PresenceProtocol
import Redis

extension DuePushes {
    /// A conversation of a user for which something is noted.
    struct Entry {
        let user: UserID
        let conversation: ConversationID

        init?(_ text: String) {
            let words = text.split(separator: " ")
            guard words.count == 2, let user = UserID(String(words[0])), let id = ConversationID(String(words[1]))
            else {
                return nil
            }
            (self.user, conversation) = (user, id)
        }
    }

    /// What is noted, as `push-lib.lua` writes it.
    private struct Noted {
        /// The message whose time it is.
        let first: Int64
        let newest: Int64
        /// The newest for which the decision was put off.
        let held: Int64
        /// As scripts are told again: they compare how many messages have been deleted meanwhile.
        let text: String

        init(_ text: String?) {
            self.text = text ?? ""
            let numbers = self.text.split(separator: " ").compactMap { Int64($0) }
            (first, newest, held) = numbers.count >= 3 ? (numbers[0], numbers[1], numbers[2]) : (0, 0, 0)
        }
    }

    /// What a decision rests on, as it was when it was read.
    private struct Situation {
        let entry: Entry
        let keys: PartitionKeys
        let noted: Noted
        /// What the user was pushed for; empty: nothing.
        let told: String
        /// Whether a session of theirs is active.
        let isActive: Bool
        /// When the lease of it ends, by its partition's clock (ms since 1970).
        let end: String

        var toldNumber: Int64? { told.split(separator: " ").first.flatMap { Int64($0) } }
    }

    /// - Parameter end: When the lease of it ends (`push-take.lua`).
    func decide(_ entry: Entry, _ keys: PartitionKeys, until end: String, done: @escaping () -> Void) {
        let pushed = keys.pushed(entry.user)
        let id = entry.conversation.string
        shard.store.command(["HMGET", pushed, " " + id, id], lane: .commands) { [self] result in
            guard case .success(let value) = result, let words = value.array, words.count == 2 else {
                return leave(entry, keys, result.failure, done: done)
            }
            // Only text can be compared with in `push-tell.lua`; no script has written anything else.
            guard let told = words[1].bytes == nil ? "" : words[1].string else {
                return abandon(entry, keys, done: done)
            }
            read(entry.conversation) { [self] result in
                guard case .success(let record) = result else {
                    return leave(entry, keys, result.failure, done: done)
                }
                shard.store.command(["HVALS", keys.sessions(entry.user)], lane: .commands) { [self] result in
                    guard case .success(let sessions) = result else {
                        return leave(entry, keys, result.failure, done: done)
                    }
                    let isActive = (sessions.array ?? []).contains { Self.isActive($0.string ?? "") }
                    let situation = Situation(
                        entry: entry, keys: keys, noted: Noted(words[0].string), told: told, isActive: isActive,
                        end: end)
                    decide(situation, record, done: done)
                }
            }
        }
    }

    /// What cannot be read or written now is decided after the lease. What is damaged is not due any more: the next message is
    /// noted anew.
    private func leave(
        _ entry: Entry, _ keys: PartitionKeys, _ failure: RedisFailure?, done: @escaping () -> Void
    ) {
        guard failure?.isLasting == true else { return done() }
        abandon(entry, keys, done: done)
    }

    private func abandon(_ entry: Entry, _ keys: PartitionKeys, done: @escaping () -> Void) {
        shard.noteDamage("push", of: entry.user)
        let name = entry.user.string + " " + entry.conversation.string
        shard.store.command(["ZREM", keys.push, name], lane: .commands) { _ in done() }
    }

    /// A session as Redis has it: `INCARNATION DEVICE KIND STATE BEGAN`.
    private static func isActive(_ session: String) -> Bool {
        let words = session.split(separator: " ")
        return words.count == 5 && words[3] == "a"
    }

    private func decide(_ situation: Situation, _ record: ConversationRecord?, done: @escaping () -> Void) {
        guard let record, let member = record.member(situation.entry.user), wantsPushes(member) else {
            return tell(situation, nil, done: done)
        }
        // They have not read what they were pushed for: once is enough.
        if let told = situation.toldNumber, isUnread(told, by: member) { return tell(situation, nil, done: done) }
        newestUnread(by: member, in: record) { [self] result in
            guard case .success(let message) = result else {
                return leave(situation.entry, situation.keys, result.failure, done: done)
            }
            guard let message else { return tell(situation, nil, done: done) }
            decide(situation, record, member, message, done: done)
        }
    }

    private func decide(
        _ situation: Situation, _ record: ConversationRecord, _ member: ConversationRecord.Member,
        _ message: StoredMessage, done: @escaping () -> Void
    ) {
        let noted = situation.noted
        guard isMissed(message.seq, by: member, isActive: situation.isActive) else {
            // One device has it, and another may be in use, or be broken without anybody knowing yet.
            guard noted.held < message.seq else { return tell(situation, nil, done: done) }
            return putOff(situation, to: message, by: doubt, held: max(noted.newest, message.seq), done: done)
        }
        guard message.seq > noted.first else { return tell(message, situation, record, done: done) }
        newestUnread(by: member, in: record, upTo: noted.first) { [self] result in
            guard case .success(let due) = result else {
                return leave(situation.entry, situation.keys, result.failure, done: done)
            }
            // What was due then has come to a device, or is deleted. There is a newer one, which has a time of its own.
            guard let due, isMissed(due.seq, by: member, isActive: situation.isActive) else {
                return putOff(situation, to: message, by: Self.wait, held: noted.held, done: done)
            }
            tell(message, situation, record, done: done)
        }
    }

    private func tell(
        _ message: StoredMessage, _ situation: Situation, _ record: ConversationRecord, done: @escaping () -> Void
    ) {
        PushContents(shard: shard).members(message, in: record, for: situation.entry.user, situation.keys) {
            [self] members in
            guard let members else { return done() }
            told.value += 1
            tell(situation, (message.seq, members.before, members.after), done: done)
        }
    }

    private func putOff(
        _ situation: Situation, to message: StoredMessage, by wait: Milliseconds, held: Int64,
        done: @escaping () -> Void
    ) {
        let (entry, keys) = (situation.entry, situation.keys)
        run(
            .pushLater, keys, [keys.shards, keys.push, keys.pushed(entry.user)],
            [
                entry.user.string, entry.conversation.string, String(situation.noted.newest), String(wait),
                String(Self.wait), String(message.seq), String(held), situation.end,
                situation.noted.text,
            ]
        ) { [self] result in
            guard case .success(let words) = result else { return leave(entry, keys, result.failure, done: done) }
            // Without a number another has decided.
            if let wait = words.last?.int { look(entry, after: wait) }
            done()
        }
    }

    /// - Parameter push: The message, and what is told before and after the devices; `nil` if nothing is.
    private func tell(
        _ situation: Situation, _ push: (seq: Int64, before: [UInt8], after: [UInt8])?, done: @escaping () -> Void
    ) {
        let (entry, keys, user) = (situation.entry, situation.keys, situation.entry.user)
        run(
            .pushTell, keys,
            [
                keys.shards, keys.push, keys.pushed(user), keys.devices(user), keys.grants(user), keys.user(user),
                keys.inbox(user),
            ],
            [
                user.string, entry.conversation.string, String(situation.noted.newest),
                String(shard.configuration[Accounts.idle]), String(push?.seq ?? 0),
                String(decoding: push?.before ?? [], as: UTF8.self),
                String(decoding: push?.after ?? [], as: UTF8.self), situation.told, String(Self.wait),
                platforms.map { " \($0) " }.joined(), situation.end, situation.noted.text,
            ]
        ) { [self] result in
            guard case .success(let words) = result else { return leave(entry, keys, result.failure, done: done) }
            if words.first?.string == "AGAIN" { look(entry, after: words.last?.int ?? 0) }
            done()
        }
    }

    private func look(_ entry: Entry, after wait: Milliseconds) {
        look(at: shard.partitions.index(of: entry.user), after: wait + 5)
    }
}
