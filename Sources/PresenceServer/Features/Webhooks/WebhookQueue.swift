import PresenceCore
import PresenceProtocol
import Redis

/// What waits for one receiver, in Redis, and who sends it: the courier, a batch at a time, on a thread of the pool.
///
/// What was taken is leased: nobody else gets it for ``lease``, and after that anybody does.
final class WebhookQueue {
    let receiver: any EventReceiver
    private unowned let shard: ShardLogic
    private let keys: [String]
    private let partition: PartitionKeys
    private let deadline: DeadlineKind
    private let place: UInt64
    private let counters: QueueCounters
    /// Makes the calls of a batch, on a thread of the pool.
    var send: @Sendable ([QueuedWebhook], Timestamp) -> [String: WebhookOutcome]
    /// Comes before each batch; calls back with whether there is what sending needs.
    var prepare: (@escaping (Bool) -> Void) -> Void = { $0(true) }
    /// Comes before each batch; calls back with what is to be done about its events, or `nil` if that is not known.
    var check: ([QueuedWebhook], @escaping (WebhookCheck?) -> Void) -> Void = { $1(WebhookCheck()) }
    /// What an event was for is not there any more, as of that time.
    var onGone: (QueuedWebhook, Timestamp) -> Void = { _, _ in }
    /// Comes before events are settled that nobody will get; calls back with whether it has what it needs. If not, or if this
    /// server dies meanwhile, they come again. It also comes for what was dropped, once; `nil`: nobody has to know.
    var onGivenUp: (([QueuedWebhook], @escaping (Bool) -> Void) -> Void)?
    private var isOn = false
    private var isBusy = false
    /// More may have come while it was.
    private var isWanted = false
    /// What became of the last batch, as long as the store has not taken it: ID OUTCOME PAUSE REASON of each.
    private var unsettled: [[String]] = []
    /// By this shard's clock: not looked at before.
    private var restsUntil: Milliseconds = 0
    /// When the next deadline that counts comes; `.max` if there is none.
    private var scheduled: Milliseconds = .max
    /// Batches of which nothing was taken, one after the other.
    private var failures = 0
    private(set) var waiting = 0
    private(set) var isOff = false

    private static let mostBytes = 4 * 1_024 * 1_024
    private static let settlePause: Milliseconds = 200
    /// Longer than a batch takes: 5 s, and 15 s of the last call.
    private static let lease: Milliseconds = 30_000

    init(
        _ shard: ShardLogic, _ receiver: any EventReceiver, _ deadline: DeadlineKind, place: UInt64,
        _ counters: QueueCounters
    ) {
        self.shard = shard
        self.receiver = receiver
        (self.deadline, self.place, self.counters) = (deadline, place, counters)
        partition = shard.partitions.keys(of: receiver.id)
        keys = [partition.shards] + partition.webhook(receiver.id)
        send = { receiver.send($0, at: $1) }
    }

    /// This server is the courier.
    func start() {
        isOn = true
        wake()
    }

    /// It is not any more: what is under way is not settled here, if it ends after that, but by the lease.
    func stop() {
        isOn = false
        (waiting, isOff, failures, restsUntil, unsettled) = (0, false, 0, 0, [])
    }

    func isDue() {
        guard shard.clock.now >= scheduled else { return }
        scheduled = .max
        wake()
    }

    private func schedule(at time: Milliseconds) {
        guard time < scheduled else { return }
        scheduled = time
        shard.deadlines.set(deadline, .number(place), at: time)
    }

    private func run(_ script: Script, _ arguments: [String], reply: @escaping (WebhookReply) -> Void) {
        shard.store.run(
            script, keys: keys, arguments: [partition.events, shard.link.incarnation] + arguments, lane: .commands
        ) { [self] result in
            if result.failure?.isLasting == true {
                shard.noteDamage("webhook", of: receiver.id)
                return reply(.damaged)
            }
            guard !shard.link.noticeFencing(in: result), case .success(let value) = result else {
                return reply(.nothing)
            }
            reply(.words(value.array ?? []))
        }
    }

