import PresenceCore
import PresenceProtocol
import Redis

/// Takes what scripts have offered out of the partitions, and puts it into the queues of those who want it. One server at a time
/// is the courier, by a lease; two at once do the same twice and change nothing by it, since each queue remembers the newest
/// entry that it has of each partition.
///
/// Each event that a script offers is also published for watchers. So the courier looks where it hears something, and at all
/// partitions when it becomes the courier and every ``round``. With interests it does not hear all of these, but what `offer`
/// (lib.lua) tells on a channel of the partition: it follows these channels while it is the courier.
final class Courier {
    private unowned let shard: ShardLogic
    private(set) var queues: [WebhookQueue] = []
    private var beat: DeadlineKind!
    private var due: DeadlineKind!
    private(set) var isCourier = false
    /// What features do with events besides telling others. Each gets every event of a partition at least once, before it leaves
    /// the partition; calls back with whether it has what it needs.
    var consumers: [([WebhookEvent], _ partition: Int, _ done: @escaping (Bool) -> Void) -> Void] = []
    /// This server has become the courier, or still is.
    var onRound: () -> Void = {}
    /// By this shard's clock: nobody else is the courier before.
    private var leadsUntil: Milliseconds = 0
    private var nextRound: Milliseconds = 0
    private var isAsking = false
    /// Partitions in which there may be something.
    private var wanted: Set<Int> = []
    private var busy: Set<Int> = []

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
            look(at: partition)
        }
    }

    /// Gives each receiver its queue. While features register, after `register`.
    func add(_ receivers: [any EventReceiver], _ counters: QueueCounters) -> [WebhookQueue] {
        let added = receivers.enumerated().map { place, receiver in
            WebhookQueue(shard, receiver, due, place: UInt64(queues.count + place), counters)
        }
        queues += added
        return added
    }

    // MARK: The lease

    func start() { schedule(after: Milliseconds.random(in: 1...500, using: &shard.random)) }

    func stop() {
        if isCourier { follow(false) }
        isCourier = false
        wanted = []
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
        let (keys, asked) = (shard.partitions.keys(0), shard.clock.now)
        shard.store.run(
            .leadCourier, keys: [keys.shards, keys.courier],
            arguments: [keys.events, shard.link.incarnation, String(Self.lease)], lane: .commands
        ) { [self] result in
            isAsking = false
            guard shard.link.isLive, !shard.link.noticeFencing(in: result), case .success(let value) = result else {
                return
            }
            guard value.array?.first?.string == "OK" else { return stop() }
            leadsUntil = asked + Self.lease
            let began = !isCourier
            isCourier = true
            if began { follow(true) }
            if began || shard.clock.now >= nextRound {
                nextRound = shard.clock.now + Self.round
                for partition in 0..<shard.partitions.count { look(at: partition) }
                for queue in queues { queue.start() }
                onRound()
            }
        }
    }

    /// What was offered before its channel was followed is found by looking then.
    private func follow(_ isFollowing: Bool) {
        guard let interests = shard.interests else { return }
        for partition in 0..<shard.partitions.count {
            let channel = shard.partitions.keys(partition).offered
            guard isFollowing else {
                interests.release(channel)
                continue
            }
            interests.want(channel, of: partition)
            interests.whenFollowed(channel) { [self] isFollowed in if isFollowed { look(at: partition) } }
        }
    }

    // MARK: Taking

    func look(at partition: Int) {
        wanted.insert(partition)
        work()
    }

    private func work() {
        while isCourier, busy.count < Self.window, let partition = wanted.first(where: { !busy.contains($0) }) {
            wanted.remove(partition)
            busy.insert(partition)
            take(from: partition)
        }
    }

    private func finish(_ partition: Int, isMore: Bool = false) {
        busy.remove(partition)
        if isMore { wanted.insert(partition) }
        work()
    }

    private func take(from partition: Int) {
        let key = shard.partitions.keys(partition).offers
        shard.store.command(["XRANGE", key, "-", "+", "COUNT", String(Self.page)], lane: .commands) { [self] result in
            // What fails here is looked at again with the next event, or the next round.
            guard case .success(let value) = result, let entries = value.array, !entries.isEmpty, isCourier else {
                return finish(partition)
            }
            let events = entries.compactMap { WebhookEvent($0) }
            let newest = entries.last?.array?.first?.string ?? "0-0"
            if events.count < entries.count { shard.log("damaged record", ["what": "an offered event"], level: .error) }
            hand(events, newest, of: partition) { [self] isDone in
                guard isDone else { return finish(partition) }
                // Up to the newest, inclusive.
                shard.store.command(["XTRIM", key, "MINID", Self.after(newest)], lane: .commands) { [self] result in
                    finish(partition, isMore: result.failure == nil && entries.count == Self.page)
                }
            }
        }
    }

    /// The id after that of a stream's entry.
    static func after(_ entry: String) -> String {
        let parts = entry.split(separator: "-").compactMap { UInt64($0) }
        return parts.count == 2 ? "\(parts[0])-\(parts[1] + 1)" : entry
    }

    /// - Parameter done: Gets whether all queues have them.
    private func hand(
        _ events: [WebhookEvent], _ newest: String, of partition: Int, done: @escaping (Bool) -> Void
    ) {
        let lost = events.reduce(0) { $0 + $1.lost }
        // One that is lost stands for what is told to nobody.
        let bodies = events.filter { $0.type != "lost" }.map { event in
            let body = event.body
            if body == nil { shard.log("damaged record", ["what": "an offered event"], level: .error) }
            return body.map { (event, $0) }
        }.compactMap(\.self)
        var failed = false
        BoundedConcurrency(queues, window: max(1, queues.count)) { queue, next in
            let entries = bodies.filter { queue.receiver.events.contains($0.0.type) }.flatMap { event, body in
                queue.receiver.entries(of: event, body: body, partition: partition)
            }
            // A receiver that wants none of these has nothing to remember.
            guard !entries.isEmpty || lost > 0 else { return next() }
            queue.add(entries, newest: newest, lost: lost, of: partition) { isAdded in
                if !isAdded { failed = true }
                next()
            }
        } done: { [self] in
            BoundedConcurrency(consumers, window: max(1, consumers.count)) { consume, next in
                consume(events, partition) { isDone in
                    if !isDone { failed = true }
                    next()
                }
            } done: {
                done(!failed)
            }
        }
    }
}
