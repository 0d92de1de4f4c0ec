import PresenceCore
import PresenceProtocol
import Redis

/// Sends mails. They wait in Redis, in a list of the partition, where the script of the change puts them. The shard that got
/// the request sends them at once, and each shard checks all partitions in turn for mails that other shards left. A mail is
/// sent at least once. A shard leases the mail that it sends, so no other shard takes it meanwhile, and removes it from Redis
/// afterwards. A mail that fails temporarily is retried, and does not block other mails. It is given up if it is rejected for
/// good, or has failed for a day. It is also given up once its token has expired, since its link would be useless; the script
/// that takes mails checks this with the clock that ends the token. While the mail server is unreachable, this shard sends
/// none.
final class MailQueue {
    static let pool = WorkerPlan(
        "mail", threads: { _ in 4 }, queue: { _ in 256 }, longestWait: 30, hasLowPriority: true)
    /// The pause between the checks of two partitions: with 128 partitions, each shard checks each of them every 32 s.
    private static let pause: Milliseconds = 250
    /// The most mails that this shard sends at a time.
    private static let most = 4
    /// The lease of a mail: longer than a mail waits for a thread and takes to be sent.
    static let lease: Milliseconds = 90_000
    /// In seconds: the limit for sending a mail, including the wait for mails before it.
    static let sendingLimit = 60.0
    /// The delay before a retry: as long as the mail has been waiting already, so delays double.
    private static let retryDelays: ClosedRange<Milliseconds> = 5_000...3_600_000
    /// The pause while the mail server is unreachable; pauses double.
    private static let pauses: ClosedRange<Milliseconds> = 5_000...60_000
    /// A mail that could not be sent for so long is given up.
    private static let longestTrial: Milliseconds = 24 * 3_600_000

    private unowned let shard: ShardLogic
    /// Sends a mail; returns `nil` if it could not be tried. Tests replace it.
    var send: (Mail) async -> MailSender.Outcome?
    private var deadline: DeadlineKind!
    private var sent: MetricCounter!
    private var failed: MetricCounter!
    /// Partitions from which a mail is being sent: one mail at a time, so that mails keep their order.
    private var busy: Set<String> = []
    /// Partitions that may have further mails, each once. They wait for a free slot or for the mail server.
    private var waiting: [PartitionKeys] = []
    /// How many times in a row the mail server was unreachable.
    private var failures = 0
    private var restsUntil: Milliseconds = 0
    private var next: Int

    init(_ shard: ShardLogic) {
        self.shard = shard
        let sender = MailSender(shard.configuration)
        send = { [unowned shard] in await sender.send($0, on: shard) }
        var random = shard.random
        next = Int.random(in: 0..<shard.configuration.partitions, using: &random)
    }

    func register(in registry: inout Registry) {
        deadline = registry.deadline { [unowned self] _ in deliverNext() }
        sent = registry.counter("mails_sent_total", help: "mails sent to the mail server or written into the outbox")
        failed = registry.counter("mails_failed_total", help: "failed attempts to send a mail, and mails given up")
    }

    /// Starts the checks when the shard becomes live.
    func start() {
        shard.deadlines.setOnly(deadline, at: shard.clock.now + Self.pause)
    }

    private func deliverNext() {
        guard shard.link.isLive else { return }
        next = (next + 1) % shard.partitions.count
        deliver(shard.partitions.keys(next))
        deliverWaiting()
        start()
    }

    /// Sends a mail of a partition, then the next mail when it is the partition's turn.
    func deliver(_ keys: PartitionKeys) {
        guard isFree, !busy.contains(keys.name) else { return wait(for: keys) }
        busy.insert(keys.name)
        // The shard is retained, because sending may take longer than the shard lives.
        shard.tasks.run { [self, shard] in
            let isMore = await sendNext(of: keys, on: shard)
            busy.remove(keys.name)
            if isMore { wait(for: keys) }
            deliverWaiting()
        }
    }

    private var isFree: Bool { shard.link.isLive && busy.count < Self.most && shard.clock.now >= restsUntil }

    private func wait(for keys: PartitionKeys) {
        if !waiting.contains(where: { $0.name == keys.name }) { waiting.append(keys) }
    }

    private func deliverWaiting() {
        while isFree, let place = waiting.firstIndex(where: { !busy.contains($0.name) }) {
            deliver(waiting.remove(at: place))
        }
    }

    /// - Returns: Whether the partition may have more mails.
    private func sendNext(of keys: PartitionKeys, on shard: ShardLogic) async -> Bool {
        let take = ScriptCall(
            .takeMail, in: keys, ["mail": keys.mail, "mailing": keys.mailing],
            ["lease": Self.lease, "longest": Self.retryDelays.upperBound])
        guard let reply = try? await shard.reply(to: take) else { return false }
        if reply.word == "OVER" {
            recordFailure("its link is no longer good")
            return true
        }
        guard reply.word == "OK", let text = reply[0].string else { return false }
        guard let mail = Mail(text) else {
            shard.log("damaged record", ["what": "a mail"], level: .error)
            await settle(text, keys)
            return true
        }
        let outcome = await send(shard.feature(Accounts.self)?.written(mail) ?? mail)
        if case .unreachable? = outcome { rest() } else if outcome != nil { failures = 0 }
        await settle(text, again: pause(after: outcome, mail), keys)
        return outcome != nil
    }

    /// The delay in ms before a mail is retried; `nil` to give it up.
    private func pause(after outcome: MailSender.Outcome?, _ mail: Mail) -> Milliseconds? {
        // The id begins with the time of the mail's creation.
        let made = mail.id.split(separator: "-").first.flatMap { Timestamp($0) } ?? 0
        let age = shard.clock.redisNow - made
        switch outcome {
        case .sent:
            sent.value += 1
            return nil
        case .refused(let reason):
            recordFailure(reason)
            return nil
        case .later(let reason), .unreachable(let reason):
            guard age < Self.longestTrial else {
                recordFailure(reason)
                return nil
            }
            failed.value += 1
            shard.log("mail not sent", ["reason": reason], level: .warning)
            // Each shard detects for itself that the server is unreachable.
            if case .unreachable = outcome { return 0 }
            return min(max(age, Self.retryDelays.lowerBound), Self.retryDelays.upperBound)
        // The mail was not tried.
        case nil: return Self.retryDelays.lowerBound
        }
    }

    private func rest() {
        // Mails that were already being sent at the first failure fail for the same reason, and do not count as further
        // failures.
        guard shard.clock.now >= restsUntil else { return }
        failures += 1
        let pause = min(Self.pauses.upperBound, Self.pauses.lowerBound << Milliseconds(min(failures - 1, 10)))
        restsUntil = shard.clock.now + pause
    }

    private func recordFailure(_ reason: String) {
        failed.value += 1
        shard.log("mail given up", ["reason": reason], level: .error)
    }

    /// - Parameter again: The delay in ms before a retry; `nil` to remove the mail.
    private func settle(_ text: String, again: Milliseconds? = nil, _ keys: PartitionKeys) async {
        let call = ScriptCall(
            .settleMail, in: keys, ["mailing": keys.mailing], ["text": text, "again": again])
        _ = try? await shard.reply(to: call)
    }
}
