import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A random history of two users whose pushes are held: they set quiet hours that begin and end, are busy, choose kinds, read, and
/// another user and a backend write to them. Servers die, pause and lose their connections between any script and its answer.
///
/// `HeldPushRules` compares the pushes with the events of the history. Users are never active, so whatever is unread is wanted; the push
/// service takes everything, so what was pushed counts.
final class HeldPushHistory: DrawnHistory {
    let webhooks: WebhookWorld
    let redis: SimulatedRedis
    private var random: SplitMix64
    private let trouble: Int
    private var isCalm = false
    private(set) var past = HeldPushPast()
    private var deaths = 0
    var tally: [String: Int] {
        [
            "deaths": deaths, "pushes": past.pushes.count, "summaries": past.pushes.count { $0.isSummary },
            "holds": past.holds, "hints": past.hints.count,
        ]
    }

    static let talks = [
        "all": ["ana", "bob", "cy"], "bobs": ["ana", "bob"], "pair": ["ana", "bob"], "cys": ["ana", "cy"],
    ]
    static let users = ["bob", "cy"]
    private static let writer = "history"

    init(seed: UInt64, on redis: SimulatedRedis) throws {
        random = SplitMix64(seed &* 0x9E37_79B9 &+ 77)
        trouble = [0, 0, 4, 10].randomElement(using: &random)!
        self.redis = redis
        webhooks = try WebhookWorld(shards: 3, apns: true, seed: seed, redis: redis) {
            $0[Notifications.ofMessages] = true
        }
        redis.ran = { [unowned self] script, arguments, _ in ran(script, arguments) }
        webhooks.log.answer = { [unowned self] in
            if let push = PushMessage($0.body) {
                past.handedEvents.insert(String($0.id.prefix(upTo: $0.id.lastIndex(of: "_")!)))
                past.handed.append((now, push.user, push.notification?.urgency == .high))
            }
            return .accepted
        }
        try begin()
    }

    var world: World { webhooks.world }
    var now: Timestamp { world.redisNow }
    private var partitions: Partitions { Partitions(world.configuration, database: 0) }
    private func draw(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }

    // MARK: Course

    func play() throws {
        for _ in 0..<3 {
            isCalm = false
            for _ in 0..<18 {
                step()
                if let failure = redis.failure { throw failure }
                let pause = [0...30, 500...4_000, 15_000...50_000].randomElement(using: &random)!
                try world.run(for: Milliseconds(draw(pause)))
            }
            // Quiet hours and busy users stay as they are: the list has everything meanwhile.
            try calm(for: 100_000)
            try check(listFault())
            for user in Self.users {
                be(user, busy: false)
                set(user) { $0.quiet = nil }
            }
            try calm(for: 100_000)
            for call in webhooks.calls("push.due") { past.record(call) }
            try check(HeldPushRules(past, isSteady: trouble == 0).fault(at: now))
        }
    }

    private func check(_ fault: String?) throws {
        if let fault { throw HistoryFault(description: fault) }
    }

    private func calm(for time: Milliseconds) throws {
        isCalm = true
        for shard in world.shards {
            shard.wakeUp()
            shard.stopHolding()
        }
        try world.run(for: time)
    }

    private func step() {
        let user = Self.users[draw(0...1)]
        let talk = Self.talks.filter { $0.value.contains(user) }.keys.sorted().randomElement(using: &random)!
        switch draw(0...13) {
        case 0...4: send(talk)
        case 5, 6: read(user, talk)
        case 7, 8: setQuiet(user)
        case 9: set(user) { $0.quiet = nil }
        case 10: be(user, busy: !past.isBusy(user))
        case 11: set(user) { $0.whileBusy = draw(0...2) == 0 ? .push : .hold }
        case 12: set(user) { $0.kinds["hint"] = .init(inbox: draw(0...2) > 0, push: draw(0...2) > 0) }
        default: notify(user)
        }
    }

