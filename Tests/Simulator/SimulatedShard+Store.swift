import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer

/// A simulated shard's subscription to Redis' events.
struct SimulatedSubscription {
    var isUp = false
    /// Grows with every attempt: messages of an earlier one are lost.
    var number = 0
    var canary = ""
    /// How often it was made, the first time included.
    var times = 0
    /// Half open: no messages arrive, without a notice.
    var isDeaf = false
    /// Events are lost, and nothing breaks; canaries arrive.
    var missesEvents = false
    /// Nothing arrives before this time.
    var heldUntil: Milliseconds = 0
    var lastArrival: Milliseconds = 0
    /// Further channels, with their partitions, as the shard wants them …
    var followed: [String: Int] = [:]
    /// … and as Redis knows them.
    var known: Set<String> = []
    /// When the shard's last request reaches Redis.
    var lastRequest: Milliseconds = 0
    var isOverhearing = false
}

extension SimulatedShard: Store {
    func run(_ script: Script, keys: [String], arguments: [String], lane: StoreLane, reply: @escaping StoreReply) {
        guard var reply = asked(script, arguments, reply) else { return }
        if world.misbehaviour.contains(.takesLossForStopped), script == .typing, arguments[5].isEmpty {
            reply = { [reply] answer in
                if case .failure(.disconnected) = answer { reply(Self.done) } else { reply(answer) }
            }
        }
        send(lane, about: keys[0], reply) { world in
            let time = String(world.redisNow(at: keys[0]))
            let answer = world.redis.run(script, keys: keys, arguments: [time] + arguments)
            guard world.misbehaviour.contains(.takesRefusalForDone), [.end, .activity].contains(script),
                case .failure(.server) = answer
            else { return answer }
            return Self.done
        }
    }

    private static let done: Result<RedisValue, RedisFailure> = .success(.array([.bytes(Array("OK".utf8))]))

    func command(_ words: [String], lane: StoreLane, reply: @escaping StoreReply) {
        send(lane, about: words.count > 1 ? words[1] : "", reply) { $0.redis.command($0.drawn(words)) }
    }

    /// The end of a turn takes no time here, so nothing waits for this.
    var pending: Int { 0 }
    var hasOneClock: Bool { world.mastersAhead.isEmpty }

    func reconnect() { StoreLane.allCases.forEach { cut($0) } }

    func subscribe(canary: String) {
        subscription.canary = canary
        resubscribe()
    }

    /// Commands of a lane arrive in their order, and so do their replies.
    private func send(
        _ lane: StoreLane, about key: String, _ reply: @escaping StoreReply,
        run: @escaping (World) -> Result<RedisValue, RedisFailure>
    ) {
        guard !isReleased else { return reply(.failure(.disconnected(sent: false))) }
        guard lanes[lane]?.isUp == true else {
            return world.after(0) { [weak self] in self?.input { _ in reply(.failure(.disconnected(sent: false))) } }
        }
        let command = SimulatedLane.Command(
            sentAt: world.now, life: world.redis.life, reply: reply,
            run: { [unowned self] in refusal(key).map(Result.failure) ?? run($0) })
        let arrival = max(lanes[lane]!.lastArrival, world.now + world.wayThrough(), lanes[lane]!.heldUntil)
        lanes[lane]!.lastArrival = arrival
        lanes[lane]!.pending.append(command)
        // Retained until it arrives, which it does even if its sender has died.
        guard !isUnreachable(key) else { return }
        world.after(arrival - world.now) { [self] in arrive(command, on: lane) }
    }

    private func arrive(_ command: SimulatedLane.Command, on lane: StoreLane) {
        guard !command.isLost, !world.redis.isGone, command.life == world.redis.life else { return }
        guard !world.redis.isSilent else { return world.redis.whenHeard { [self] in arrive(command, on: lane) } }
        command.hasArrived = true
        let answer = command.run(world)
        guard !command.isSettled else { return }
        let back = max(lanes[lane]!.lastReply, world.now + world.wayThrough(), lanes[lane]!.repliesHeldUntil)
        lanes[lane]!.lastReply = back
        world.after(back - world.now) { [weak self] in self?.complete(command, answer, on: lane) }
    }

