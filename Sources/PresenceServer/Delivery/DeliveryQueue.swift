import PresenceCore
import PresenceProtocol
import Redis

/// The events that wait for one receiver, in Redis, and the calls that the courier's server makes for them.
///
/// Each call is on its own: a slow one delays only the later events of its subject, which are sent in their order. An event that was
/// taken is leased: no other server gets it for ``lease``, and after that any does. A new courier sends no later event of a subject
/// while an earlier server has one of it.
final class DeliveryQueue {
    let receiver: any EventReceiver
    unowned let shard: ShardLogic
    let partition: PartitionKeys
    let deadline: DeadlineKind
    let place: UInt64
    let counters: QueueCounters
    /// Makes a call. Tests put another in its place.
    var send: (QueuedEvent, Timestamp) async -> DeliveryOutcome?
    var isOn = false
    private var isWorking = false
    /// More may have come meanwhile.
    private var isWanted = false
    var held = HeldEvents()
    var looks = QueueLooks()
    /// Events that an earlier server has, by id with their subjects; `nil`: not read yet.
    var left: [String: String]?
    /// When they are read again.
    var leftAt: Milliseconds = 0
    /// Outcomes that Redis does not have yet.
    var unsettled: [QueueSettlement] = []
    var rest = ReceiverRest()
    /// When the next deadline that counts comes; `.max` if there is none.
    var scheduled: Milliseconds = .max
    var waiting = 0
    var isOff = false

    private static let most = (count: 1_000, bytes: 4 * 1_024 * 1_024)
    /// Rows of one look; each costs Redis some 2 µs.
    private static let rows = 500
    private static let settlePause: Milliseconds = 200
    static let retry: Milliseconds = 1_000
    static let pauseOfDamage: Milliseconds = 60_000
    /// Longer than an event is held: `longest`, and 15 s of its call.
    static let lease: Milliseconds = 30_000
    /// ms since an event was taken, after which its call does not begin.
    static let longest: Milliseconds = 5_000
    /// ms until an event is tried whose user's partition cannot be used.
    static let pauseOfPartition: Milliseconds = 3_000

    init(
        _ shard: ShardLogic, _ receiver: any EventReceiver, _ deadline: DeadlineKind, place: UInt64,
        _ counters: QueueCounters
    ) {
        self.shard = shard
        self.receiver = receiver
        (self.deadline, self.place, self.counters) = (deadline, place, counters)
        partition = shard.partitions.keys(of: receiver.id)
        send = { await receiver.send($0, at: $1) }
    }

    // MARK: Adding

    /// A damaged queue drops new events: the other receivers must have theirs.
    ///
    /// - Returns: Whether the events are in the queue, or were dropped.
    func add(_ events: [WaitingEvent], newest: String, lost: Int64, of partition: Int) async -> Bool {
        let rows = events.flatMap { [$0.id, $0.entry, $0.at, $0.subject, $0.body] as [any ScriptArgument] }
        let arguments: KeyValuePairs<StaticString, any ScriptArgument> = [
            "url": receiver.url, "partition": partition, "newestEntry": newest,
            "most": receiver.mostWaiting(shard.configuration), "lost": lost, "named": receiver.needsDropped,
        ]
        // Before: looks that begin later run later in Redis, too.
        for event in events { looks.added(due: Double(event.at), of: event.subject) }
        do throws(RedisFailure) {
            let reply = try await run(.queueAdd, arguments, each: rows)
            counters.dropped.value += Int(reply[0].int ?? 0)
            let dropped = stride(from: 1, to: reply.count - 1, by: 2).compactMap { place in
                reply[place].string.flatMap { QueuedEvent(id: $0, reply[place + 1].bytes ?? []) }
            }
            if !dropped.isEmpty { shard.tasks.run { [receiver] in _ = await receiver.giveUp(dropped, gone: nil) } }
            wake()
            return true
        } catch {
            guard error.isLasting else { return false }
            counters.dropped.value += events.count
            return true
        }
    }

    // MARK: Taking