    // MARK: Actions

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
        for user in Self.users {
            let id = UserID(user)!
            let token = user == "bob" ? "0b" : "0c"
            _ = try redis.ask(["HSET", partitions.keys(of: id).devices(id), "-", #"apns 1 "\#(token)""#]).get()
        }
        for index in 0..<partitions.count {
            _ = try redis.ask(["SADD", partitions.keys(index).shards, Self.writer]).get()
        }
    }

    private func run(_ script: Script, _ names: [String], _ keys: PartitionKeys, _ rest: [String]) {
        let arguments = [String(now), keys.events, Self.writer] + rest
        let all = PartitionKeys.offering([keys.shards, keys.floor] + names)
        guard case .success(let value) = redis.run(script, keys: all, arguments: arguments),
            value.array?.first?.string == "OK"
        else { preconditionFailure("\(script)") }
    }

    private func send(_ talk: String) {
        let (id, seq) = (ConversationID(talk)!, past.send(talk, at: now))
        let keys = partitions.keys(of: id)
        run(
            .send,
            [
                keys.conversation(id), keys.log(id), keys.changes(id), keys.prints(id), keys.aging,
                keys.attachments(id),
                keys.attachmentsDue, keys.key(.verdict, Identifier("none")!),
            ], keys, [talk, "ana", "m\(seq)", "\"\(talk):\(seq)\"", "", "", "1000", "0", "0", "87381", "0", ""])
    }

    private func read(_ user: String, _ talk: String) {
        let id = ConversationID(talk)!
        let (keys, seq) = (partitions.keys(of: id), past.read(user, talk, at: now))
        guard seq > 0 else { return }
        run(.mark, [keys.conversation(id)], keys, [talk, user, "\(seq)", "\(seq)", "n"])
    }

    private func set(_ user: String, _ change: (inout NotificationSettings) -> Void) {
        let id = UserID(user)!
        let keys = partitions.keys(of: id)
        let settings = past.set(user, at: now, change)
        run(.setNotificationSettings, [keys.user(id)], keys, [user, settings.stored])
    }

    /// Around now, or soon, for some minutes, on this day or another one.
    private func setQuiet(_ user: String) {
        let minute = now / 60_000
        let from = minute + Int64(draw(-3...2))
        let to = from + Int64(draw(1...5))
        func time(_ minute: Int64) -> QuietHours.Time {
            let ofDay = minute.remainder(by: 1_440)
            return .init("\(ofDay / 600)\(ofDay / 60 % 10):\(ofDay % 60 / 10)\(ofDay % 10)")!
        }
        let today = HeldPushPast.weekday(of: now)
        let days = draw(0...4) == 0 ? [today % 7 + 1] : draw(0...1) == 0 ? [today] : Array(1...7)
        let allow: [QuietHours.Exception] = draw(0...1) == 0 ? [.urgent] : []
        set(user) {
            $0.quiet = QuietHours(timezone: "UTC", from: time(from), to: time(to), days: days, allow: allow)
        }
    }

    /// With an idle session, because a user without any is not busy.
    private func be(_ user: String, busy: Bool) {
        guard busy != past.isBusy(user) else { return }
        past.busy[user, default: []].append((now, busy))
        let id = UserID(user)!
        let keys = partitions.keys(of: id)
        _ = redis.ask(["HSET", keys.sessions(id), "s", "\(Self.writer) - app i 1"])
        run(
            .status, [keys.user(id), keys.sessions(id), keys.history(id)], keys,
            [user, busy ? "busy" : "auto", "", "", ""])
        if !busy { _ = redis.ask(["DEL", keys.sessions(id)]) }
    }

    private func notify(_ user: String) {
        let (id, isUrgent) = (UserID(user)!, draw(0...2) == 0)
        let keys = partitions.keys(of: id)
        let number = past.hint(user, isUrgent: isUrgent, at: now)
        var new = NotificationRequest.New()
        (new.id, new.kind, new.push) = (Identifier("hint-\(number)"), CreationKey("hint"), .always)
        (new.title, new.body) = (Array("\"hint\"".utf8), Array("\"hint:\(number)\"".utf8))
        if isUrgent { new.urgency = .high }
        run(
            .notify, [keys.push, keys.notifications(id), keys.notificationMarks(id), keys.sessions(id), keys.user(id)],
            keys,
            [
                "200", "2592000000", "hint-\(number)", "", String(decoding: new.json, as: UTF8.self), "", "0",
                "\"hint\"", user,
            ])
    }

    // MARK: The list

    /// Quiet hours and busy users change nothing in the list.
    private func listFault() -> String? {
        for user in Self.users {
            let id = UserID(user)!
            let words = (try? redis.ask(["HGETALL", partitions.keys(of: id).notifications(id)]).get())?.array ?? []
            let fields = words.map { $0.string ?? "" }
            let listed = Set(
                stride(from: 0, to: fields.count - 1, by: 2).compactMap { place -> String? in
                    // Those that are for their push alone have another name.
                    let text = fields[place + 1]
                    guard !fields[place].hasPrefix("push "), text.hasPrefix("{"),
                        let object = try? JSONSerialization.jsonObject(with: Data((text + "}").utf8))
                    else { return nil }
                    return (object as? [String: Any])?["body"] as? String
                })
            for (talk, people) in Self.talks.sorted(by: { $0.key < $1.key }) where people.contains(user) {
                let isUnread = past.newest(talk) > past.readTo(user, talk)
                if isUnread, !listed.contains(where: { $0.hasPrefix("\(talk):") }) {
                    return "\(user) has nothing of \(talk) in the list"
                }
            }
            for (number, hint) in past.hints.enumerated() where hint.user == user {
                if hint.inbox, !listed.contains("hint:\(number)") {
                    return "\(user) does not have hint \(number) in the list"
                }
                if !hint.inbox, listed.contains("hint:\(number)") {
                    return "\(user) has hint \(number) in the list, of a kind that is not listed"
                }
            }
        }
        return nil
    }

    // MARK: Trouble

    private static let scripts: Set<Script> = [
        .pushNote, .pushTake, .pushFacts, .pushMessage, .pushSettle, .pushHeld, .pushRelease, .pushNotification,
        .queueAdd, .queueTake, .queueSettle, .leadCourier,
    ]

    private func ran(_ script: Script, _ arguments: [String]) {
        guard Self.scripts.contains(script), arguments.count > 2, !isCalm, draw(0...99) < trouble,
            let place = world.shards.firstIndex(where: { $0.logic.feature(EventDelivery.self)!.courier!.isCourier })
        else { return }
        world.after(0) { [unowned self] in harm(place) }
    }

    private func harm(_ place: Int) {
        let shard = world.shards[place]
        guard !shard.isDead, !isCalm else { return }
        deaths += 1
        switch draw(0...4) {
        case 0, 1:
            shard.die()
            world.replaceShard(at: place)
            webhooks.record(world.shards[place])
        case 2: shard.cutAll()
        case 3: shard.hold(.commands, for: Milliseconds(draw(100...4_500)))
        default:
            shard.stop()
            world.after(Milliseconds(draw(10...4_000))) { shard.wakeUp() }
        }
    }
}