    private func complete(
        _ command: SimulatedLane.Command, _ answer: Result<RedisValue, RedisFailure>, on lane: StoreLane
    ) {
        guard !command.isSettled else { return }
        command.isSettled = true
        lanes[lane]!.pending.removeAll { $0 === command }
        input { _ in command.reply(answer) }
    }

    /// Breaks a connection whose oldest command has waited too long.
    func timeOut() {
        guard isRunning else { return }
        for lane in StoreLane.allCases {
            guard let oldest = lanes[lane]?.pending.first,
                world.now - oldest.sentAt >= world.configuration.commandTimeout
            else { continue }
            cut(lane, .timedOut(sent: true))
        }
    }

    // MARK: Breaks

    /// A connection to Redis breaks; it is made again when Redis can be reached.
    func cut(_ lane: StoreLane, _ failure: RedisFailure = .disconnected(sent: true)) {
        guard !isDead else { return }
        let unanswered = breakDown(lane)
        input { logic in
            for command in unanswered { command.reply(.failure(failure)) }
            logic.handle(.down(lane, reason: "cut"))
        }
        connect(lane)
    }

    func breakDown(_ lane: StoreLane) -> [SimulatedLane.Command] {
        lanes[lane]!.breakDown {
            $0 == 0 ? 0 : Int.random(in: 0...$0, using: &world.random)
        }
    }

    func connect(_ lane: StoreLane) {
        let number = lanes[lane]!.number
        world.after(world.wayThrough() + 5) { [weak self] in self?.tryToConnect(lane, number) }
    }

    private func tryToConnect(_ lane: StoreLane, _ number: Int) {
        guard !isDead, lanes[lane]!.number == number else { return }
        guard canReachRedis else {
            return world.after(retryPause) { [weak self] in self?.tryToConnect(lane, number) }
        }
        lanes[lane]!.isUp = true
        input { $0.handle(.up(lane)) }
    }

    private var retryPause: Milliseconds { Milliseconds.random(in: 25...100, using: &world.random) }

    func cutSubscription() {
        guard !isDead else { return }
        subscription.number += 1
        subscription.isUp = false
        input { $0.handle(.unsubscribed(reason: "cut")) }
        resubscribe()
    }

    func cutAll() {
        StoreLane.allCases.forEach { cut($0) }
        cutSubscription()
    }

    /// Commands on a lane arrive late.
    func hold(_ lane: StoreLane, for duration: Milliseconds) { lanes[lane]?.heldUntil = world.now + duration }

    /// Answers on a lane arrive late.
    func holdReplies(_ lane: StoreLane, for duration: Milliseconds) {
        lanes[lane]?.repliesHeldUntil = world.now + duration
    }

    /// Events arrive late.
    func holdEvents(for duration: Milliseconds) { subscription.heldUntil = world.now + duration }

    /// Whether something is delayed for longer than usual.
    var isHeld: Bool {
        lanes.values.contains { max($0.heldUntil, $0.lastArrival) > world.now + 10 }
            || max(subscription.heldUntil, subscription.lastArrival) > world.now + 10
    }

    /// Later commands have their usual delay, and Redis can be reached.
    func stopHolding() {
        redisLostUntil = 0
        for lane in StoreLane.allCases { lanes[lane]?.heldUntil = 0 }
        subscription.heldUntil = 0
    }

    /// Makes its subscription half open.
    func deafen() { subscription.isDeaf = true }

    // MARK: Events

    private func resubscribe() {
        subscription.number += 1
        subscription.isUp = false
        subscription.isDeaf = false
        subscription.heldUntil = 0
        let number = subscription.number
        world.after(world.wayThrough() + 5) { [weak self] in self?.tryToSubscribe(number) }
    }

