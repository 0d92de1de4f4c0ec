import PresenceCore
import PresenceProtocol
import Redis

/// Notes which messages may need a push, and decides about them when they are due. On the courier, which gets every message.
final class DuePushes {
    /// In which a device may get the message and mark it, in ms.
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

    private static let window = 8
    private static let most = 20
    /// ms for which no other server decides about taken notes. A decision that comes later does not count: it would rest on nothing
    /// that was read earlier.
    static let lease: Milliseconds = 30_000
    /// ms until notes that could not be taken are taken.
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
        courier.consumers.append { [unowned self] events, _ in await note(events) }
        courier.onRound = { [unowned self] in
            for partition in 0..<shard.partitions.count { schedule(partition, after: 0) }
        }
    }

    /// ms after which a connection that is broken now is known to be, and its session has ended: until then a session that counts as
    /// active shows nothing certain of its user. With a second for clocks.
    var doubt: Milliseconds {
        let configuration = shard.configuration
        return configuration.heartbeat.interval + configuration.heartbeat.timeout + configuration.linger + 1_000
    }

    func schedule(_ partition: Int, after wait: Milliseconds) {
        let time = shard.clock.now + wait
        guard time < looks[partition] ?? .max else { return }
        looks[partition] = time
        shard.deadlines.set(deadline, .number(UInt64(partition)), at: time)
    }

    // MARK: Noting

    /// - Returns: Those that are not noted. They may come twice: a note is once there.
    private func note(_ events: [OfferedEvent]) async -> [OfferedEvent] {
        let messages = events.filter { ["message.created", "message.changed"].contains($0.type) }
        var left: [OfferedEvent] = []
        await shard.tasks.each(messages, window: Self.window) { [self] event in
            do throws(RedisFailure) { try await apply(event) } catch { left.append(event) }
        }
        return left
    }

    /// A damaged conversation has no members to push to, and must not keep others of its partition from their pushes.
    private func apply(_ event: OfferedEvent) async throws(RedisFailure) {
        guard let id = ConversationID(event.subject), let message = StoredMessage(event.rest) else { return }
        do throws(RedisFailure) {
            if event.type == "message.created" {
                try await note(message, in: id)
            } else if message.deletedAt != 0 {
                try await withdraw(message, in: id)
            }
        } catch {
            if !error.isLasting { throw error }
        }
    }

    private func note(_ message: StoredMessage, in id: ConversationID) async throws(RedisFailure) {
        guard let record = try await read(id) else { return }
        let away = record.members.filter {
            $0.user.string != message.from && isUnread(message.seq, by: $0) && wantsPushes($0)
        }
        try await each(away) { [self] (member) async throws(RedisFailure) in try await note(member, of: id, message.seq)
        }
    }

    /// Notes that a push of the newest message may be needed, if the member has not read that.
    func noteNewest(
        of record: ConversationRecord, for member: ConversationRecord.Member
    ) async throws(RedisFailure) {
        guard isUnread(record.last, by: member), wantsPushes(member) else { return }
        try await note(member, of: record.id, record.last)
    }

    private func note(
        _ member: ConversationRecord.Member, of id: ConversationID, _ seq: Int64
    ) async throws(RedisFailure) {
        let (user, partition) = (member.user, shard.partitions.index(of: member.user))
        let keys = shard.partitions.keys(partition)
        let call = ScriptCall(
            .pushNote, in: keys, ["push": keys.push, "pushed": keys.pushed(user), "sessions": keys.sessions(user)],
            [
                "user": user, "conversation": id, "seq": seq, "readTo": max(member.read, member.own), "wait": Self.wait,
            ])
        do throws(RedisFailure) {
            let reply = try await shard.reply(to: call)
            if reply.word == "OK" { schedule(partition, after: (reply[0].int ?? 0) + 5) }
        } catch {
            // It must not keep the others of its partition from their pushes.
            guard error.isLasting else { throw complaint(of: partition, error) }
            shard.recordDamage("push", of: user)
        }
    }

    func wantsPushes(_ member: ConversationRecord.Member) -> Bool {
        let isMuted = member.muted == -1 || member.muted > shard.clock.redisNow
        return !isMuted && member.archived == 0
    }

    func isUnread(_ seq: Int64, by member: ConversationRecord.Member) -> Bool {
        max(member.read, member.own) < seq
    }

    // MARK: Taking

    private func isDue(_ partition: Int) {
        guard let time = looks[partition], shard.clock.now >= time else { return }
        guard courier?.isCourier == true else {
            looks[partition] = nil
            return
        }
        // The time is kept: the partition is looked at when it is free again.
        guard busy.insert(partition).inserted else { return }
        looks[partition] = nil
        shard.tasks.run { [self, shard] in
            await decideDue(of: partition)
            busy.remove(partition)
            // Notes that fell due meanwhile.
            guard let time = looks[partition] else { return }
            shard.deadlines.set(deadline, .number(UInt64(partition)), at: max(time, shard.clock.now))
        }
    }

    private func decideDue(of partition: Int) async {
        let keys = shard.partitions.keys(partition)
        let longest = max(Self.lease, Self.wait, doubt) + 1_000
        let call = ScriptCall(
            .pushTake, in: keys, ["push": keys.push], ["most": Self.most, "lease": Self.lease, "longest": longest])
        let reply: ScriptReply
        do throws(RedisFailure) {
            reply = try await shard.reply(to: call)
        } catch {
            if error.isLasting {
                shard.log("damaged record", ["what": "push", "partition": "\(partition)"], level: .error)
            } else {
                courier?.complain(of: partition, error)
            }
            return schedule(partition, after: error.isLasting ? Self.pauseOfDamage : Self.retry)
        }
        let limit = reply[1].string ?? "0"
        let notes = reply.rest.dropFirst(2).compactMap { DueNote($0.string ?? "", keys) }
        await shard.tasks.each(notes, window: Self.window) { [self] note in await decide(note, until: limit) }
        if !notes.isEmpty { courier?.scan(partition) }
        if let wait = reply[0].int { schedule(partition, after: max(wait, 5)) }
    }

    // MARK: Redis

    /// A conversation; a damaged one is counted and logged.
    func read(_ id: ConversationID) async throws(RedisFailure) -> ConversationRecord? {
        do throws(RedisFailure) {
            let key = shard.partitions.keys(of: id).conversation(id)
            return ConversationRecord(id, try await shard.command(["HGETALL", key]))
        } catch {
            if error.isLasting { shard.recordDamage("conversation", of: id) }
            throw complaint(of: shard.partitions.index(of: id), error)
        }
    }

    /// A failure that is in the log from now on, unless it is one of damage.
    func complaint(of partition: Int, _ failure: RedisFailure) -> RedisFailure {
        if !failure.isLasting { courier?.complain(of: partition, failure) }
        return failure
    }

    /// Does something for each element, some at a time.
    ///
    /// - Throws: the first failure, after all.
    func each<Element>(
        _ elements: [Element], _ act: @escaping (Element) async throws(RedisFailure) -> Void
    ) async throws(RedisFailure) {
        var failure: RedisFailure?
        await shard.tasks.each(elements, window: Self.window) { element in
            do throws(RedisFailure) { try await act(element) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }
}
