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
    /// partition, and returns whether it has what it needs.
    var consumers: [(_ events: [OfferedEvent], _ partition: Int) async -> Bool] = []
    /// This server has become the courier, or still is.
    var onRound: () -> Void = {}
    /// By this shard's clock: no other server is the courier before.
    private var leadsUntil: Milliseconds = 0
    private var nextRound: Milliseconds = 0
    private var isAsking = false
    /// Partitions that may have events.
    private var wanted: Set<Int> = []
    private var busy: Set<Int> = []
    /// Partitions of which something could not be taken; they are looked at with the next renewal of the lease.
    private var missed: Set<Int> = []

    private static let lease: Milliseconds = 10_000
    private static let pause: Milliseconds = 3_000
    private static let round: Milliseconds = 30_000
    /// Partitions that are looked at at a time.
    private static let window = 8
    /// Entries of one page; a message with its earlier texts may have some 100 KiB, and `push.due` some 40.
    private static let page = 50

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
        (wanted, missed) = ([], [])
        for queue in queues { queue.stop() }
    }

    private func schedule(after wait: Milliseconds) {
        shard.deadlines.setOnly(beat, at: shard.clock.now + wait)
    }

    private func lead() {
        guard shard.link.isLive else { return }
        schedule(after: Self.pause)
        if isCourier, shard.clock.now >= leadsUntil { stop() }
        guard !isAsking else { return }
        isAsking = true
        shard.tasks.run { [self, shard] in
            let (keys, asked) = (shard.partitions.keys(0), shard.clock.now)
            let call = ScriptCall(.leadCourier, in: keys, ["courier": keys.courier], ["lease": Self.lease])
            let reply = try? await shard.reply(to: call)
            isAsking = false
            guard shard.link.isLive, let reply else { return }
            if reply.word == "OK" { lead(since: asked) } else { stop() }
        }
    }

    private func lead(since asked: Milliseconds) {
        leadsUntil = asked + Self.lease
        let began = !isCourier
        isCourier = true
        if began { follow(true) }
        let missed = missed
        self.missed = []
        for partition in missed { scan(partition) }
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
        wanted.insert(partition)
        work()
    }

    private func work() {
        while isCourier, busy.count < Self.window, let partition = wanted.first(where: { !busy.contains($0) }) {
            wanted.remove(partition)
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
        guard let entries = try? await shard.command(["XRANGE", key, "-", "+", "COUNT", String(Self.page)]).array else {
            missed.insert(partition)
            return
        }
        guard !entries.isEmpty, isCourier else { return }
        let newest = entries.last?.array?.first?.string ?? "0-0"
        guard await hand(entries.compactMap { OfferedEvent($0) }, entries.count, newest, of: partition),
            // Up to the newest, inclusive.
            (try? await shard.command(["XTRIM", key, "MINID", Self.after(newest)])) != nil
        else {
            missed.insert(partition)
            return
        }
        if entries.count == Self.page { wanted.insert(partition) }
    }

    /// The id after that of a stream's entry.
    static func after(_ entry: String) -> String {
        let parts = entry.split(separator: "-").compactMap { UInt64($0) }
        return parts.count == 2 ? "\(parts[0])-\(parts[1] + 1)" : entry
    }

    /// - Parameter count: Of the entries, some of which may be damaged.
    /// - Returns: Whether all queues and consumers have them.
    private func hand(_ events: [OfferedEvent], _ count: Int, _ newest: String, of partition: Int) async -> Bool {
        // An event "lost" stands for one that no receiver gets.
        let whole = events.filter { $0.type != "lost" }
        let told = whole.compactMap { event in event.body.map { (event: event, body: $0) } }
        for _ in 0..<(count - events.count + whole.count - told.count) {
            shard.log("damaged record", ["what": "an offered event"], level: .error)
        }
        let lost = events.reduce(0) { $0 + $1.lost }
        var isDone = true
        await shard.tasks.each(queues, window: max(1, queues.count)) { queue in
            let entries = told.filter { queue.receiver.events.contains($0.event.type) }.flatMap {
                queue.receiver.entries(of: $0.event, body: $0.body, partition: partition)
            }
            // A receiver that wants none of these has nothing to remember.
            guard !entries.isEmpty || lost > 0 else { return }
            if await !queue.add(entries, newest: newest, lost: lost, of: partition) { isDone = false }
        }
        await shard.tasks.each(consumers, window: max(1, consumers.count)) { consume in
            if await !consume(events, partition) { isDone = false }
        }
        return isDone
    }
}
