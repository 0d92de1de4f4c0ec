import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A random history of three users to whom another user writes in a group and in direct conversations, while they
/// connect, idle and leave, read, mute and archive, and messages are deleted; and of the servers that decide the pushes
/// and notify the users. The users' actions take effect at once and never fail: the real scripts write them, or the
/// test writes the same as these would. Between any script of a server and its answer the server may die, lose its
/// connections, be slow, or pause; some reads, messages and deletions happen while a push is decided. In half of the
/// histories Redis rejects the servers' commands for a moment, is silent to them or ends, and in a third its clock is
/// set back. The push service accepts pushes, fails, or rejects them.
///
/// `PushRules` compares the pushes with the events of the history.
final class PushHistory: DrawnHistory {
    let webhooks: WebhookWorld
    let redis: SimulatedRedis
    private var random: SplitMix64
    let trouble: Int
    /// Whether Redis' clock is set back now and then.
    let clockSteps: Bool
    /// Redis' clocks: each is an hour or more behind the one before, and no history lasts that long, so each time
    /// belongs to one of them.
    private(set) var epochs: [Timestamp]
    private var steppedAt: Milliseconds = 0
    /// In half of the histories.
    private(set) var redisTrouble: RedisTrouble?
    /// Whether commands are the users' actions, which never fail.
    private var isCertain = false
    private(set) var isQuiet = false
    var past = PushPast()
    /// The first fault that was seen at once.
    var fault: String?
    var deaths = 0
    var tally: [String: Int] {
        [
            "deaths": deaths, "told": past.pushes.count, "outages": redisTrouble?.count ?? 0,
            "hints": past.hinted, "refused": redisTrouble?.refused ?? 0, "deleted": past.deletions,
            "steps back": epochs.count - 1,
        ]
    }

    static let talks = ["all": ["ana", "bob", "cy", "dan"], "bobs": ["ana", "bob"], "cys": ["ana", "cy"]]
    static let writer = "history"

    init(seed: UInt64, on redis: SimulatedRedis) throws {
        random = SplitMix64(seed &* 0x9E37_79B9 &+ 31)
        trouble = [0, 3, 8, 15].randomElement(using: &random)!
        clockSteps = seed % 3 == 1
        self.redis = redis
        webhooks = try WebhookWorld(shards: 3, apns: true, seed: seed, redis: redis) {
            $0[Notifications.ofMessages] = true
        }
        epochs = [webhooks.world.redisEpoch]
        if seed.isMultiple(of: 2) {
            redisTrouble = RedisTrouble(world)
            let refuse = redis.refuse
            redis.refuse = { [unowned self] script, words in isCertain ? nil : refuse(script, words) }
        }
        redis.runs = { [unowned self] script, arguments in willRun(script, arguments) }
        redis.ran = { [unowned self] script, arguments, answer in ran(script, arguments, answer) }
        webhooks.log.answer = { [unowned self] in answer($0) }
        try begin()
    }

    var world: World { webhooks.world }
    /// The time of a clock that is never set back, used for known events.
    var now: Timestamp { epochs[0] + world.now }
    /// The same for a time of Redis' clock.
    func time(of redisTime: Timestamp) -> Timestamp {
        guard let epoch = epochs.first(where: { (0...world.now).contains(redisTime - $0) }) else {
            preconditionFailure("no clock of \(epochs) said \(redisTime)")
        }
        return epochs[0] + redisTime - epoch
    }
    /// Sets the clock back, but not again while earlier events are under way: only the order of stable clocks is kept.
    func stepBack(by step: Milliseconds) {
        guard world.now - steppedAt > 60_000 else { return }
        steppedAt = world.now
        world.redisEpoch -= step
        epochs.append(world.redisEpoch)
    }
    var partitions: Partitions { Partitions(world.configuration, database: 0) }
    func draw(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }

    // MARK: Course

    func play() throws {
        for _ in 0..<3 {
            for _ in 0..<20 {
                try step()
                let pause = [0...30, 500...4_000, 5_000...15_000].randomElement(using: &random)!
                try world.run(for: Milliseconds(draw(pause)))
            }
            try quieten()
            let isCalm = trouble == 0 && redisTrouble == nil
            let fault =
                fault ?? PushRules(past, isCalm: isCalm, stepsBack: clockSteps).fault(at: now) ?? notificationFault()
            if let fault { throw HistoryFault(description: fault) }
        }
    }

    private func step() throws {
        let user = ["bob", "cy", "dan"][draw(0...2)]
        let talk = Self.talks.filter { $0.value.contains(user) }.keys.sorted().randomElement(using: &random)!
        switch draw(0...15) {
        case 0...4: for _ in 0..<draw(1...3) { send(talk) }
        case 5: mark(user, talk, read: draw(0...2) == 0 ? max(0, past.newest(talk) - 1) : nil)
        case 6: mark(user, talk, delivered: true)
        case 7: close(user, talk, past.isClosed(user, talk) ? nil : draw(0...1) == 0 ? ["-1", ""] : ["", "1"])
        case 8 where user == "dan" && draw(0...3) == 0: revoke(user)
        case 9: delete(draw(0...1) == 0 ? toldLast(talk, to: user) : past.newest(talk) - draw(0...2), talk)
        case 10: readNotifications(user)
        case 11 where user != "dan": changeToken(of: user)
        case 14, 15: notify(user)
        default: be(user, [.away, .away, .idle, .active].randomElement(using: &random)!)
        }
        if let failure = redis.failure { throw failure }
    }

