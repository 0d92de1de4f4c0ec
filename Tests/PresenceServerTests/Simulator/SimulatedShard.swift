import Logging
import PresenceProtocol
import Redis
import WebSockets

@testable import PresenceServer

/// A shard's logic between a simulated store and simulated sockets.
final class SimulatedShard: Store, Sockets {
    unowned let world: World
    let name: String
    private(set) var logic: ShardLogic!
    private let clock: ShardClock
    private(set) var isDead = false
    /// A loop that stands still: everything for it waits.
    private var isStopped = false
    /// Events are lost on their way to it, and nothing breaks; canaries come through.
    var missesEvents = false
    private var waiting: [() -> Void] = []

    private var isUp: [StoreLane: Bool] = [:]
    private var isSubscribed = false
    /// Subscribed, but nothing that is published comes.
    var isDeaf = false
    private var canary = ""
    /// Grows when a connection breaks: what was under way on it is lost.
    private var connectionNumber: [StoreLane: Int] = [:]
    private var subscriptionNumber = 0
    private var lastArrival: [StoreLane: Milliseconds] = [:]
    private var lastReply: [StoreLane: Milliseconds] = [:]
    private var lastEvent: Milliseconds = 0
    private var plannedWake: Milliseconds = .max

    private(set) var clients: [SocketID: SimulatedClient] = [:]
    private var sockets: UInt32 = 0

    init(world: World, name: String) {
        self.world = world
        self.name = name
        clock = ShardClock(now: world.now)
        logic = ShardLogic(
            configuration: world.configuration, clock: clock, store: self, sockets: self, isAlone: false,
            random: SplitMix64(world.random.next()), logger: Logger(label: name) { _ in SwiftLogNoOpLogHandler() }
        ) { token, now in
            // In the simulation a token is its user's name, and when it was issued if that matters.
            let parts = token.split(separator: "#", maxSplits: 1).map(String.init)
            guard let user = parts.first.flatMap({ UserID($0) }) else { return .failure(.malformed) }
            return .success(
                Claims(
                    subject: user, isBackend: false, expiresAt: now + 1_000_000_000,
                    issuedAt: parts.count > 1 ? Timestamp(parts[1]) : nil))
        }
    }

    func start() {
        let publish = world.redis.publish
        world.redis.publish = { [weak self] channel, payload in
            publish(channel, payload)
            self?.hear(channel, payload)
        }
        input { $0.link.start() }
        for lane in StoreLane.allCases { connect(lane) }
        tick()
    }

    /// One input of the logic, and the end of the turn.
    func input(_ body: @escaping (ShardLogic) -> Void) {
        guard !isDead else { return }
        guard !isStopped else { return waiting.append { [unowned self] in input(body) } }
        clock.advance(to: world.now)
        body(logic)
        _ = logic.endTurn()
        planTick()
    }

    private func tick() {
        plannedWake = .max
        input { $0.tick() }
    }

    private func planTick() {
        let wake = min(max(logic.nextWake, world.now + 1), world.now + ShardLogic.longestSleep)
        guard wake < plannedWake else { return }
        plannedWake = wake
        world.after(wake - world.now) { [weak self] in
            guard let self, plannedWake == wake else { return }
            tick()
        }
    }

    // MARK: Faults

    /// kill -9: clients lose their connections, Redis hears nothing.
    func die() {
        isDead = true
        for client in clients.values { client.lost() }
        clients = [:]
    }

    /// SIGSTOP and SIGCONT.
    func stop() { isStopped = true }

    func wakeUp() {
        isStopped = false
        let waiting = waiting
        self.waiting = []
        tick()
        waiting.forEach { $0() }
    }

    /// A connection to Redis breaks; it is made anew when Redis can be reached.
    func cut(_ lane: StoreLane) {
        connectionNumber[lane, default: 0] += 1
        isUp[lane] = false
        input { $0.handle(.down(lane, reason: "cut")) }
        connect(lane)
    }

    func cutSubscription() {
        subscriptionNumber += 1
        isSubscribed = false
        input { $0.handle(.unsubscribed(reason: "cut")) }
        resubscribe()
    }

    func cutAll() {
        StoreLane.allCases.forEach(cut)
        cutSubscription()
    }

    private func connect(_ lane: StoreLane) {
        let number = connectionNumber[lane, default: 0]
        world.after(world.wayThrough() + 5) { [weak self] in
            guard let self, connectionNumber[lane, default: 0] == number else { return }
            guard !world.redis.isGone else { return connect(lane) }
            isUp[lane] = true
            input { $0.handle(.up(lane)) }
        }
    }

    private func resubscribe() {
        let number = subscriptionNumber
        world.after(world.wayThrough() + 5) { [weak self] in
            guard let self, subscriptionNumber == number else { return }
            guard !world.redis.isGone, !world.redis.isSilent else { return resubscribe() }
            isSubscribed = true
            input { $0.handle(.subscribed) }
        }
    }

