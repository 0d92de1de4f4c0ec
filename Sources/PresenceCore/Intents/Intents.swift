import PresenceProtocol
import Redis

/// Carries out intents: those of this shard's requests and those that other executors left.
///
/// Guarantee: an intent that was written (its first script has run) is carried out to its end, whatever crashes: until
/// then it is in its partition's set `unfinished`, and every shard looks there. Two executors may carry out the same
/// intent at once, and an executor may be arbitrarily late: the steps' numbers decide, not a clock or a lease.
///
/// Intents with many steps are carried out in parts (``IntentEnd/more(_:rest:)``), which take turns. So they block
/// neither a sweep, nor the subject's next request, nor other long intents.
///
/// Price: a `SRANDMEMBER` for each partition and shard every ``pause`` if a feature has registered a kind, else nothing.
package final class Intents {
    private unowned let shard: ShardLogic
    private var kinds: [String: IntentExecutor] = [:]
    /// By intent, in the order of their requests: the first is running. So one user's requests do not race on one shard.
    private var runs: [Intent: [IntentRun]] = [:]
    /// By intent, with the next part; ``queue`` has the order of their turns.
    private var rests: [Intent: IntentExecutor] = [:]
    private var queue: [Intent] = []
    private var turns = 0
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
    private(set) var resumed = 0
    var (steps, failures) = (0, 0)
    /// The number of intents running here.
    var underWay: Int { runs.count + rests.count }
    /// The number of intents whose further part waits for its turn.
    var waiting: Int { rests.count }

    init(_ shard: ShardLogic) { self.shard = shard }

    func add(_ kinds: [String: IntentExecutor]) { self.kinds = kinds }

    // MARK: Runs

    /// Carries out an intent; the first step of `executor` writes it, or finds that an earlier one comes first.
    ///
    /// - Parameters:
    ///   - user: The user who makes the request, if many users can make requests for one subject.
    ///   - executor: `nil` for an intent that a script has written.
    ///   - reply: Called once with the result or with the failure. After the first step has run, every failure means that
    ///     the outcome is unknown: the intent will be carried out.
    package func begin(
        _ intent: Intent, of user: UserID? = nil, _ executor: IntentExecutor? = nil,
        reply: @escaping StoreReply = { _ in }
    ) {
        let all = runs[intent] ?? []
        let most = user == nil ? Self.mostOfBackends : Self.mostOfUser
        guard all.count < Self.mostWaiting, all.count(where: { $0.user == user }) < most else {
            return reply(.failure(.overloaded))
        }
        enqueue(IntentRun(intent, on: shard, of: user, executor ?? kinds[intent.kind.name]!, reply: reply))
    }

    private func enqueue(_ run: IntentRun) {
        runs[run.intent, default: []].append(run)
        if runs[run.intent]!.count == 1 { start(run) }
    }

    private func start(_ run: IntentRun) {
        shard.tasks.run { [self] in
            do throws(RedisFailure) {
                switch try await run.executor(run) {
                case .done(let value): run.complete(value)
                case .more(let value, let rest):
                    run.complete(value)
                    postpone(rest, of: run.intent)
                }
            } catch {
                run.fail(error)
            }
            runs[run.intent]?.removeFirst()
            if let next = runs[run.intent]?.first { start(next) } else { runs[run.intent] = nil }
        }
    }

    // MARK: Turns

    private func postpone(_ rest: @escaping IntentExecutor, of intent: Intent) {
        if rests[intent] == nil {
            guard turns < mostTurns || rests.count < mostWaitingTurns else { return }
            queue.append(intent)
        }
        rests[intent] = rest
        startQueued()
    }

    private func startQueued() {
        // The first sweep after a break finds them in Redis.
        if !shard.link.isLive { (rests, queue) = ([:], []) }
        while turns < mostTurns, !queue.isEmpty {
            let intent = queue.removeFirst()
            guard let rest = rests.removeValue(forKey: intent) else { continue }
            turns += 1
            // Behind the subject's pending requests.
            let run = IntentRun(intent, on: shard, isResumed: true, rest) { [self] _ in
                turns -= 1
                startQueued()
            }
            enqueue(run)
        }
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
        shard.tasks.run { [self] in
            let found = Found()
            await shard.tasks.each(Array(0..<shard.partitions.count), window: Self.window) { [self] in
                await scan($0, found)
            }
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

    private func scan(_ partition: Int, _ found: Found) async {
        let key = shard.partitions.keys(partition).unfinished
        do throws(RedisFailure) {
            let value = try await shard.command(["SRANDMEMBER", key, String(Self.batch)])
            let members = (value.array ?? []).compactMap(\.string).sorted()
            found.count += members.count
            for member in members {
                switch await carryOn(member) {
                case .success?: found.isMore = found.isMore || members.count >= Self.batch
                case .failure(let failure)? where !failure.isLasting: found.hasFailed = true
                case .failure?, nil: break
                }
            }
        } catch {
            // A key of another type is left to `presenced doctor`.
            if !error.isLasting { found.hasFailed = true }
        }
    }

    /// Continues an intent unless it is running here. An unknown kind belongs to a feature that is disabled: it waits.
    ///
    /// - Returns: The result; `nil` if nothing was done.
    private func carryOn(_ member: String) async -> Result<RedisValue, RedisFailure>? {
        let words = member.split(separator: " ", maxSplits: 1).map(String.init)
        guard words.count == 2, let subject = Identifier(words[1]), let executor = kinds[words[0]] else { return nil }
        let intent = Intent(IntentKind(name: words[0]), subject)
        guard runs[intent] == nil, rests[intent] == nil else { return nil }
        resumed += 1
        return await shard.tasks.wait { enqueue(IntentRun(intent, on: shard, isResumed: true, executor, reply: $0)) }
    }
}