    func wake() {
        isWanted = true
        guard !isWorking else { return }
        isWorking = true
        shard.tasks.run { [self, shard] in
            while isWanted, shard.link.isLive {
                isWanted = false
                await work()
            }
            isWorking = false
            if !shard.link.isLive { forgetOutcomes() }
        }
    }

    /// Settles ended events, then takes as many as there are free calls.
    private func work() async {
        guard await settle(), isOn, await findLeft(), isOn else { return }
        let pause = rest.until - shard.clock.now
        guard pause <= 0 else { return schedule(after: pause) }
        let subjects = Set((left ?? [:]).values)
        // Each look takes events of its subject, or the next one continues behind the rows that it has read.
        while let subject = looks.subject(where: { held.isFree($0) && !subjects.contains($0) }),
            await take(of: subject)
        {}
        _ = await take(except: subjects)
    }

    /// - Parameters:
    ///   - subject: The one of which events are taken; `nil`: all others.
    ///   - others: Subjects of an earlier server's events.
    /// - Returns: Whether the queue was looked at.
    private func take(of subject: String? = nil, except others: Set<String> = []) async -> Bool {
        let free = min(receiver.mostAtATime - held.calls, Self.most.count - held.count)
        let bytes = Self.most.bytes - held.bytes
        guard isOn, free > 0, bytes > 0 else { return false }
        let excepted = subject == nil ? others.union(held.closed).union(looks.subjects) : []
        let (now, row) = (shard.clock.now, looks.begin(of: subject))
        let reply: ScriptReply
        do throws(RedisFailure) {
            reply = try await run(
                .queueTake,
                [
                    "most": subject == nil ? free : HeldEvents.mostOfSubject, "mostOfSubject": HeldEvents.mostOfSubject,
                    "mostBytes": bytes, "lease": Self.lease, "rows": Self.rows, "only": subject ?? "",
                    "due": String(row.due), "id": row.id,
                ], each: Array(excepted))
        } catch {
            looks.ended(of: subject, before: row, isAll: false, passing: [:])
            schedule(after: error.isLasting ? Self.pauseOfDamage : Self.retry)
            return false
        }
        if isOn { (isOff, waiting) = (reply.word == "OFF", Int(reply[0].int ?? 0)) }
        guard let taken = QueueTaken(reply) else {
            looks.ended(of: subject, before: row, isAll: false, passing: [:])
            return false
        }
        looks.ended(of: subject, before: taken.end, isAll: taken.isAll, passing: taken.passed)
        for (id, due, value) in taken.events { take(id, due, value, at: now) }
        guard subject == nil, let wait = taken.wait else { return true }
        if wait > 0 { schedule(after: wait) } else { isWanted = true }
        return true
    }

    private func take(_ id: String, _ due: Int64, _ value: [UInt8], at now: Milliseconds) {
        // The lease of an event that is still held has ended: it has a new one.
        guard !held.contains(id) else { return }
        guard let event = QueuedEvent(id: id, value) else {
            // No server has written it: it would come again for ever.
            shard.recordDamage("webhook", of: receiver.id)
            held.add(damaged: id)
            return record(QueueSettlement(id: id, outcome: .givenUp, reason: "damaged record"))
        }
        let taken = LeasedEvent(event: event, due: due, takenAt: now)
        switch held.add(taken, isOpen: isOn) {
        case .first: begin(taken)
        case .behind: break
        case .returned: giveBack(taken)
        }
    }

    // MARK: Calling

    /// Sends an event, then those behind it of the same subject.
    func begin(_ taken: LeasedEvent) {
        shard.tasks.run { [self, shard] in
            var next: LeasedEvent? = taken
            while let taken = next {
                await deliver(taken, on: shard)
                next = held.next(after: taken)
            }
            if held.calls == 0 { rest.isIdle() }
            wake()
        }
    }

