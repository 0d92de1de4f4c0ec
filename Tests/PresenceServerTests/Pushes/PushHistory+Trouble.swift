import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Faults in a `PushHistory`, between a script and its answer and at the push service.
extension PushHistory {
    private static let scripts: Set<Script> = [
        .pushNote, .pushTake, .pushFacts, .pushMessage, .pushSettle, .pushForget, .pushWithdraw,
        .queueAdd, .queueTake, .queueLeft, .queueSettle, .leadCourier,
    ]

    func answer(_ call: QueuedEvent) -> DeliveryOutcome? {
        guard let push = PushMessage(call.body) else { return .accepted }
        let outcome: DeliveryOutcome =
            switch draw(0...9) {
            case 0: .failed("status 503", retryAfter: 0)
            case 1, 2: .refused("status 400 BadDeviceToken")
            default: .accepted
            }
        past.handOver(
            push, outcome, due: time(of: push.at), at: now, redisBack: epochs[0] + (redisTrouble?.endedAt ?? 0))
        return outcome
    }

    func ran(_ script: Script, _ arguments: [String], _ answer: Result<RedisValue, RedisFailure>) {
        check(script, arguments, answer)
        guard Self.scripts.contains(script), arguments.count > 2, !isQuiet, arguments[2] != Self.writer else { return }
        if script == .pushTake, case .success(let value) = answer, draw(0...2) == 0 {
            for entry in (value.array ?? []).dropFirst(3).compactMap(\.string).prefix(1) { race(entry) }
        }
        guard draw(0...99) < trouble,
            let place = world.shards.firstIndex(where: { $0.logic.link.incarnation == arguments[2] })
        else { return }
        deaths += 1
        world.after(0) { [unowned self] in harm(place) }
    }

    /// At this moment the message to be pushed is read and a newer one arrives, it is deleted, or another courier notes
    /// it. A notification is read.
    func willRun(_ script: Script, _ arguments: [String]) {
        guard script == .pushSettle, !isQuiet, arguments[8] != "" else { return }
        let (user, talk) = (arguments[3], arguments[4])
        guard Self.talks[talk] != nil else { return draw(0...3) == 0 ? readNotifications(user) : () }
        switch draw(0...7) {
        case 0, 1:
            mark(user, talk)
            send(talk, isOffered: false)
            recordNewest(talk)
        case 2:
            let seq = Int(arguments[7])!
            delete(seq, talk, isOffered: false)
            withdraw(seq, talk)
        default: break
        }
    }

    private func recordNewest(_ talk: String) {
        for other in Self.talks[talk]! where other != "ana" && !past.isClosed(other, talk) {
            let id = UserID(other)!
            let keys = partitions.keys(of: id)
            let read = past.read(PushPast.Place(user: other, talk: talk), at: now)
            run(
                .pushNote, [keys.shards, keys.floor, keys.push, keys.pushed(id), keys.sessions(id), keys.user(id)],
                keys,
                [other, talk, "\(read)", "\(PushScheduler.wait)", ""])
        }
    }

    /// Reads the message while its push is decided, and sends a newer one.
    private func race(_ entry: String) {
        let words = entry.split(separator: " ").map(String.init)
        guard words.count == 2, Self.talks[words[1]] != nil else { return }
        let (first, second) = (Milliseconds(draw(0...15)), Milliseconds(draw(0...15)))
        world.after(first) { [unowned self] in mark(words[0], words[1]) }
        world.after(first + second) { [unowned self] in send(words[1]) }
    }

    private func harm(_ place: Int) {
        let shard = world.shards[place]
        guard !shard.isDead, !isQuiet else { return }
        if clockSteps, draw(0...1) == 0 {
            stepBack(by: Milliseconds(draw(3_600_000...36_000_000)))
        }
        switch draw(0...(redisTrouble == nil ? 6 : 8)) {
        case 0...2:
            shard.die()
            world.replaceShard(at: place)
            webhooks.record(world.shards[place])
        case 3: shard.cut(.commands)
        case 4: shard.cutAll()
        case 5: shard.hold(.commands, for: Milliseconds(draw(100...4_500)))
        case 6:
            shard.stop()
            world.after(Milliseconds(draw(10...4_000))) { shard.wakeUp() }
        default: redisTrouble?.begin(draw)
        }
    }
}