    // MARK: Adding

    /// A damaged queue drops what comes: the other receivers must have theirs.
    ///
    /// - Parameter done: Gets whether they are there, or were dropped.
    func add(
        _ events: [WaitingEvent], newest: String, lost: Int64, of partition: Int, done: @escaping (Bool) -> Void
    ) {
        let entries = events.flatMap {
            [$0.id, $0.entry, String($0.at), $0.subject, String(decoding: $0.body, as: UTF8.self)]
        }
        let most = receiver.mostWaiting(shard.configuration)
        run(
            .webhookEnqueue,
            [receiver.url, String(partition), newest, String(most), String(lost), onGivenUp == nil ? "0" : "1"]
                + entries
        ) { [self] reply in
            if case .damaged = reply {
                counters.dropped.value += events.count
                return done(true)
            }
            guard case .words(let words) = reply, words.first?.string == "OK", words.count > 1 else {
                return done(false)
            }
            counters.dropped.value += words[1].int.map { Int($0) } ?? 0
            let dropped = QueuedWebhook.all(words.dropFirst(2)).events
            if !dropped.isEmpty { onGivenUp?(dropped) { _ in } }
            done(true)
            wake()
        }
    }

    // MARK: Sending

    private func wake() {
        guard isOn, shard.link.isLive else { return }
        guard !isBusy else {
            isWanted = true
            return
        }
        guard unsettled.isEmpty else {
            isBusy = true
            return settle(unsettled)
        }
        guard shard.clock.now >= restsUntil else { return schedule(at: restsUntil) }
        isBusy = true
        isWanted = false
        let arguments = [String(receiver.mostAtATime), String(Self.mostBytes), String(Self.lease)]
        run(.webhookTake, arguments) { [self] reply in
            guard case .words(let words) = reply else { return finish(after: reply.pause) }
            guard isOn else { return finish() }
            isOff = words.first?.string == "OFF"
            waiting = words.count > 1 ? Int(words[1].int ?? 0) : 0
            guard words.count > 2, !isOff else { return finish() }
            let (events, damaged) = QueuedWebhook.all(words.dropFirst(3))
            guard damaged.isEmpty else {
                // What no server has written goes first: it would come again for ever.
                shard.noteDamage("webhook", of: receiver.id)
                return settle(damaged.map { [$0, "givenUp", "0", "damaged record"] } + events.map(Self.again))
            }
            guard !events.isEmpty else { return finish(after: words[2].int) }
            prepare { [self] isReady in
                guard isReady else { return settle(events, [:]) }
                check(events) { [self] check in
                    guard let check else { return settle(events, [:]) }
                    call(check.current(events), check.settled)
                }
            }
        }
    }

    /// For `webhook-settle`: it is taken anew.
    private static func again(_ event: QueuedWebhook) -> [String] { [event.id, "again", "0", ""] }

    /// - Parameter settled: What became of those that are not to be sent.
    private func call(_ events: [QueuedWebhook], _ settled: [String: WebhookOutcome]) {
        let (send, now, rest) = (send, shard.clock.redisNow, events.filter { settled[$0.id] == nil })
        guard !rest.isEmpty else { return settle(events, settled) }
        do {
            try shard.jobs.run(in: receiver.pool) {
                send(rest, now)
            } then: { [self] result in
                guard case .success(let outcomes) = result else { return finish(after: 1_000) }
                settle(events, outcomes.merging(settled) { sent, _ in sent })
            }
        } catch {
            settle(events, settled)
        }
    }

    private func settle(_ events: [QueuedWebhook], _ outcomes: [String: WebhookOutcome]) {
        var (words, batch): ([[String]], Batch) = ([], Batch())
        for event in events { words.append([event.id] + note(outcomes[event.id], of: event, in: &batch)) }
        counters.sent.value += batch.taken
        if !batch.reasons.isEmpty {
            let why = batch.reasons.sorted().joined(separator: ", ")
            shard.log(receiver.complaint, ["endpoint": receiver.shown, "reason": why], level: .warning)
        }
        rest(after: batch)
        let givenUp = zip(events, words).filter { $1[1] == "givenUp" }.map(\.0)
        guard !givenUp.isEmpty, let onGivenUp else { return settle(words) }
        onGivenUp(givenUp) { [self] isDone in
            settle(isDone ? words : words.map { $0[1] == "givenUp" ? [$0[0], "again", "1000", ""] : $0 })
        }
    }

