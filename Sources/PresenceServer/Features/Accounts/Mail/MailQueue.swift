import PresenceCore
import PresenceProtocol
import Redis

/// Mails wait in Redis, in a list of the partition, put there by the script that made what they tell. Any shard may send them:
/// the one whose request it was does at once, and each looks through all partitions in turn for what another left behind.
///
/// A mail is sent at least once: it leaves the list when it has been sent. One that cannot be sent goes to the list's end,
/// and the partition waits; a mail with nothing but failures behind it is given up after a day.
final class MailQueue {
    static let pool = WorkerPlan("mail", threads: { _ in 1 }, queue: { _ in 256 }, hasLowPriority: true)
    /// Between two partitions that are looked at: with 128 of them each shard looks at each every 32 s.
    private static let pause: Milliseconds = 250
    /// Until the next try after a failure.
    private static let patience: ClosedRange<Milliseconds> = 5_000...3_600_000
    private static let longest: Milliseconds = 24 * 3_600_000

    private unowned let shard: ShardLogic
    private let sender: MailSender
    private var deadline: DeadlineKind!
    private var sent: MetricCounter!
    private var failed: MetricCounter!
    /// By partition: what is done with its mails.
    private var places: [String: Place] = [:]
    private var next: Int

    private struct Place {
        var isBusy = false
        /// More may have come while it was.
        var isWanted = false
        var failures = 0
        var restsUntil: Milliseconds = 0
    }

    init(_ shard: ShardLogic) {
        self.shard = shard
        sender = MailSender(shard.configuration)
        next = Int.random(in: 0..<shard.configuration.partitions)
    }

    func register(in registry: inout Registry) {
        deadline = registry.deadline { [unowned self] _ in look() }
        sent = registry.counter("mails_sent_total", help: "mails handed over, or written into the outbox")
        failed = registry.counter("mails_failed_total", help: "tries to send a mail that failed")
    }

    /// The shard is live.
    func start() { shard.deadlines.set(deadline, .none, at: shard.clock.now + Self.pause) }

    private func look() {
        guard shard.link.isLive else { return }
        next = (next + 1) % shard.partitions.count
        deliver(shard.partitions.keys(next))
        start()
    }

    /// Sends what waits in a partition.
    func deliver(_ keys: PartitionKeys) {
        var place = places[keys.name] ?? Place()
        defer { places[keys.name] = place.isBusy || place.failures > 0 ? place : nil }
        guard !place.isBusy, shard.clock.now >= place.restsUntil else {
            place.isWanted = true
            return
        }
        place.isBusy = true
        place.isWanted = false
        shard.store.command(["LINDEX", keys.mail, "0"], lane: .commands) { [self] result in
            guard case .success(let value) = result, let text = value.string else { return finish(keys) }
            guard let mail = Mail(text) else {
                shard.log("damaged record", ["what": "a mail"], level: .error)
                return remove(text, keys)
            }
            hand(mail, text, keys)
        }
    }

    private func hand(_ mail: Mail, _ text: String, _ keys: PartitionKeys) {
        let (sender, now) = (sender, shard.clock.redisNow)
        do {
            try shard.jobs.run(in: Self.pool) {
                sender.send(mail, at: now)
            } then: { [self] result in
                switch result {
                case .failure: finish(keys)
                case .success(.sent):
                    sent.value += 1
                    places[keys.name]?.failures = 0
                    remove(text, keys)
                case .success(.later(let reason)): rest(mail, text, keys, reason)
                }
            }
        } catch {
            finish(keys)
        }
    }

    private func rest(_ mail: Mail, _ text: String, _ keys: PartitionKeys, _ reason: String) {
        failed.value += 1
        var place = places[keys.name] ?? Place()
        place.failures += 1
        let pause = min(Self.patience.upperBound, Self.patience.lowerBound << min(place.failures - 1, 10))
        place.restsUntil = shard.clock.now + pause
        places[keys.name] = place
        shard.log("mail not sent", ["reason": reason], level: .warning)
        // Its id begins with when it was made.
        let made = mail.id.split(separator: "-").first.flatMap { Timestamp($0) } ?? 0
        guard shard.clock.redisNow - made < Self.longest else {
            shard.log("mail given up", level: .error)
            return remove(text, keys)
        }
        // Another one may have better luck.
        shard.store.command(["LREM", keys.mail, "1", text], lane: .commands) { [self] result in
            guard case .success(let value) = result, value.int == 1 else { return finish(keys) }
            shard.store.command(["RPUSH", keys.mail, text], lane: .commands) { [self] _ in finish(keys) }
        }
    }

    private func remove(_ text: String, _ keys: PartitionKeys) {
        shard.store.command(["LREM", keys.mail, "1", text], lane: .commands) { [self] result in
            if case .success = result { places[keys.name]?.isWanted = true }
            finish(keys)
        }
    }

    private func finish(_ keys: PartitionKeys) {
        guard var place = places[keys.name] else { return }
        place.isBusy = false
        let goesOn = place.isWanted && shard.link.isLive
        places[keys.name] = place.failures > 0 || goesOn ? place : nil
        if goesOn { deliver(keys) }
    }
}
