import PresenceCore
import PresenceProtocol
import Redis

/// The events that wait for one receiver, in Redis, and the calls that the courier's server makes for them.
///
/// Each call is on its own: a slow one delays only the later events of its subject, which are sent in their order. An event that was
/// taken is leased: no other server gets it for ``lease``, and after that any does.
final class DeliveryQueue {
    let receiver: any EventReceiver
    private unowned let shard: ShardLogic
    private let partition: PartitionKeys
    private let deadline: DeadlineKind
    private let place: UInt64
    private let counters: QueueCounters
    /// Makes a call. Tests put another in its place.
    var send: (QueuedEvent, Timestamp) async -> DeliveryOutcome?
    private var isOn = false
    private var isWorking = false
    /// More may have come meanwhile.
    private var isWanted = false
    /// By subject, for which a call is under way: the events behind it.
    private var behind: [String: [TakenEvent]] = [:]
    /// Events that were taken and are not settled, and their bytes.
    private var held = (count: 0, bytes: 0)
    /// Outcomes that Redis does not have yet.
    private var unsettled: [QueueSettlement] = []
    private var rest = ReceiverRest()
    /// When the next deadline that counts comes; `.max` if there is none.
    private var scheduled: Milliseconds = .max
    private(set) var waiting = 0
    private(set) var isOff = false

    private static let most = (count: 1_000, bytes: 4 * 1_024 * 1_024)
    private static let settlePause: Milliseconds = 200
    private static let retry: Milliseconds = 1_000
    private static let pauseOfDamage: Milliseconds = 60_000
    /// Longer than an event is held: `longest`, and 15 s of its call.
    private static let lease: Milliseconds = 30_000
    /// ms since an event was taken, after which its call does not begin.
    private static let longest: Milliseconds = 5_000

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

    /// This server is the courier.
    func start() {
        isOn = true
        wake()
    }

    /// It is not any more: events that are not under way are left to their leases.
    func stop() {
        isOn = false
        (waiting, isOff, rest) = (0, false, ReceiverRest())
        forgetOutcomes()
    }

    private func forgetOutcomes() {
        held.count -= unsettled.count
        unsettled = []
    }

    func isDue() {
        guard shard.clock.now >= scheduled else { return }
        scheduled = .max
        wake()
    }

    private func schedule(after wait: Milliseconds) {
        let time = shard.clock.now + max(wait, 10)
        guard isOn, time < scheduled else { return }
        scheduled = time
        shard.deadlines.set(deadline, .number(place), at: time)
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
        do throws(RedisFailure) {
            let reply = try await run(.queueAdd, arguments, each: rows)
            counters.dropped.value += Int(reply[0].int ?? 0)
            let dropped = stride(from: 1, to: reply.count - 1, by: 2).compactMap { place in
                reply[place].string.flatMap { QueuedEvent(id: $0, reply[place + 1].bytes ?? []) }
            }
            if !dropped.isEmpty { shard.tasks.run { [receiver] in _ = await receiver.giveUp(dropped) } }
            wake()
            return true
        } catch {
            guard error.isLasting else { return false }
            counters.dropped.value += events.count
            return true
        }
    }

    // MARK: Taking and settling

    private func wake() {
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
        guard await settle(), isOn else { return }
        let pause = rest.until - shard.clock.now
        guard pause <= 0 else { return schedule(after: pause) }
        let free = min(receiver.mostAtATime - behind.count, Self.most.count - held.count)
        let bytes = Self.most.bytes - held.bytes
        if free > 0, bytes > 0 { await take(free, bytes) }
    }

    private func take(_ most: Int, _ bytes: Int) async {
        let now = shard.clock.now
        let reply: ScriptReply
        do throws(RedisFailure) {
            reply = try await run(.queueTake, ["most": most, "mostBytes": bytes, "lease": Self.lease])
        } catch {
            return schedule(after: error.isLasting ? Self.pauseOfDamage : Self.retry)
        }
        guard isOn else { return }
        isOff = reply.word == "OFF"
        waiting = Int(reply[0].int ?? 0)
        guard !isOff else { return }
        for place in stride(from: 2, to: reply.count - 2, by: 3) {
            guard let id = reply[place].string else { continue }
            held.count += 1
            if let event = QueuedEvent(id: id, reply[place + 2].bytes ?? []) {
                begin(TakenEvent(event: event, due: reply[place + 1].int ?? 0, takenAt: now))
            } else {
                // No server has written it: it would come again for ever.
                shard.recordDamage("webhook", of: receiver.id)
                unsettled.append(QueueSettlement(id: id, outcome: .givenUp, reason: "damaged record"))
                isWanted = true
            }
        }
        guard let wait = reply[1].int else { return }
        if wait > 0 { schedule(after: wait) } else { isWanted = true }
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
        held.count -= batch.count
        let reasons = Set(batch.map(\.shownReason)).subtracting([""])
        if !reasons.isEmpty {
            let why = reasons.sorted().joined(separator: ", ")
            shard.log(receiver.complaint, ["endpoint": receiver.shown, "reason": why], level: .warning)
        }
        return true
    }

