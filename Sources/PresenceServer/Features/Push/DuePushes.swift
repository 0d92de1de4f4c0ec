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
    /// ms for which a decision is valid: after that, the facts on which it is based may be outdated. No other server decides about a taken
    /// note until ``wait`` after that, so a message that is noted meanwhile has an earlier time than the end of the lease.
    static let lease: Milliseconds = 20_000
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
        courier.consumers.append { [unowned self] events, partition in
            // Their pushes are noted already (`notify.lua`).
            if events.contains(where: { ["notification.created", "push.noted"].contains($0.type) }) {
                schedule(partition, after: 0)
            }
            return await note(events) + wake(events, in: partition)
        }
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

    /// - Parameter wait: `nil` if nothing is due.
    func schedule(_ user: UserID, after wait: Milliseconds?) {
        if let wait { schedule(shard.partitions.index(of: user), after: wait + 5) }
    }

    // MARK: Noting

    /// - Returns: Those that are not noted. They may come twice: a note is once there.
    private func note(_ events: [OfferedEvent]) async -> [OfferedEvent] {
        let messages = events.filter { ["message.created", "message.changed"].contains($0.type) }
        var left: [OfferedEvent] = []
        await shard.tasks.each(messages, window: Self.window) { [self] event in
            // A damaged conversation has no members to push to, and must not keep others of its partition from their pushes.
            do throws(RedisFailure) { try await apply(event) } catch { if !error.isLasting { left.append(event) } }
        }
        return left
    }

    private func apply(_ event: OfferedEvent) async throws(RedisFailure) {
        guard let id = ConversationID(event.subject), let message = StoredMessage(event.rest),
            event.type == "message.created" || message.deletedAt != 0, let record = try await read(id)
        else { return }
        var failure: RedisFailure?
        await shard.tasks.each(record.members.filter { $0.user.string != message.from }, window: Self.window) {
            [self] member in
            do throws(RedisFailure) {
                if event.type == "message.created" {
                    try await note(message.seq, in: record, for: member)
                } else {
                    try await withdraw(message.seq, in: id, of: member.user)
                }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// Notes that a push of a message may be needed, if the member has not read that.
    func note(
        _ seq: Int64, in record: ConversationRecord, for member: ConversationRecord.Member
    ) async throws(RedisFailure) {
        guard isUnread(seq, by: member), wantsPushes(member) else { return }
        let (user, keys) = (member.user, shard.partitions.keys(of: member.user))
        let call = ScriptCall(
            .pushNote, in: keys,
            [
                "push": keys.push, "pushed": keys.pushed(user), "sessions": keys.sessions(user),
                "user": keys.user(user),
            ],
            [
                "user": user, "conversation": record.id, "readTo": max(member.read, member.own), "wait": Self.wait,
                // The settings concern pushes, and not the notifications that messages become.
                "kind": isNoticed ? "" : record.isDirect ? "direct" : "groups",
            ])
        schedule(user, after: try await run(call, of: user)?[0].int)
    }

    /// Whether messages become notifications.
    var isNoticed: Bool { shard.configuration[Notifications.ofMessages] }

    func wantsPushes(_ member: ConversationRecord.Member) -> Bool {
        let isMuted = member.muted == -1 || member.muted > shard.clock.redisNow
        // A stranger whom the user has not answered does not make their devices ring.
        return !isMuted && member.archived == 0 && !member.isAsked
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
        let lease = Self.lease + Self.wait
        let longest = max(lease, Self.wait + doubt) + 1_000
        let call = ScriptCall(
            .pushTake, in: keys, ["push": keys.push, "held": keys.held],
            [
                "most": Self.most, "lease": lease, "longest": longest,
                "longestHeld": NotificationSettings.longestHold + lease,
            ])
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
        let taken = reply[1].int ?? 0
        let notes = reply.rest.dropFirst(2).compactMap { entry in
            let words = (entry.string ?? "").split(separator: " ")
            return words.count == 2 ? PushPlace(user: words[0], conversation: words[1]) : nil
        }
        await shard.tasks.each(notes, window: Self.window) { [self] place in
            if place.isSummary {
                await decideHeld(of: place.user, taken: taken)
            } else {
                await decide(place, taken: taken)
            }
        }
        if !notes.isEmpty { courier?.scan(partition) }
        if let wait = reply[0].int { schedule(partition, after: max(wait, 5)) }
    }

    // MARK: Redis

    /// Runs a script about a user. A damaged record must not keep others of its partition from their pushes: there is no reply.
    func run(_ call: ScriptCall, of user: UserID) async throws(RedisFailure) -> ScriptReply? {
        do throws(RedisFailure) {
            return try await shard.reply(to: call)
        } catch {
            let failure = complaint("push", of: user, error)
            guard failure.isLasting else { throw failure }
            return nil
        }
    }

    /// A failure that is in the log from now on.
    func complaint(_ what: String, of id: Identifier, _ failure: RedisFailure) -> RedisFailure {
        if failure.isLasting {
            shard.recordDamage(what, of: id)
        } else {
            courier?.complain(of: shard.partitions.index(of: id), failure)
        }
        return failure
    }
}