    private func tryToSubscribe(_ number: Int) {
        guard !isDead, subscription.number == number else { return }
        guard canReachRedis else {
            return world.after(retryPause) { [weak self] in self?.tryToSubscribe(number) }
        }
        subscription.isUp = true
        subscription.times += 1
        let isLosing = world.misbehaviour.contains(.losesInterests) && subscription.times > 1
        let channels = subscription.followed.keys.sorted()
        subscription.known = isLosing ? [] : Set(channels)
        input { logic in
            for channel in channels { logic.handle(.followed(channel: channel)) }
            logic.handle(.subscribed)
        }
    }

    // MARK: Further channels

    func follow(_ channel: String, partition: Int) {
        subscription.followed[channel] = partition
        guard subscription.isUp else { return }
        if world.misbehaviour.contains(.readsTooEarly) {
            world.after(0) { [weak self] in self?.input { $0.handle(.followed(channel: channel)) } }
        }
        request { [self] number in
            subscription.known.insert(channel)
            let arrival = arrival()
            world.after(arrival - world.now) { [weak self] in
                guard let self, subscription.number == number, !subscription.isDeaf else { return }
                input { $0.handle(.followed(channel: channel)) }
            }
            guard world.misbehaviour.contains(.leavesTooEarly) else { return }
            world.after(1_500) { [weak self] in
                if let self, subscription.number == number { subscription.known.remove(channel) }
            }
        }
    }

    func leave(_ channel: String) {
        subscription.followed[channel] = nil
        guard subscription.isUp else { return }
        request { [self] _ in subscription.known.remove(channel) }
    }

    var isSubscribing: Bool { subscription.isUp }

    func overhear(_ pattern: String?) { subscription.isOverhearing = pattern != nil }

    /// The shard's request reaches Redis, after its earlier ones.
    private func request(_ arrive: @escaping (_ number: Int) -> Void) {
        let number = subscription.number
        let arrival = max(subscription.lastRequest, world.now + world.wayThrough())
        subscription.lastRequest = arrival
        world.after(arrival - world.now) { [weak self] in self?.reach(number, arrive) }
    }

    private func reach(_ number: Int, _ arrive: @escaping (_ number: Int) -> Void) {
        guard subscription.number == number, subscription.isUp, !isDead, !world.redis.isGone else { return }
        guard !world.redis.isSilent else { return world.redis.whenHeard { [weak self] in self?.reach(number, arrive) } }
        arrive(number)
    }

    /// When Redis' present messages arrive here: after all earlier ones.
    private func arrival() -> Milliseconds {
        let arrival = max(subscription.lastArrival, world.now + world.wayThrough(), subscription.heldUntil)
        subscription.lastArrival = arrival
        return arrival
    }

    func receive(_ channel: String, _ payload: [UInt8]) {
        guard subscription.isUp, !subscription.isDeaf, !isDead else { return }
        let isCanary = channel == subscription.canary
        let isFollowed = subscription.known.contains(channel)
        if subscription.isOverhearing, channel.contains(":events:"), channels[channel] == nil {
            input { logic in payload.withUnsafeBytes { logic.handle(overheard: $0) } }
        }
        guard isCanary || isFollowed || channels[channel] != nil else { return }
        if subscription.missesEvents, !isCanary { return }
        if world.misbehaviour.contains(.losesResubscription), subscription.times > 1, !isCanary { return }
        let number = subscription.number
        let arrival = arrival()
        world.after(arrival - world.now) { [weak self] in
            // Data that has reached the host before the connection breaks is read; the rest is lost.
            guard let self, subscription.number == number, !subscription.isDeaf else { return }
            // Messages of a channel that was left meanwhile are dropped.
            guard !isFollowed || subscription.followed[channel] != nil else { return }
            input { [partition = channels[channel] ?? subscription.followed[channel]] logic in
                payload.withUnsafeBytes { bytes in
                    if let partition {
                        logic.handle(event: bytes, partition: partition)
                    } else {
                        logic.link.handle(canary: bytes)
                    }
                }
            }
        }
    }
}