    private func deliver(_ taken: LeasedEvent, on shard: ShardLogic) async {
        let (event, began) = (taken.event, shard.clock.now)
        // With a receiver so slow, the leases of a subject's events would end before they are sent.
        guard isOn, began - taken.takenAt < Self.longest, began >= rest.until, !held.isReturning(event.subject) else {
            return giveBack(taken)
        }
        let current: QueuedEvent?
        do throws(RedisFailure) {
            current = try await receiver.current(event)
        } catch {
            return putOff(taken)
        }
        guard let current else { return await giveUp(taken, nil) }
        let outcome = await send(current, shard.clock.redisNow)
        await record(outcome, of: taken, since: began)
        wake()
    }

    /// Its user's partition cannot be used: others of the receiver may be.
    private func putOff(_ taken: LeasedEvent) {
        record(QueueSettlement(id: taken.event.id, outcome: .later, when: Self.pauseOfPartition))
    }

    private func giveUp(_ taken: LeasedEvent, _ reason: String?, gone time: Timestamp? = nil) async {
        guard await receiver.giveUp([taken.event], gone: time) else { return putOff(taken) }
        record(QueueSettlement(id: taken.event.id, outcome: .givenUp, reason: reason ?? ""))
    }

    private func record(_ outcome: DeliveryOutcome?, of taken: LeasedEvent, since began: Milliseconds) async {
        let (event, now) = (taken.event, shard.clock.now)
        switch outcome {
        case .accepted?:
            counters.sent.value += 1
            rest.isAnswered(at: now)
            record(QueueSettlement(id: event.id, outcome: .delivered))
        case .refused(let reason)?:
            counters.givenUp.value += 1
            rest.isAnswered(at: now)
            await giveUp(taken, reason)
        case .gone(let time)?:
            rest.isAnswered(at: now)
            await giveUp(taken, nil, gone: time)
        case .unwanted?:
            rest.hasFailed(event.subject, since: began, asked: 0, isOfAll: receiver.pausesForAll, at: now)
            record(QueueSettlement(id: event.id, outcome: .unwanted, reason: "status 410"))
        case .failed(let reason, let asked)?:
            counters.failed.value += 1
            if receiver.rests {
                rest.hasFailed(event.subject, since: began, asked: asked, isOfAll: receiver.pausesForAll, at: now)
            }
            let spread = Double.random(in: -1...1, using: &shard.random)
            guard let pause = receiver.pause(after: event.tries + 1, asked: asked, spread: spread) else {
                counters.givenUp.value += 1
                return await giveUp(taken, reason)
            }
            record(QueueSettlement(id: event.id, outcome: .failed, when: pause, reason: reason))
        case nil:
            rest.isStuck(at: now)
            giveBack(taken)
        }
    }

    // MARK: Settling

    /// Redis gets this outcome.
    func record(_ settlement: QueueSettlement) {
        unsettled.append(settlement)
        isWanted = true
    }

    /// An event was not tried, and is due as before.
    func giveBack(_ taken: LeasedEvent) {
        let (id, subject) = (taken.event.id, taken.event.subject)
        held.giveBack(taken)
        record(QueueSettlement(id: id, outcome: .again, when: taken.due, returned: subject))
    }

    /// Redis gets outcomes until it takes them: else an event that was sent would be sent once more after its lease.
    ///
    /// - Returns: Whether there is nothing to settle any more.
    private func settle() async -> Bool {
        guard !unsettled.isEmpty else { return true }
        let batch = unsettled
        unsettled = []
        do throws(RedisFailure) {
            _ = try await run(.queueSettle, [:], each: batch.flatMap(\.words))
        } catch {
            unsettled = batch + unsettled
            guard isOn else {
                forgetOutcomes()
                return false
            }
            schedule(after: error.isLasting ? Self.pauseOfDamage : Self.settlePause)
            return false
        }
        held.remove(batch)
        for row in batch where row.returned != nil { looks.added(due: Double(row.when), of: row.returned) }
        let reasons = Set(batch.map(\.shownReason)).subtracting([""])
        if !reasons.isEmpty {
            let why = reasons.sorted().joined(separator: ", ")
            shard.log(receiver.complaint, ["endpoint": receiver.shown, "reason": why], level: .warning)
        }
        return true
    }
}
