import Foundation
import PresenceCore
import PresenceProtocol
import Redis

/// Notes which messages may need a push, and decides when they fall due. On the courier, which hears of every message once.
final class DuePushes {
    /// In which a device may get the message and say so, in ms.
    static let wait: Milliseconds = 10_000

    private unowned let shard: ShardLogic
    private weak var courier: Courier?
    private var deadline: DeadlineKind!
    private var told: MetricCounter!
    /// By partition: when it is looked at next, by this shard's clock.
    private var looks: [Int: Milliseconds] = [:]
    private var busy: Set<Int> = []

    private static let window = 8
    private static let most = 20
    /// ms for which nobody else decides about what was taken.
    private static let lease: Milliseconds = 30_000
    /// Conversations whose unread messages are counted.
    private static let mostCounted = 200
    private static let mostCharacters = 500

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry, _ courier: Courier) {
        self.courier = courier
        deadline = registry.deadline { [unowned self] key in
            if case .number(let partition) = key { isDue(Int(partition)) }
        }
        told = registry.counter(
            "pushes_due_total", help: "users found truly away when a message came for them")
        courier.onEvents = { [unowned self] in note($0, done: $1) }
        courier.onRound = { [unowned self] in
            for partition in 0..<shard.partitions.count { look(at: partition, after: 0) }
        }
    }

    private func look(at partition: Int, after wait: Milliseconds) {
        let time = shard.clock.now + wait
        guard time < looks[partition] ?? .max else { return }
        looks[partition] = time
        shard.deadlines.set(deadline, .number(UInt64(partition)), at: time)
    }

    // MARK: Noting

    /// - Parameter done: Gets whether all is noted. It may come twice: what is noted is once there.
    private func note(_ events: [WebhookEvent], done: @escaping (Bool) -> Void) {
        var failed = false
        BoundedConcurrency(events.filter { $0.type == "message.created" }, window: Self.window) { [self] event, next in
            note(event) { isDone in
                if !isDone { failed = true }
                next()
            }
        } done: {
            done(!failed)
        }
    }

    private func note(_ event: WebhookEvent, done: @escaping (Bool) -> Void) {
        guard let id = ConversationID(event.subject), let message = StoredMessage(event.rest) else { return done(true) }
        read(id) { [self] result in
            guard case .success(let record) = result else { return done(false) }
            let away =
                record?.members.filter {
                    $0.user.string != message.from && isUnread(message.seq, by: $0) && wantsPushes($0)
                } ?? []
            var failed = false
            BoundedConcurrency(away, window: Self.window) { [self] member, next in
                note(member, of: id, message.seq) { isDone in
                    if !isDone { failed = true }
                    next()
                }
            } done: {
                done(!failed)
            }
        }
    }

    private func note(
        _ member: ConversationRecord.Member, of id: ConversationID, _ seq: Int64, done: @escaping (Bool) -> Void
    ) {
        let (user, partition) = (member.user, shard.partitions.index(of: member.user))
        let keys = shard.partitions.keys(partition)
        run(
            .pushNote, keys, [keys.shards, keys.push, keys.pushed(user), keys.sessions(user)],
            [user.string, id.string, String(seq), String(max(member.read, member.own)), String(Self.wait)]
        ) { [self] words in
            guard let words else { return done(false) }
            if words.first?.string == "OK" { look(at: partition, after: (words.last?.int ?? 0) + 5) }
            done(true)
        }
    }

    private func wantsPushes(_ member: ConversationRecord.Member) -> Bool {
        let isMuted = member.muted == -1 || member.muted > shard.clock.redisNow
        return !isMuted && member.archived == 0
    }

    private func isUnread(_ seq: Int64, by member: ConversationRecord.Member) -> Bool {
        max(member.read, member.own) < seq
    }

    /// - Parameter isActive: Whether a session of theirs is. A device that has the message says nothing of its user: it may be
    ///   an idle desktop, or a phone in a pocket.
    private func isMissed(_ seq: Int64, by member: ConversationRecord.Member, isActive: Bool) -> Bool {
        isUnread(seq, by: member) && !(isActive && member.delivered >= seq)
    }

    // MARK: Deciding

    private func isDue(_ partition: Int) {
        guard let time = looks[partition], shard.clock.now >= time else { return }
        looks[partition] = nil
        guard courier?.isCourier == true, busy.insert(partition).inserted else { return }
        let keys = shard.partitions.keys(partition)
        run(.pushTake, keys, [keys.shards, keys.push], [String(Self.most), String(Self.lease)]) { [self] words in
            guard let words, words.count >= 2 else {
                busy.remove(partition)
                return
            }
            let entries = words.dropFirst(2).compactMap { Entry($0.string ?? "") }
            BoundedConcurrency(entries, window: Self.window) { [self] entry, next in
                decide(entry, keys, done: next)
            } done: { [self] in
                busy.remove(partition)
                if !entries.isEmpty { courier?.look(at: partition) }
                if let wait = words[1].int { look(at: partition, after: max(wait, 5)) }
            }
        }
    }

    private struct Entry {
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

    private func decide(_ entry: Entry, _ keys: PartitionKeys, done: @escaping () -> Void) {
        let pushed = keys.pushed(entry.user)
        shard.store.command(["HGET", pushed, " " + entry.conversation.string], lane: .commands) { [self] result in
            // What cannot be read now is decided after the lease.
            guard case .success(let noted) = result else { return done() }
            read(entry.conversation) { [self] result in
                guard case .success(let record) = result else { return done() }
                shard.store.command(["HVALS", keys.sessions(entry.user)], lane: .commands) { [self] result in
                    guard case .success(let sessions) = result else { return done() }
                    let isActive = (sessions.array ?? []).contains { Self.isActive($0.string ?? "") }
                    decide(entry, noted.int ?? 0, record, isActive: isActive, keys, done: done)
                }
            }
        }
    }

    /// A session as Redis has it: `INCARNATION DEVICE KIND STATE BEGAN`.
    private static func isActive(_ session: String) -> Bool {
        let words = session.split(separator: " ")
        return words.count == 5 && words[3] == "a"
    }

    /// - Parameter noted: The message for which it was noted.
    private func decide(
        _ entry: Entry, _ noted: Int64, _ record: ConversationRecord?, isActive: Bool, _ keys: PartitionKeys,
        done: @escaping () -> Void
    ) {
        guard let record, let member = record.member(entry.user), wantsPushes(member),
            isMissed(record.last, by: member, isActive: isActive), let message = record.message,
            message.deletedAt == 0
        else { return tell(entry, keys, seq: 0, nil, done: done) }
        guard isMissed(noted, by: member, isActive: isActive) else {
            // That one has come to a device. There is a newer one, which has a time of its own.
            return tell(entry, keys, seq: 0, nil) { [self] in
                note(member, of: record.id, record.last) { _ in done() }
            }
        }
        title(record, message) { [self] title in
            badge(of: entry.user, keys) { [self] badge in
                guard let title, let badge else { return done() }
                var (before, after): ([UInt8], [UInt8]) = ([], [])
                JSONWriter.raw("\"conversation\":", to: &before)
                JSONWriter.string(entry.conversation.string, to: &before)
                JSONWriter.raw("\"title\":", to: &after)
                after += title
                JSONWriter.key("text", to: &after)
                after += Self.shortened(message.text)
                JSONWriter.member("badge", badge, to: &after)
                told.value += 1
                tell(entry, keys, seq: record.last, (before, after), done: done)
            }
        }
    }

    /// - Parameter members: What is told before and after the devices; `nil` if nothing is.
    private func tell(
        _ entry: Entry, _ keys: PartitionKeys, seq: Int64, _ members: ([UInt8], [UInt8])?, done: @escaping () -> Void
    ) {
        let user = entry.user
        run(
            .pushTell, keys, [keys.shards, keys.push, keys.pushed(user), keys.devices(user), keys.grants(user)],
            [
                user.string, entry.conversation.string, String(seq), String(decoding: members?.0 ?? [], as: UTF8.self),
                String(decoding: members?.1 ?? [], as: UTF8.self),
            ]
        ) { _ in done() }
    }

    /// The conversation's name, or that of who wrote; as JSON. `nil` if Redis did not say.
    private func title(_ record: ConversationRecord, _ message: StoredMessage, found: @escaping ([UInt8]?) -> Void) {
        if let name = record.name { return found(name) }
        guard let sender = UserID(message.from) else { return found(Array("\"\"".utf8)) }
        let key = shard.partitions.keys(of: sender).user(sender)
        shard.store.command(["HGET", key, "displayName"], lane: .commands) { result in
            guard case .success(let value) = result else { return found(nil) }
            found(value.bytes ?? Array("\"\"".utf8))
        }
    }

    /// The messages that a user has not read, of all conversations. `nil` if Redis did not say.
    private func badge(of user: UserID, _ keys: PartitionKeys, found: @escaping (Int64?) -> Void) {
        shard.store.command(["HGETALL", keys.inbox(user)], lane: .commands) { [self] result in
            guard case .success(let value) = result else { return found(nil) }
            let fields = value.array ?? []
            let ids = stride(from: 0, to: fields.count - 1, by: 2).compactMap { place in
                fields[place + 1].string?.hasPrefix("in ") == true
                    ? fields[place].string.flatMap { ConversationID($0) } : nil
            }
            var (sum, failed): (Int64, Bool) = (0, false)
            BoundedConcurrency(Array(ids.prefix(Self.mostCounted)), window: Self.window) { [self] id, next in
                let key = shard.partitions.keys(of: id).conversation(id)
                shard.store.command(["HMGET", key, "last", "m:" + user.string], lane: .commands) { result in
                    if case .success(let value) = result {
                        let words = value.array ?? []
                        if let last = words.first?.int,
                            let member = words.last?.string.flatMap({ ConversationRecord.Member(user, $0) })
                        {
                            sum += max(0, last - max(member.read, member.own))
                        }
                    } else {
                        failed = true
                    }
                    next()
                }
            } done: {
                found(failed ? nil : sum)
            }
        }
    }

    // MARK: Redis

    private func read(
        _ id: ConversationID, found: @escaping (Result<ConversationRecord?, RedisFailure>) -> Void
    ) {
        let key = shard.partitions.keys(of: id).conversation(id)
        shard.store.command(["HGETALL", key], lane: .commands) { result in
            found(result.map { ConversationRecord(id, $0) })
        }
    }

    private func run(
        _ script: Script, _ partition: PartitionKeys, _ keys: [String], _ arguments: [String],
        reply: @escaping ([RedisValue]?) -> Void
    ) {
        shard.store.run(
            script, keys: keys, arguments: [partition.events, shard.link.incarnation] + arguments, lane: .commands
        ) { [self] result in
            guard !shard.link.noticeFencing(in: result), case .success(let value) = result else { return reply(nil) }
            reply(value.array ?? [])
        }
    }

    /// A text as JSON, at most so many characters of it.
    private static func shortened(_ json: ArraySlice<UInt8>) -> [UInt8] {
        guard json.count > mostCharacters, let text = try? JSONDecoder().decode(String.self, from: Data(json)),
            text.count > mostCharacters
        else { return Array(json) }
        var short: [UInt8] = []
        JSONWriter.string(String(text.prefix(mostCharacters - 1)) + "…", to: &short)
        return short
    }
}
