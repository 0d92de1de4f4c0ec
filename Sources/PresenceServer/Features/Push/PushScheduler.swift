import PresenceCore
import PresenceProtocol
import Redis

/// Schedules a push for each member who has not read a new message, and decides about it when it is due: whether the user is
/// truly away, and what is pushed. On the courier, which gets every message.
///
/// The path of a push, a file for each step:
/// 1. `Delivery/Courier.swift` takes the event `message.created` from Redis, where `send.lua` has put it (`offer`).
/// 2. This file: `enqueue` sets a time for each member (`push-note.lua`), `decideDue` takes what is due (`push-take.lua`), and
///    `decide` reads the facts (`PushFacts.swift`).
/// 3. `Scripts/push-settle.lua` offers the event `push.due`, with the user's devices. The courier takes it in the same way.
/// 4. `Services/PushService.swift` makes an entry for each device. Before each try, it checks the push again.
/// 5. `Delivery/DeliveryQueue.swift` stores the entries in Redis, takes those that are due, and settles the outcome of each try.
/// 6. `Services/APNs.swift`, or one of the others, calls the push service, and judges its answer.
final class PushScheduler {
    /// In which a device may get the message and mark it, in ms.
    static let wait: Milliseconds = 10_000

    unowned let shard: ShardLogic
    /// Those of devices that this installation sends to.
    var platforms: [String] = []
    private(set) weak var courier: Courier?
    private var deadline: DeadlineKind!
    private(set) var duePushes: MetricCounter!
    /// By partition: when it is looked at next, by this shard's clock.
    private var looks: [Int: Milliseconds] = [:]
    private var busy: Set<Int> = []

