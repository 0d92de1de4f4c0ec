import PresenceCore
import PresenceProtocol
import Redis

/// Takes offered events out of the partitions, and puts them into the queues of the receivers that want them. One server at a
/// time is the courier, by a lease. Two at once do the same twice, which changes nothing: each queue remembers the newest entry
/// of each partition.
///
/// Each offered event is also published for watchers, so the courier looks at a partition after each event of it, and at all
/// partitions when it becomes the courier and every ``round``. With interests it does not receive all of these events, but what
/// `offer` (lib.lua) publishes on a channel of the partition: it follows these channels while it is the courier.
final class Courier {
    private unowned let shard: ShardLogic
    private(set) var queues: [DeliveryQueue] = []
    private var beat: DeadlineKind!
    private var due: DeadlineKind!
    private(set) var isCourier = false
    /// The work of features with events beside receivers. Each gets every event of a partition at least once, before it leaves the
    /// partition, and returns those that it must get again.
    var consumers: [(_ events: [OfferedEvent], _ partition: Int) async -> [OfferedEvent]] = []
    /// This server has become the courier, or still is.
    var onRound: () -> Void = {}
    /// By this shard's clock: no other server is the courier before.
    private var leadsUntil: Milliseconds = 0
    private var nextRound: Milliseconds = 0
    private var isAsking = false
    /// Partitions that may have events, each once, in the order in which they are looked at: while all have events all the time,
    /// none is left out.
    private var wanted: [Int] = []
    private var busy: Set<Int> = []
    /// Partitions of which something could not be taken, each with the newest entry that all queues have: later ones are taken all
    /// the same. With the next renewal of the lease they are looked at from their first entry.
    private var missed: [Int: String] = [:]
    /// The partitions of which it was logged that they cannot be used, until that may be logged again.
    private var complaints: (partitions: Set<Int>, until: Milliseconds) = ([], 0)
    /// Whether the server stops.
    private var isLeaving = false