    /// - Throws: also if this server may not write any more.
    private func run(
        _ script: Script, _ arguments: KeyValuePairs<StaticString, any ScriptArgument>,
        each rows: [any ScriptArgument] = []
    ) async throws(RedisFailure) -> ScriptReply {
        do throws(RedisFailure) {
            let keys = partition.queue(receiver.id)
            return try await shard.reply(to: ScriptCall(script, in: partition, keys, arguments, each: rows))
        } catch {
            if error.isLasting { shard.recordDamage("webhook", of: receiver.id) }
            throw error
        }
    }

    // MARK: Calling

    /// Calls now, or after the events before it of the same subject.
    private func begin(_ taken: TakenEvent) {
        let subject = taken.event.subject
        held.bytes += taken.event.body.count
        guard behind[subject] == nil else {
            behind[subject]?.append(taken)
            return
        }
        behind[subject] = []
        shard.tasks.run { [self, shard] in
            var next: TakenEvent? = taken
            while let taken = next {
                await deliver(taken, on: shard)
                held.bytes -= taken.event.body.count
                next = behind[subject]?.isEmpty == false ? behind[subject]?.removeFirst() : nil
            }
            behind[subject] = nil
            if behind.isEmpty { rest.isIdle() }
            wake()
        }
    }

    private func deliver(_ taken: TakenEvent, on shard: ShardLogic) async {
        let (event, began) = (taken.event, shard.clock.now)
        guard isOn else {
            held.count -= 1
            return
        }
        // With a receiver so slow, the leases of a subject's events would end before they are sent.
        guard began - taken.takenAt < Self.longest, began >= rest.until else { return giveBack(taken) }
        let current: QueuedEvent?
        do throws(RedisFailure) {
            current = try await receiver.current(event)
        } catch {
            rest.isStuck(at: shard.clock.now)
            return giveBack(taken)
        }
        guard let current else { return await giveUp(taken, nil) }
        let outcome = await send(current, shard.clock.redisNow)
        await record(outcome, of: taken, since: began)
        wake()
    }

    /// It was not tried, and is due as before.
    private func giveBack(_ taken: TakenEvent) {
        unsettled.append(QueueSettlement(id: taken.event.id, outcome: .again, when: taken.due))
    }

    private func giveUp(_ taken: TakenEvent, _ reason: String?) async {
        guard await receiver.giveUp([taken.event]) else {
            rest.isStuck(at: shard.clock.now)
            return giveBack(taken)
        }
        unsettled.append(QueueSettlement(id: taken.event.id, outcome: .givenUp, reason: reason ?? ""))
    }

    private func record(_ outcome: DeliveryOutcome?, of taken: TakenEvent, since began: Milliseconds) async {
        let (event, now) = (taken.event, shard.clock.now)
        switch outcome {
        case .taken?:
            counters.sent.value += 1
            rest.isAnswered(at: now)
            unsettled.append(QueueSettlement(id: event.id, outcome: .taken))
        case .refused(let reason)?:
            counters.givenUp.value += 1
            rest.isAnswered(at: now)
            await giveUp(taken, reason)
        case .gone(let time)?:
            rest.isAnswered(at: now)
            await receiver.isGone(event, since: time)
            await giveUp(taken, nil)
        case .unwanted?:
            rest.hasFailed(event.subject, since: began, asked: 0, isOfAll: receiver.pausesForAll, at: now)
            unsettled.append(QueueSettlement(id: event.id, outcome: .unwanted, reason: "status 410"))
        case .failed(let reason, let asked)?:
            counters.failed.value += 1
            rest.hasFailed(event.subject, since: began, asked: asked, isOfAll: receiver.pausesForAll, at: now)
            let spread = Double.random(in: -1...1, using: &shard.random)
            guard let pause = receiver.pause(after: event.tries + 1, asked: asked, spread: spread) else {
                counters.givenUp.value += 1
                return await giveUp(taken, reason)
            }
            unsettled.append(QueueSettlement(id: event.id, outcome: .failed, when: pause, reason: reason))
        case nil:
            rest.isStuck(at: now)
            giveBack(taken)
        }
    }
}