    private func quieten() throws {
        isQuiet = true
        redisTrouble?.end()
        for shard in world.shards {
            shard.wakeUp()
            shard.stopHolding()
        }
        // Time for the lease of a taken entry, a postponed decision, and another courier.
        try world.run(for: 200_000)
        isQuiet = false
        for call in webhooks.calls("push.due") { past.record(call.body, id: call.id, time) }
    }

    // MARK: Users' actions

    private func begin() throws {
        for (talk, people) in Self.talks {
            let id = ConversationID(talk)!
            var fields = ["HSET", partitions.keys(of: id).conversation(id), "kind", "group", "owner", "ana"]
            fields += ["createdAt", "1", "joins", "\(people.count)", "version", "1"]
            for (place, user) in people.enumerated() { fields += ["m:\(user)", "\(place + 1) 0 0 0 0 0 0 0 e 0"] }
            _ = try redis.ask(fields).get()
            for user in people.compactMap({ UserID($0) }) {
                _ = try redis.ask(["HSET", partitions.keys(of: user).inbox(user), talk, "in 1"]).get()
            }
        }
        for user in ["bob", "cy", "dan"] {
            let (id, value) = (UserID(user)!, #"apns 1 "\#(token(of: user))""#)
            _ = try redis.ask(["HSET", partitions.keys(of: id).devices(id), "-", value]).get()
        }
        for index in 0..<partitions.count {
            _ = try redis.ask(["SADD", partitions.keys(index).shards, Self.writer]).get()
        }
    }

    private func token(of user: String) -> String { user == "bob" ? "0b" : user == "cy" ? "0c" : "0d" }

    /// - Parameter isOffered: Whether the courier receives the event.
    private func run(
        _ script: Script, _ talk: String, isOffered: Bool = true,
        _ names: (PartitionKeys, ConversationID) -> [String], _ rest: [String]
    ) {
        let id = ConversationID(talk)!
        let keys = partitions.keys(of: id)
        let all = [keys.shards, keys.floor, keys.conversation(id)] + names(keys, id)
        run(script, isOffered ? PartitionKeys.offering(all) : all, keys, [talk] + rest)
    }

    func run(_ script: Script, _ names: [String], _ keys: PartitionKeys, _ rest: [String]) {
        let arguments = [String(world.redisNow), keys.events, Self.writer] + rest
        isCertain = true
        let answer = redis.run(script, keys: names, arguments: arguments)
        isCertain = false
        guard case .success(let value) = answer, ["OK", "TOLD"].contains(value.array?.first?.string) else {
            preconditionFailure("\(script): \(answer)")
        }
    }

    func send(_ talk: String, isOffered: Bool = true) {
        let seq = past.newest(talk) + 1
        past.sent[talk, default: []].append(now)
        run(
            .send, talk, isOffered: isOffered,
            {
                [
                    $0.log($1), $0.changes($1), $0.prints($1), $0.aging, $0.attachments($1), $0.attachmentsDue,
                    $0.key(.verdict, Identifier("none")!),
                ]
            },
            ["ana", "m\(seq)", "\"\(talk):\(seq)\"", "", "", "1000", "0", "0", "87381", "0", ""])
    }

    func delete(_ seq: Int, _ talk: String, isOffered: Bool = true) {
        guard seq > 0, past.delete(seq, of: talk, at: now) else { return }
        run(
            .deleteMessage, talk, isOffered: isOffered,
            {
                [$0.log($1), $0.changes($1), $0.prints($1), $0.aging, $0.attachments($1), $0.attachmentsDue]
            },
            ["ana", "m\(seq)", "1000"])
    }

    /// - Parameter read: The number of the last read message; `nil`: the newest.
    func mark(_ user: String, _ talk: String, read: Int? = nil, delivered: Bool = false) {
        let newest = past.newest(talk)
        let seq = delivered ? newest : read ?? newest
        past.add(PushPast.Mark(at: now, seq: seq, sent: newest), isRead: !delivered, of: user, in: talk)
        run(.mark, talk, { _, _ in [] }, [user, "\(seq)", delivered ? "0" : "\(seq)", "n"])
    }

    /// - Parameter settings: The new `muted` and `archived`; `nil`: neither.
    private func close(_ user: String, _ talk: String, _ settings: [String]?) {
        past.close(user, talk, settings != nil, at: now)
        run(.settings, talk, { _, _ in [] }, [user] + (settings ?? ["0", "0"]))
    }

    private func be(_ user: String, _ state: PushPast.Session) {
        past.states[user, default: []].append((now, state))
        let id = UserID(user)!
        let key = partitions.keys(of: id).sessions(id)
        guard state != .away else { return _ = redis.ask(["DEL", key]) }
        _ = redis.ask(["HSET", key, "s", "\(Self.writer) - app \(state == .active ? "a" : "i") 1"])
    }

    /// A token of the app's own: the device was registered before.
    private func revoke(_ user: String) {
        let id = UserID(user)!
        past.revoked[user] = past.revoked[user] ?? now
        _ = redis.ask(["HSET", partitions.keys(of: id).user(id), "revokedAt", String(world.redisNow)])
    }

    /// The device has a new token, so the server does not know which pushes have reached it.
    private func changeToken(of user: String) {
        let id = UserID(user)!
        let keys = partitions.keys(of: id)
        past.devices[user, default: []].append(now)
        let names = [keys.shards, keys.floor, keys.devices(id), keys.grants(id), keys.user(id), keys.pushed(id)]
        run(.setDevice, names, keys, ["-", "apns", "\"\(past.devices[user]!.count)\(token(of: user))\""])
    }
}
