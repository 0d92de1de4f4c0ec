import Foundation
import PresenceCore
import PresenceProtocol
import Redis

/// Notes which messages may need a push, and decides when they fall due. On the courier, which hears of every message once.
final class DuePushes {
    /// In which a device may get the message and say so, in ms.
    static let wait: Milliseconds = 10_000

    unowned let shard: ShardLogic
    /// Those of devices that this installation sends to.
    var platforms: [String] = []
    private weak var courier: Courier?
    private var deadline: DeadlineKind!
    private(set) var told: MetricCounter!
    /// By partition: when it is looked at next, by this shard's clock.
    private var looks: [Int: Milliseconds] = [:]
    private var busy: Set<Int> = []

    static let window = 8
    private static let most = 20
    /// ms for which nobody else decides about what was taken, and after which what was decided does not count any more: it rests
    /// on nothing that was read earlier.
    static let lease: Milliseconds = 30_000
    /// ms until what could not be taken is tried again.
    private static let retry: Milliseconds = 1_000
    private static let pauseOfDamage: Milliseconds = 60_000

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry, _ courier: Courier) {
        self.courier = courier
        deadline = registry.deadline { [unowned self] key in
            if case .number(let partition) = key { isDue(Int(partition)) }
        }
        told = registry.counter(
            "pushes_due_total", help: "users found truly away when a message came for them")
        courier.consumers.append { [unowned self] events, _, done in note(events, done: done) }
        courier.onRound = { [unowned self] in
            for partition in 0..<shard.partitions.count { look(at: partition, after: 0) }
        }
    }

    /// ms after which a connection that is broken now is known to be, and its session has ended: for so long one that counts as
    /// active says nothing certain of its user. With a second for clocks.
    var doubt: Milliseconds {
        let configuration = shard.configuration
        return configuration.heartbeat.interval + configuration.heartbeat.timeout + configuration.linger + 1_000
    }

    func look(at partition: Int, after wait: Milliseconds) {
        let time = shard.clock.now + wait
        guard time < looks[partition] ?? .max else { return }
        looks[partition] = time
        shard.deadlines.set(deadline, .number(UInt64(partition)), at: time)
    }

    /// What fell due while the partition was busy.
    private func finish(_ partition: Int) {
        busy.remove(partition)
        guard let time = looks[partition] else { return }
        shard.deadlines.set(deadline, .number(UInt64(partition)), at: max(time, shard.clock.now))
    }

    // MARK: Noting

    /// - Parameter done: Gets whether all is noted. It may come twice: what is noted is once there.
    private func note(_ events: [WebhookEvent], done: @escaping (Bool) -> Void) {
        var failed = false
        let kinds = ["message.created", "message.changed"]
        BoundedConcurrency(events.filter { kinds.contains($0.type) }, window: Self.window) { [self] event, next in
            look(at: event) { isDone in
                if !isDone { failed = true }
                next()
            }
        } done: {
            done(!failed)
        }
    }

    private func look(at event: WebhookEvent, done: @escaping (Bool) -> Void) {
        guard let id = ConversationID(event.subject), let message = StoredMessage(event.rest) else { return done(true) }
        if event.type == "message.created" { return note(message, in: id, done: done) }
        message.deletedAt == 0 ? done(true) : withdraw(message, in: id, done: done)
    }

    private func note(_ message: StoredMessage, in id: ConversationID, done: @escaping (Bool) -> Void) {
        read(id) { [self] result in
            // Whom a damaged conversation is for cannot be known.
            guard case .success(let record) = result else { return done(result.failure?.isLasting == true) }
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

    /// It is decided whether a member is told of the newest message, if they have not read that.
    ///
    /// - Parameter done: Gets whether that is noted.
    func noteNewest(
        of record: ConversationRecord, for member: ConversationRecord.Member, done: @escaping (Bool) -> Void
    ) {
        guard isUnread(record.last, by: member), wantsPushes(member) else { return done(true) }
        note(member, of: record.id, record.last, done: done)
    }

    private func note(
        _ member: ConversationRecord.Member, of id: ConversationID, _ seq: Int64, done: @escaping (Bool) -> Void
    ) {
        let (user, partition) = (member.user, shard.partitions.index(of: member.user))
        let keys = shard.partitions.keys(partition)
        run(
            .pushNote, keys, [keys.shards, keys.push, keys.pushed(user), keys.sessions(user)],
            [user.string, id.string, String(seq), String(max(member.read, member.own)), String(Self.wait)]
        ) { [self] result in
            switch result {
            case .success(let words):
                if words.first?.string == "OK" { look(at: partition, after: (words.last?.int ?? 0) + 5) }
                done(true)
            // It must not keep the others of its partition from being told.
            case .failure(let failure) where failure.isLasting:
                shard.noteDamage("push", of: user)
                done(true)
            case .failure: done(false)
            }
        }
    }

    func wantsPushes(_ member: ConversationRecord.Member) -> Bool {
        let isMuted = member.muted == -1 || member.muted > shard.clock.redisNow
        return !isMuted && member.archived == 0
    }

    func isUnread(_ seq: Int64, by member: ConversationRecord.Member) -> Bool {
        max(member.read, member.own) < seq
    }

    /// - Parameter isActive: Whether a session of theirs is. A device that has the message says nothing of its user: it may be
    ///   an idle desktop, or a phone in a pocket.
    func isMissed(_ seq: Int64, by member: ConversationRecord.Member, isActive: Bool) -> Bool {
        isUnread(seq, by: member) && !(isActive && member.delivered >= seq)
    }

    // MARK: Taking

    private func isDue(_ partition: Int) {
        guard let time = looks[partition], shard.clock.now >= time else { return }
        guard courier?.isCourier == true else {
            looks[partition] = nil
            return
        }
        // Kept: it is looked at when the partition is free again.
        guard busy.insert(partition).inserted else { return }
        looks[partition] = nil
        let keys = shard.partitions.keys(partition)
        let longest = max(Self.lease, Self.wait, doubt) + 1_000
        run(
            .pushTake, keys, [keys.shards, keys.push], [String(Self.most), String(Self.lease), String(longest)]
        ) { [self] result in
            guard case .success(let words) = result, words.count >= 3 else {
                let isDamaged = result.failure?.isLasting == true
                if isDamaged {
                    shard.log("damaged record", ["what": "push", "partition": "\(partition)"], level: .error)
                }
                look(at: partition, after: isDamaged ? Self.pauseOfDamage : Self.retry)
                return finish(partition)
            }
            let end = words[2].string ?? "0"
            let entries = words.dropFirst(3).compactMap { Entry($0.string ?? "") }
            BoundedConcurrency(entries, window: Self.window) { [self] entry, next in
                decide(entry, keys, until: end, done: next)
            } done: { [self] in
                if !entries.isEmpty { courier?.look(at: partition) }
                if let wait = words[1].int { look(at: partition, after: max(wait, 5)) }
                finish(partition)
            }
        }
    }

    // MARK: Redis

    func read(
        _ id: ConversationID, found: @escaping (Result<ConversationRecord?, RedisFailure>) -> Void
    ) {
        let key = shard.partitions.keys(of: id).conversation(id)
        shard.store.command(["HGETALL", key], lane: .commands) { [unowned shard] result in
            if result.failure?.isLasting == true { shard.noteDamage("conversation", of: id) }
            found(result.map { ConversationRecord(id, $0) })
        }
    }

    func run(
        _ script: Script, _ partition: PartitionKeys, _ keys: [String], _ arguments: [String],
        reply: @escaping (Result<[RedisValue], RedisFailure>) -> Void
    ) {
        shard.store.run(
            script, keys: keys, arguments: [partition.events, shard.link.incarnation] + arguments, lane: .commands
        ) { [self] result in
            guard !shard.link.noticeFencing(in: result) else { return reply(.failure(.disconnected(sent: false))) }
            reply(result.map { $0.array ?? [] })
        }
    }
}