    // MARK: Store

    func run(_ script: Script, keys: [String], arguments: [String], lane: StoreLane, reply: @escaping StoreReply) {
        send(lane, reply) { world in
            world.redis.run(script, keys: keys, arguments: [String(world.redisNow)] + arguments)
        }
    }

    func command(_ words: [String], lane: StoreLane, reply: @escaping StoreReply) {
        send(lane, reply) { $0.redis.command(words) }
    }

    /// Commands of a lane arrive in their order, and so do their replies.
    private func send(
        _ lane: StoreLane, _ reply: @escaping StoreReply, run: @escaping (World) -> Result<RedisValue, RedisFailure>
    ) {
        guard isUp[lane] == true else {
            return world.after(0) { [weak self] in self?.input { _ in reply(.failure(.disconnected(sent: false))) } }
        }
        let number = connectionNumber[lane, default: 0]
        let arrival = max(lastArrival[lane] ?? 0, world.now + world.wayThrough())
        lastArrival[lane] = arrival
        world.after(arrival - world.now) { [weak self] in self?.arrive(lane, number, reply, run) }
    }

    private func arrive(
        _ lane: StoreLane, _ number: Int, _ reply: @escaping StoreReply,
        _ run: @escaping (World) -> Result<RedisValue, RedisFailure>
    ) {
        // Cut on the way: some commands had arrived, some had not. Nobody knows.
        guard connectionNumber[lane, default: 0] == number else {
            if Bool.random(using: &world.random), !world.redis.isGone, !world.redis.isSilent { _ = run(world) }
            return input { _ in reply(.failure(.disconnected(sent: true))) }
        }
        guard !world.redis.isSilent else {
            return world.after(1) { [weak self] in self?.arrive(lane, number, reply, run) }
        }
        let answer = run(world)
        let back = max(lastReply[lane] ?? 0, world.now + world.wayThrough())
        lastReply[lane] = back
        world.after(back - world.now) { [weak self] in
            guard let self else { return }
            let isWhole = connectionNumber[lane, default: 0] == number
            input { _ in reply(isWhole ? answer : .failure(.disconnected(sent: true))) }
        }
    }

    func subscribe(canary: String) {
        self.canary = canary
        subscriptionNumber += 1
        isSubscribed = false
        resubscribe()
    }

    /// The end of a turn takes no time here, so nothing waits for this.
    var pending: Int { 0 }

    func reconnect() { StoreLane.allCases.forEach(cut) }

    private func hear(_ channel: String, _ payload: [UInt8]) {
        guard isSubscribed, !isDead, !isDeaf, !missesEvents || channel == canary else { return }
        let number = subscriptionNumber
        let arrival = max(lastEvent, world.now + world.wayThrough())
        lastEvent = arrival
        world.after(arrival - world.now) { [weak self] in
            guard let self, subscriptionNumber == number else { return }
            input { [canary, partitions = logic.partitions] logic in
                payload.withUnsafeBytes { bytes in
                    if channel == canary {
                        logic.link.handle(canary: bytes)
                    } else if let partition = partitions.eventChannels.firstIndex(of: channel) {
                        logic.handle(event: bytes, partition: partition)
                    }
                }
            }
        }
    }

    // MARK: Sockets

    func accept(_ client: SimulatedClient) -> SocketID {
        let socket = SocketID(index: sockets, generation: 1)
        sockets += 1
        clients[socket] = client
        input { $0.opened(socket, headerToken: nil) }
        return socket
    }

    func deliver(_ message: [UInt8], from socket: SocketID) {
        input { logic in message.withUnsafeBytes { logic.received($0, on: socket) } }
    }

    func hangUp(_ socket: SocketID, code: UInt16?) {
        clients[socket] = nil
        input { $0.closed(socket, code: code, hadCloseFrame: code != nil) }
    }

    func write(_ bytes: UnsafeRawBufferPointer, to socket: SocketID) -> WriteResult {
        guard let client = clients[socket] else { return .refused }
        return client.receive(Array(bytes))
    }

    func drained(_ socket: SocketID) { input { $0.writable(socket) } }

    func ping(_ socket: SocketID) {
        guard let client = clients[socket], client.answersPings else { return }
        world.after(world.wayThrough()) { [weak self] in self?.input { $0.heard(socket) } }
    }

    func close(_ socket: SocketID, code: CloseCode, reason: String) {
        guard let client = clients.removeValue(forKey: socket) else { return }
        client.closed(by: code)
        world.after(1) { [weak self] in self?.input { $0.closed(socket, code: code.rawValue, hadCloseFrame: true) } }
    }

    func silence(of socket: SocketID) -> Milliseconds? { nil }
    func pauseReading(_ socket: SocketID) {}
    func resumeReading(_ socket: SocketID) {}
}
