import PresenceCore
import PresenceProtocol
import Redis

/// Mails wait in Redis, in a list of the partition, put there by the script that made what they tell. Any shard may send them:
/// the one whose request it was does at once, and each looks through all partitions in turn for what another left behind.
///
/// A mail is sent at least once. Who sends it has it for a while, during which nobody else is given it; it leaves Redis when it has
/// been sent. One that is not taken now is tried again, and holds up no other; one that is refused for good, or has not been taken
/// for a day, is given up. So is one whose token is over, as the script that takes mails finds, by the clock that ends the token:
/// its link would open nothing. While the mail server cannot be reached, this shard gives it none.
final class MailQueue {
    static let pool = WorkerPlan(
        "mail", threads: { _ in 4 }, queue: { _ in 256 }, longestWait: 30, hasLowPriority: true)
    /// Between two partitions that are looked at: with 128 of them each shard looks at each every 32 s.
    private static let pause: Milliseconds = 250
    /// How many mails this shard hands over at a time.
    private static let most = 4
    /// How long a mail is this shard's: longer than it waits for a thread, or is handed over.
    static let lease: Milliseconds = 90_000
    /// In seconds: for the mails before it, and to hand it over.
    static let patienceOfServers = 60.0
    /// Until a mail is tried again: as long as it has been waiting, so pauses double.
    private static let patience: ClosedRange<Milliseconds> = 5_000...3_600_000
    /// While the mail server cannot be reached; pauses double.
    private static let rest: ClosedRange<Milliseconds> = 5_000...60_000
    private static let longest: Milliseconds = 24 * 3_600_000

    private unowned let shard: ShardLogic
    /// Hands a mail over; returns `nil` if that was not tried. Tests put another in its place.
    var send: (Mail) async -> MailSender.Outcome?
    private var deadline: DeadlineKind!
    private var sent: MetricCounter!
    private var failed: MetricCounter!
    /// Partitions of which a mail is handed over: one at a time, so that they go in their order.
    private var busy: Set<String> = []
    /// Partitions that may hold more, each once: until there is room, or the mail server can be reached.
    private var waiting: [PartitionKeys] = []
    /// How often in a row the mail server could not be reached.
    private var failures = 0
    private var restsUntil: Milliseconds = 0
    private var next: Int

    init(_ shard: ShardLogic) {
        self.shard = shard
        let sender = MailSender(shard.configuration)
        send = { [unowned shard] in await sender.send($0, on: shard) }
        next = Int.random(in: 0..<shard.configuration.partitions)
    }

    func register(in registry: inout Registry) {
        deadline = registry.deadline { [unowned self] _ in look() }
        sent = registry.counter("mails_sent_total", help: "mails handed over, or written into the outbox")
        failed = registry.counter("mails_failed_total", help: "tries to send a mail that failed, and mails given up")
    }

    /// The shard is live.
    func start() {
        shard.deadlines.setOnly(deadline, at: shard.clock.now + Self.pause)
    }

    private func look() {
        guard shard.link.isLive else { return }
        next = (next + 1) % shard.partitions.count
        deliver(shard.partitions.keys(next))
        goOn()
        start()
    }

    /// Sends what waits in a partition: one mail, and the next when it is its turn.
    func deliver(_ keys: PartitionKeys) {
        guard isFree, !busy.contains(keys.name) else { return wait(for: keys) }
        busy.insert(keys.name)
        // The mail may be under way for longer than the shard would be.
        shard.tasks.run { [self, shard] in
            let isMore = await sendNext(of: keys, on: shard)
            busy.remove(keys.name)
            if isMore { wait(for: keys) }
            goOn()
        }
    }

    private var isFree: Bool { shard.link.isLive && busy.count < Self.most && shard.clock.now >= restsUntil }

    private func wait(for keys: PartitionKeys) {
        if !waiting.contains(where: { $0.name == keys.name }) { waiting.append(keys) }
    }

    private func goOn() {
        while isFree, let place = waiting.firstIndex(where: { !busy.contains($0.name) }) {
            deliver(waiting.remove(at: place))
        }
    }

    /// - Returns: Whether others of the partition come next.
    private func sendNext(of keys: PartitionKeys, on shard: ShardLogic) async -> Bool {
        let take = ScriptCall(
            .takeMail, in: keys, ["mail": keys.mail, "mailing": keys.mailing],
            ["lease": Self.lease, "longest": Self.patience.upperBound])
        guard let reply = try? await shard.reply(to: take) else { return false }
        if reply.word == "OVER" {
            giveUp("its link is no longer good")
            return true
        }
        guard reply.word == "OK", let text = reply[0].string else { return false }
        guard let mail = Mail(text) else {
            shard.log("damaged record", ["what": "a mail"], level: .error)
            await settle(text, keys)
            return true
        }
        let outcome = await send(mail)
        if case .unreachable? = outcome { rest() } else if outcome != nil { failures = 0 }
        await settle(text, again: pause(after: outcome, mail), keys)
        return outcome != nil
    }

    /// In how many ms a mail is tried again; `nil`: never.
    private func pause(after outcome: MailSender.Outcome?, _ mail: Mail) -> Milliseconds? {
        // Its id begins with when it was made.
        let made = mail.id.split(separator: "-").first.flatMap { Timestamp($0) } ?? 0
        let age = shard.clock.redisNow - made
        switch outcome {
        case .sent:
            sent.value += 1
            return nil
        case .refused(let reason):
            giveUp(reason)
            return nil
        case .later(let reason), .unreachable(let reason):
            guard age < Self.longest else {
                giveUp(reason)
                return nil
            }
            failed.value += 1
            shard.log("mail not sent", ["reason": reason], level: .warning)
            // Each shard finds out for itself that the server cannot be reached.
            if case .unreachable = outcome { return 0 }
            return min(max(age, Self.patience.lowerBound), Self.patience.upperBound)
        // It was not tried.
        case nil: return Self.patience.lowerBound
        }
    }

    private func rest() {
        // Those that were under way when the first failed say the same.
        guard shard.clock.now >= restsUntil else { return }
        failures += 1
        let pause = min(Self.rest.upperBound, Self.rest.lowerBound << Milliseconds(min(failures - 1, 10)))
        restsUntil = shard.clock.now + pause
    }

    private func giveUp(_ reason: String) {
        failed.value += 1
        shard.log("mail given up", ["reason": reason], level: .error)
    }

    /// - Parameter again: In how many ms it is tried again; `nil`: never.
    private func settle(_ text: String, again: Milliseconds? = nil, _ keys: PartitionKeys) async {
        let call = ScriptCall(
            .settleMail, in: keys, ["mailing": keys.mailing], ["text": text, "again": again])
        _ = try? await shard.reply(to: call)
    }
}