    /// What the store does not take is said again until it does: else what was sent would be sent once more after its lease.
    ///
    /// - Parameter words: ID OUTCOME PAUSE REASON of each.
    private func settle(_ words: [[String]]) {
        run(.webhookSettle, words.flatMap(\.self)) { [self] reply in
            if case .words = reply { unsettled = [] } else { unsettled = isOn ? words : [] }
            isWanted = unsettled.isEmpty
            if case .damaged = reply { finish(after: reply.pause) } else { finish(after: Self.settlePause) }
        }
    }

    /// What became of a batch.
    private struct Batch {
        var taken = 0
        /// Whether the receiver has said of one that it will not have it.
        var isAnswered = false
        /// Whom those were for that may be tried again.
        var failed: Set<String> = []
        /// How many were not tried.
        var left = 0
        var asked: Milliseconds = 0
        var reasons: Set<String> = []
    }

    /// - Returns: OUTCOME PAUSE REASON, for `webhook-settle`.
    private func note(_ outcome: WebhookOutcome?, of event: QueuedWebhook, in batch: inout Batch) -> [String] {
        switch outcome {
        case .taken?:
            batch.taken += 1
            return ["taken", "0", ""]
        case .refused(let why)?:
            counters.givenUp.value += 1
            batch.isAnswered = true
            batch.reasons.insert(why)
            return ["givenUp", "0", why]
        case .gone(let at)?:
            batch.isAnswered = true
            onGone(event, at)
            return ["givenUp", "0", ""]
        case .withdrawn?: return ["givenUp", "0", ""]
        case .unwanted?:
            batch.failed.insert(event.subject)
            batch.reasons.insert("status 410: it is switched off")
            return ["unwanted", "0", "status 410"]
        case .failed(let why, let wait)?:
            counters.failed.value += 1
            batch.failed.insert(event.subject)
            batch.asked = max(batch.asked, wait)
            batch.reasons.insert(why)
            let spread = Double.random(in: -1...1, using: &shard.random)
            guard let pause = receiver.pause(after: event.tries + 1, asked: wait, spread: spread) else {
                counters.givenUp.value += 1
                return ["givenUp", "0", why]
            }
            return ["failed", String(pause), why]
        case nil:
            batch.left += 1
            return ["again", "0", ""]
        }
    }

    private func rest(after batch: Batch) {
        let isTried = batch.taken > 0 || batch.isAnswered || !batch.failed.isEmpty
        // What a service says of one device says nothing of the others, and that one has a pause of its own.
        let isOfOne = !receiver.pausesForAll && batch.failed.count == 1
        let isLost = !isOfOne && batch.taken == 0 && !batch.isAnswered && !batch.failed.isEmpty
        failures = isLost ? failures + 1 : 0
        // One event waits for what its answer asked. All do if it was asked of all; or, for a minute at most, of several
        // devices when nothing else came: they may be one user's.
        let asked = receiver.pausesForAll ? batch.asked : isLost ? min(batch.asked, 60_000) : 0
        let pause = max(isLost ? RetrySchedule.rest(after: failures) : 0, asked)
        // Without any outcome the pool had no room, or what is needed is not there.
        let isStuck = !isTried && batch.left > 0
        if pause > 0 || isStuck { restsUntil = shard.clock.now + max(pause, 1_000) }
    }

    /// - Parameter wait: Until there is something to do; `nil`: not known.
    private func finish(after wait: Milliseconds? = nil) {
        isBusy = false
        if isWanted { return wake() }
        if isOn, let wait { schedule(at: shard.clock.now + max(wait, 10)) }
    }
}
