import PresenceProtocol
import Redis

/// Carries out intents: those of this shard's requests and those that other executors left.
///
/// Guarantee: an intent that was written (its first script has run) is carried out to its end, whatever crashes: until
/// then it is in its partition's set `unfinished`, and every shard looks there. Two executors may carry out the same
/// intent at once, and an executor may be arbitrarily late: the steps' numbers decide, not a clock or a lease.
///
/// Intents with many steps are carried out in parts (``IntentProgress/more(_:rest:)``), which take turns. So they block
/// neither a sweep, nor the subject's next request, nor other long intents.
///
/// Price: a `SRANDMEMBER` for each partition and shard every ``pause`` if a feature has registered a kind, else nothing.
package final class Intents {
    private unowned let shard: ShardLogic
    private var kinds: [String: (Identifier) -> IntentStep] = [:]
    /// By intent, in the order of their requests: the first is running. So one user's requests do not race on one shard.
    private var runs: [Intent: [Run]] = [:]
    /// By intent, with the first step of the next part; ``queue`` has the order of their turns.
    private var rests: [Intent: IntentStep] = [:]
    private var queue: [Intent] = []
    private var turns = 0
    private var isTakingTurns = false
    private var isSweeping = false
    private var failedSweeps = 0
    private var nextSweep: Milliseconds = 0

    /// Interval between two sweeps, in ms. After a crash, released things become free and begun changes are completed
    /// within about this time.
    var pause: Milliseconds = 10_000
    /// The interval after a sweep that found more in a partition than it takes at a time, in ms.
    private static let shortPause: Milliseconds = 1_000
    /// While Redis rejects commands, the interval doubles up to this, in ms.
    private static let longestPause: Milliseconds = 60_000
    /// The most unfinished intents of one partition that a sweep takes.
    static let batch = 10
    /// The most partitions that a sweep processes at a time, one intent in each.
    private static let window = 8
    /// The most steps of one run, up to its end or its next part. If a run needs more, other executors undo its work:
    /// the next sweep continues.
    static let mostSteps = 64
    /// The most pending requests for one subject in all, of one user (so that others find room), and of backends.
    static let (mostWaiting, mostOfUser, mostOfBackends) = (64, 4, 16)
    /// The most intents with a further part running.
    var mostTurns = 8
    /// The most intents with a further part that waits for its turn. Further ones are left to the next sweep.
    var mostWaitingTurns = 1_000

    /// The number of intents that the last sweep found in all partitions, at most ``batch`` in each.
    private(set) var pending = 0
    private(set) var steps = 0
    private(set) var resumed = 0
    private(set) var failures = 0
    /// The number of intents running here.
    var underWay: Int { runs.count + rests.count }
    /// The number of intents whose further part waits for its turn.
    var waiting: Int { rests.count }

    private final class Run {
        let first: IntentStep
        var reply: StoreReply?
        var steps = 0
        /// Whether a script has run: then the intent may have been written.
        var hasBegun = false
        /// It continues an intent that was written earlier, and no request waits for it.
        let isResumed: Bool
        /// The user whose request waits for it; `nil`: a backend's, or the server's own.
        let user: UserID?
        /// The reason for a skipped step.
        var damage: RedisFailure?

        init(_ first: IntentStep, isResumed: Bool = false, of user: UserID? = nil, _ reply: StoreReply?) {
            self.first = first
            self.user = user
            self.isResumed = isResumed
            self.reply = reply
        }

        /// The final result. A request does not get the failure of a skipped step, which is not part of its question. A
        /// sweep gets it, so that it does not return sooner for an intent that cannot be completed.
        func outcome(_ value: RedisValue) -> Result<RedisValue, RedisFailure> {
            isResumed ? damage.map { .failure($0) } ?? .success(value) : .success(value)
        }
    }

    init(_ shard: ShardLogic) { self.shard = shard }

    func add(_ kinds: [String: (Identifier) -> IntentStep]) { self.kinds = kinds }

    // MARK: Requests

    /// Carries out a request's intent; its first step writes the intent, or finds that an earlier one comes first.
    ///
    /// - Parameters:
    ///   - user: The user who makes the request, if many users can make requests for one subject.
    ///   - reply: Called once with the steps' result or with the failure. After the first step has run, every failure
    ///     means
    ///   that the outcome is unknown: the intent will be carried out.
    package func begin(_ intent: Intent, first: IntentStep, of user: UserID? = nil, reply: @escaping StoreReply) {
        let all = runs[intent] ?? []
        let most = user == nil ? Self.mostOfBackends : Self.mostOfUser
        guard all.count < Self.mostWaiting, all.count(where: { $0.user == user }) < most else {
            return reply(.failure(.overloaded))
        }
        enqueue(Run(first, of: user, reply), intent)
    }

    private func enqueue(_ run: Run, _ intent: Intent) {
        runs[intent, default: []].append(run)
        if runs[intent]!.count == 1 { perform(run.first, of: run, intent) }
    }

    // MARK: Steps

    private func perform(_ step: IntentStep, of run: Run, _ intent: Intent) {
        run.steps += 1
        guard run.steps <= Self.mostSteps else { return fail(run, intent, .overloaded) }
        step.run(shard) { [self] result in
            switch result {
            case .failure(let failure):
                guard failure.isLasting, let skip = step.skip else { return fail(run, intent, failure) }
                failures += 1
                run.damage = failure
                shard.recordDamage("intent " + intent.kind.name, of: step.subject)
                proceed(on: skip(), run, intent)
            case .success where shard.link.noticeFencing(in: result):
                fail(run, intent, .disconnected(sent: false))
            // The writer is banned, their token was revoked, or their session has ended: nothing was changed, and no intent was written.
            case .success(let value) where ["BANNED", "REVOKED", "ENDED"].contains(value.array?.first?.string):
                proceed(on: .end(value), run, intent)
            case .success(let value):
                run.hasBegun = true
                steps += 1
                proceed(on: step.next(value), run, intent)
            }
        }
    }

    private func proceed(on progress: IntentProgress, _ run: Run, _ intent: Intent) {
        switch progress {
        case .step(let step): perform(step, of: run, intent)
        case .answer(let value, let step):
            sendReply(run, .success(value))
            perform(step, of: run, intent)
        case .more(let value, let rest):
            sendReply(run, run.outcome(value))
            postpone(rest, of: intent)
            finish(run, intent)
        case .end(let value):
            sendReply(run, run.outcome(value))
            finish(run, intent)
        case .fail(let failure): fail(run, intent, failure)
        }
    }

    private func fail(_ run: Run, _ intent: Intent, _ failure: RedisFailure) {
        failures += 1
        if failure.isLasting { shard.recordDamage("intent " + intent.kind.name, of: intent.subject) }
        // After a temporary rejection the intent may be half done, and will be completed.
        sendReply(run, .failure(run.hasBegun && !failure.isLasting ? .disconnected(sent: true) : failure))
        finish(run, intent)
    }

    private func sendReply(_ run: Run, _ result: Result<RedisValue, RedisFailure>) {
        let reply = run.reply
        run.reply = nil
        reply?(result)
    }

    private func finish(_ run: Run, _ intent: Intent) {
        runs[intent]?.removeFirst()
        if let next = runs[intent]?.first { perform(next.first, of: next, intent) } else { runs[intent] = nil }
    }

    // MARK: Turns

    private func postpone(_ rest: IntentStep, of intent: Intent) {
        if rests[intent] == nil {
            guard turns < mostTurns || rests.count < mostWaitingTurns else { return }
            queue.append(intent)
        }
        rests[intent] = rest
        startQueued()
    }

    /// Guarded, so that a turn that ends at once does not recurse.
    private func startQueued() {
        guard !isTakingTurns else { return }
        isTakingTurns = true
        // The first sweep after a break finds them in Redis.
        if !shard.link.isLive { (rests, queue) = ([:], []) }
        while turns < mostTurns, !queue.isEmpty {
            let intent = queue.removeFirst()
            guard let rest = rests.removeValue(forKey: intent) else { continue }
            turns += 1
            // Behind the subject's pending requests.
            enqueue(
                Run(rest, isResumed: true) { [self] _ in
                    turns -= 1
                    startQueued()
                }, intent)
        }
        isTakingTurns = false
    }

    // MARK: Sweeping

    /// The shard is live: the first sweep takes place at a random time within a pause, so that shards do not all sweep
    /// at once.
    func resume() {
        guard !kinds.isEmpty else { return }
        failedSweeps = 0
        schedule(after: Milliseconds.random(in: 1...pause, using: &shard.random))
    }

    /// Earlier deadlines become void.
    private func schedule(after wait: Milliseconds) {
        nextSweep = shard.clock.now + wait
        shard.deadlines.set(.intents, at: nextSweep)
    }

    /// A deadline has passed: looks at each partition, and continues some of the intents there.
    func sweep() {
        guard shard.link.isLive, !isSweeping, shard.clock.now >= nextSweep else { return }
        isSweeping = true
        let found = Found()
        BoundedConcurrency(Array(0..<shard.partitions.count), window: Self.window) { [self] partition, next in
            scan(partition, found, done: next)
        } done: { [self] in
            isSweeping = false
            if !found.hasFailed { pending = found.count }
            failedSweeps = found.hasFailed ? min(failedSweeps + 1, 10) : 0
            let longer = max(pause, min(Self.longestPause, pause << Int64(failedSweeps)))
            if shard.link.isLive {
                schedule(after: found.isMore && !found.hasFailed ? min(pause, Self.shortPause) : longer)
            }
        }
    }

    /// The result of a sweep.
    private final class Found {
        var count = 0
        /// A partition has more intents than were taken, and they can be completed.
        var isMore = false
        /// Redis rejected a command. (A damaged record does not count: it must not delay the others.)
        var hasFailed = false
    }

    private func scan(_ partition: Int, _ found: Found, done: @escaping () -> Void) {
        let key = shard.partitions.keys(partition).unfinished
        shard.store.command(["SRANDMEMBER", key, String(Self.batch)], lane: .commands) { [self] result in
            guard case .success(let value) = result else {
                // A key of another type is left to `presenced doctor`.
                if case .failure(let failure) = result, !failure.isLasting { found.hasFailed = true }
                return done()
            }
            let members = (value.array ?? []).compactMap(\.string).sorted()
            found.count += members.count
            BoundedConcurrency(members, window: 1) { [self] member, next in
                carryOn(member) { result in
                    switch result {
                    case .success?: found.isMore = found.isMore || members.count >= Self.batch
                    case .failure(let failure)? where !failure.isLasting: found.hasFailed = true
                    case .failure?, nil: break
                    }
                    next()
                }
            } done: {
                done()
            }
        }
    }

    /// Continues an intent unless it is running here. An unknown kind belongs to a feature that is disabled: it waits.
    ///
    /// - Parameter done: Gets the result; `nil` if nothing was done.
    private func carryOn(_ member: String, done: @escaping (Result<RedisValue, RedisFailure>?) -> Void) {
        let words = member.split(separator: " ", maxSplits: 1)
        guard words.count == 2, let subject = Identifier(String(words[1])), let first = kinds[String(words[0])] else {
            return done(nil)
        }
        let intent = Intent(IntentKind(name: String(words[0])), subject)
        guard runs[intent] == nil, rests[intent] == nil else { return done(nil) }
        resumed += 1
        enqueue(Run(first(subject), isResumed: true, done), intent)
    }
}