    private static let lease: Milliseconds = 10_000
    private static let pause: Milliseconds = 3_000
    private static let round: Milliseconds = 30_000
    /// Partitions that are looked at at a time. A look is four or five answers of Redis, and on a busy server each of these takes
    /// several ms: with few at a time, an event of 128 partitions would wait for most of a second.
    private static let window = 32
    /// Entries of one page; a message with its earlier texts may have some 100 KiB, and `push.due` some 40.
    private static let page = 16
    private static let mostComplaints = 8

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        beat = registry.deadline { [unowned self] _ in lead() }
        due = registry.deadline { [unowned self] key in
            if case .number(let place) = key { queues[Int(place)].isDue() }
        }
        shard.overhear = { [unowned self] kind, partition in
            guard isCourier, shard.mayOffer(kind) else { return }
            scan(partition)
        }
    }

    /// Gives each receiver its queue. While features register, after `register`.
    func add(_ receivers: [any EventReceiver], _ counters: QueueCounters) -> [DeliveryQueue] {
        let added = receivers.enumerated().map { place, receiver in
            DeliveryQueue(shard, receiver, due, place: UInt64(queues.count + place), counters)
        }
        queues += added
        return added
    }

    // MARK: The lease

    func start() { schedule(after: Milliseconds.random(in: 1...500, using: &shard.random)) }

    func stop() {
        if isCourier { follow(false) }
        isCourier = false
        (wanted, missed) = ([], [:])
        for queue in queues { queue.stop() }
    }

    /// The server stops: another one may be the courier at once.
    func leave() {
        isLeaving = true
        guard isCourier else { return }
        stop()
        shard.tasks.run { [self] in _ = try? await runLeadCourier(for: 0) }
    }

    /// Logs that Redis refuses what is needed of a partition: at most once a minute for each, and for some of many.
    func complain(of partition: Int, _ failure: RedisFailure) {
        if shard.clock.now >= complaints.until { complaints = ([], shard.clock.now + 60_000) }
        guard failure.code != nil, complaints.partitions.count < Self.mostComplaints,
            complaints.partitions.insert(partition).inserted
        else { return }
        shard.log(
            "partition cannot be used", ["partition": "\(partition)", "reason": "\(failure)"], level: .warning)
    }

    private func schedule(after wait: Milliseconds) {
        shard.deadlines.setOnly(beat, at: shard.clock.now + wait)
    }

    private func lead() {
        guard shard.link.isLive, !isLeaving else { return }
        schedule(after: Self.pause)
        if isCourier, shard.clock.now >= leadsUntil { stop() }
        guard !isAsking else { return }
        isAsking = true
        shard.tasks.run { [self, shard] in
            let asked = shard.clock.now
            let reply = try? await runLeadCourier(for: Self.lease)
            isAsking = false
            guard shard.link.isLive, !isLeaving, let reply else { return }
            if reply.word == "OK" { lead(since: asked) } else { stop() }
        }
    }

    private func runLeadCourier(for lease: Milliseconds) async throws(RedisFailure) -> ScriptReply {
        let keys = shard.partitions.keys(0)
        return try await shard.reply(
            to: ScriptCall(.leadCourier, in: keys, ["courier": keys.courier], ["lease": lease]))
    }

    private func lead(since asked: Milliseconds) {
        leadsUntil = asked + Self.lease
        let began = !isCourier
        isCourier = true
        if began { follow(true) }
        let missed = missed
        self.missed = [:]
        for partition in missed.keys { scan(partition) }
        guard began || shard.clock.now >= nextRound else { return }
        nextRound = shard.clock.now + Self.round
        for partition in 0..<shard.partitions.count { scan(partition) }
        for queue in queues { queue.start() }
        onRound()
    }

    /// Events that were offered before their channel was followed are found by looking then.
    private func follow(_ isFollowing: Bool) {
        guard let interests = shard.interests else { return }
        for partition in 0..<shard.partitions.count {
            let channel = shard.partitions.keys(partition).offered
            guard isFollowing else {
                interests.release(channel)
                continue
            }
            interests.want(channel, of: partition)
            interests.whenFollowed(channel) { [self] isFollowed in if isFollowed { scan(partition) } }
        }
    }

    // MARK: Taking

    func scan(_ partition: Int) {
        want(partition)
        work()
    }

    private func want(_ partition: Int) {
        if !wanted.contains(partition) { wanted.append(partition) }
    }

    private func work() {
        while isCourier, busy.count < Self.window, let place = wanted.firstIndex(where: { !busy.contains($0) }) {
            let partition = wanted.remove(at: place)
            busy.insert(partition)
            shard.tasks.run { [self, shard] in
                await take(from: partition, on: shard)
                busy.remove(partition)
                work()
            }
        }
    }

    /// Takes a page of a partition's events: they are in all queues before they leave the partition.
    private func take(from partition: Int, on shard: ShardLogic) async {
        let key = shard.partitions.keys(partition).offers
        let before = missed[partition] ?? "0-0"
        do throws(RedisFailure) {
            let words = ["XRANGE", key, "(" + before, "+", "COUNT", String(Self.page)]
            let entries = try await shard.command(words).array ?? []
            guard !entries.isEmpty, isCourier else { return }
            let newest = entries.last?.array?.first?.string ?? "0-0"
            let events = entries.compactMap { OfferedEvent($0) }
            guard let staying = await hand(events, entries.count, newest, of: partition) else {
                // A queue ignores entries older than its newest: it must have these before newer ones.
                missed[partition] = before
                return
            }
            if staying.isEmpty, before == "0-0" {
                // Up to the newest, inclusive.
                _ = try await shard.command(["XTRIM", key, "MINID", Self.after(newest)])
            } else {
                missed[partition] = newest
                let ids = entries.compactMap { $0.array?.first?.string }.filter { !staying.contains($0) }
                if !ids.isEmpty { _ = try await shard.command(["XDEL", key] + ids) }
            }
            if entries.count == Self.page { want(partition) }
        } catch {
            missed[partition] = before
            complain(of: partition, error)
        }
    }

    /// The id after that of a stream's entry.
    static func after(_ entry: String) -> String {
        let parts = entry.split(separator: "-").compactMap { UInt64($0) }
        return parts.count == 2 ? "\(parts[0])-\(parts[1] + 1)" : entry
    }

    /// - Parameter count: Of the entries, some of which may be damaged.
    /// - Returns: The entries of events that not all consumers have; `nil` if not all queues have them.
    private func hand(
        _ events: [OfferedEvent], _ count: Int, _ newest: String, of partition: Int
    ) async -> Set<String>? {
        // An event "lost" stands for one that no receiver gets.
        let whole = events.filter { $0.type != "lost" }
        let told = whole.compactMap { event in event.body.map { (event: event, body: $0) } }
        for _ in 0..<(count - events.count + whole.count - told.count) {
            shard.log("damaged record", ["what": "an offered event"], level: .error)
        }
        let lost = events.reduce(0) { $0 + $1.lost }
        var (staying, isQueued): (Set<String>, Bool) = ([], true)
        await shard.tasks.each(queues, window: max(1, queues.count)) { queue in
            let entries = told.filter { queue.receiver.events.contains($0.event.type) }.flatMap {
                queue.receiver.entries(of: $0.event, body: $0.body, partition: partition)
            }
            // A receiver that wants none of these has nothing to remember.
            guard !entries.isEmpty || lost > 0 else { return }
            if await !queue.add(entries, newest: newest, lost: lost, of: partition) {
                isQueued = false
            }
        }
        await shard.tasks.each(consumers, window: max(1, consumers.count)) { consume in
            staying.formUnion(await consume(events, partition).map(\.entry))
        }
        return isQueued ? staying : nil
    }
}