    private static let window = 8
    private static let most = 20
    /// ms for which a decision is valid: after that, the facts on which it is based may be outdated. No other server takes a
    /// leased entry until ``wait`` after that, so a message that is scheduled meanwhile has an earlier time than the end of the lease.
    static let lease: Milliseconds = 20_000
    /// ms until a failed `decideDue` is repeated.
    private static let retry: Milliseconds = 1_000
    private static let pauseOfDamage: Milliseconds = 60_000

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry, _ courier: Courier) {
        self.courier = courier
        deadline = registry.deadline { [unowned self] key in
            if case .number(let partition) = key { isDue(Int(partition)) }
        }
        duePushes = registry.counter(
            "pushes_due_total", help: "users found truly away when a message came for them")
        courier.consumers.append { [unowned self] events, partition in
            // Their pushes are scheduled already (`notify.lua`).
            if events.contains(where: { ["notification.created", "push.noted"].contains($0.type) }) {
                schedule(partition, after: 0)
            }
            return await enqueue(events) + wake(events, in: partition)
        }
        courier.onRound = { [unowned self] in
            for partition in 0..<shard.partitions.count { schedule(partition, after: 0) }
        }
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

    // MARK: Scheduling

    /// - Returns: Those that must come again. They may come twice: a user and conversation have one entry.
    private func enqueue(_ events: [OfferedEvent]) async -> [OfferedEvent] {
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
                    try await enqueue(message.seq, in: record, for: member)
                } else {
                    try await withdraw(message.seq, in: id, of: member.user)
                }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// Schedules the decision about a push of a message, if the member has not read that.
    func enqueue(
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
            // Entries that fell due meanwhile.
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
        let leaseEnd = reply[1].int ?? 0
        let places = reply.rest.dropFirst(2).compactMap { entry in
            let words = (entry.string ?? "").split(separator: " ")
            return words.count == 2 ? PushPlace(user: words[0], conversation: words[1]) : nil
        }
        await shard.tasks.each(places, window: Self.window) { [self] place in
            if place.isSummary {
                await decideHeld(of: place.user, leaseEnd: leaseEnd)
            } else {
                await decide(place, leaseEnd: leaseEnd)
            }
        }
        if !places.isEmpty { courier?.scan(partition) }
        if let wait = reply[0].int { schedule(partition, after: max(wait, 5)) }
    }

    // MARK: Deciding

    /// - Parameter leaseEnd: When the lease of the pending push ends, by the partition's clock (ms since 1970).
    func decide(_ place: PushPlace, leaseEnd: Timestamp) async {
        do throws(RedisFailure) {
            // Before the conversation is read: a later deletion changes the record.
            guard let facts = try await facts(of: place) else { return await remove(place) }
            let need = try await need(of: place, facts, at: leaseEnd - Self.lease - Self.wait)
            let decision = try await decision(need, of: place, facts)
            if !decision.contents.isEmpty, case .no = decision.hold { duePushes.value += 1 }
            try await settle(place, facts, decision, leaseEnd: leaseEnd)
        } catch {
            // Without an answer of Redis it is decided after the lease. A damaged entry is removed: the next message is scheduled anew.
            guard error.isLasting else { return }
            shard.recordDamage("push", of: place.user)
            await remove(place)
        }
    }

    private func decision(
        _ need: PushNeed, of place: PushPlace, _ facts: PushFacts
    ) async throws(RedisFailure) -> Decision {
        guard let subject = need.subject else { return ([], 0, need.wait, .no) }
        let contents = PushContents(shard: shard, user: place.user, settings: facts.settings)
        var hold = Hold.no
        if let time = await holdEnd(facts.settings, facts.isBusy, isUrgent: need.isUrgent, at: facts.now) {
            hold = .until(time)
        }
        switch subject {
        case .message(let message, let record):
            if !facts.settings.wants(record) { hold = .never }
            // The contents of a push that is held are not read, unless the message becomes a notification now.
            if !isNoticed, case .until = hold { return (Self.unread, need.seq, need.wait, hold) }
            return (try await contents.members(message, in: record), need.seq, need.wait, hold)
        case .notification(let notification):
            if case .until = hold { return (Self.unread, need.seq, need.wait, hold) }
            return (try await contents.members(notification, at: place), need.seq, need.wait, hold)
        }
    }

    private static let unread = Array("-".utf8)

    func need(of place: PushPlace, _ facts: PushFacts, at time: Timestamp) async throws(RedisFailure) -> PushNeed {
        if place.notification != nil { return try await need(ofNotification: place, facts, at: time) }
        // The user has not read the last push: one is enough.
        guard let record = try await read(place.conversation), let member = record.member(place.user),
            wantsPushes(member), !isUnread(facts.lastPushed, by: member), facts.settings.wants(record) || isNoticed,
            let message = try await newestUnread(by: member, in: record, except: facts.blocked)
        else { return PushNeed() }
        func pushed(_ wait: Milliseconds) -> PushNeed { PushNeed(subject: .message(message, record), wait: wait) }
        // A device that has a message shows nothing of its user: it may be an idle desktop, or a phone in a pocket.
        func isMissed(_ message: StoredMessage) -> Bool { !(facts.isActive && member.delivered >= message.seq) }
        // Another device may be in use, or its connection broken and not known to be.
        guard isMissed(message) else {
            return PushNeed(wait: Self.rest(of: Self.wait + doubt, since: message.at, at: time))
        }
        let wait = Self.rest(of: Self.wait, since: message.at, at: time)
        guard wait > 0, facts.hasSession else { return pushed(wait) }
        // An earlier message may have had its time.
        let due = try await newestUnread(by: member, in: record, except: facts.blocked, sentBy: time - Self.wait)
        return due.map(isMissed) == true ? pushed(0) : PushNeed(wait: wait)
    }

    private func settle(
        _ place: PushPlace, _ facts: PushFacts, _ decision: Decision, leaseEnd: Timestamp
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
                    "user": user, "conversation": place.conversation, "limit": leaseEnd - Self.wait,
                    "idle": shard.configuration[Accounts.idle], "seq": decision.seq, "contents": decision.contents,
                    "known": facts.record, "wait": decision.wait, "platforms": platforms.map { " \($0) " }.joined(),
                    "leaseEnd": leaseEnd, "hold": decision.hold.argument, "isNoticed": isNoticed,
                ]))
        schedule(place.user, after: reply[0].int)
        if case .until(let time) = decision.hold { schedule(place.user, after: time - facts.now) }
    }

    private func remove(_ place: PushPlace) async {
        let entry = "\(place.user) \(place.conversation)"
        _ = try? await shard.command(["ZREM", shard.partitions.keys(of: place.user).push, entry])
    }
}
