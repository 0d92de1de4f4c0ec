import Logging
import PresenceProtocol
import Redis
import Tokens
import WebSockets

@testable import PresenceCore
@testable import PresenceServer

/// A shard's logic between a simulated store and simulated sockets.
final class SimulatedShard {
    /// Unchecked, for the world releases its shards in its own deinit.
    unowned(unsafe) let world: World
    let name: String
    private(set) var logic: ShardLogic!
    private(set) var workers: SimulatedWorkers!
    /// Steps of async functions that can continue; they run before an input ends.
    private let steps = SimulatedSteps()
    /// Whether the world has ended: every command to Redis fails.
    private(set) var isReleased = false
    private let clock: ShardClock
    /// This host's monotonic clock runs hours ahead of the world's time.
    private let clockOffset: Milliseconds
    private(set) var isDead = false
    /// Whether the loop is suspended: all input waits.
    private(set) var isStopped = false
    private var waiting: [() -> Void] = []
    /// While it is true, all inputs belong to one turn.
    var isGathering = false
    private var plannedWake: Milliseconds = .max

    // The connections to Redis; their functions are in `SimulatedShard+Store`.
    var lanes: [StoreLane: SimulatedLane] = [.commands: .init(), .lease: .init()]
    /// Commands for these keys do not arrive, as if the keys were on a master of a cluster that does not answer.
    var isUnreachable: (_ key: String) -> Bool = { _ in false }
    /// Redis refuses commands for these keys, as if the keys were on a master of a cluster that refuses all.
    var refusal: (_ key: String) -> RedisFailure? = { _ in nil }
    var subscription = SimulatedSubscription()
    /// Answers about keys that were valid (`remembersKeys`).
    var remembered: [[String]: RedisValue] = [:]
    /// No connection to Redis can be made before this time.
    var redisLostUntil: Milliseconds = 0
    let channels: [String: Int]

    // The sockets; their functions are in `SimulatedShard+Sockets`.
    /// The bytes that the logic has reserved in the budget for pending messages.
    var inboxBytes = 0
    var maxInboxBytes = Int.max
    /// Whether the queue to Redis is full.
    var isFull = false
    /// Its log.
    let log = LogLines()
    var clients: [SocketID: SimulatedClient] = [:]
    var sockets = SimulatedSocketIDs()

    init(world: World, name: String) {
        self.world = world
        self.name = name
        clockOffset = Milliseconds.random(in: 0...10_000_000, using: &world.random)
        clock = ShardClock(now: world.now + clockOffset)
        let partitions = Partitions(world.configuration, database: 0)
        channels = Dictionary(uniqueKeysWithValues: zip(partitions.eventChannels, 0...))
        workers = SimulatedWorkers(world: world, shard: self)
        logic = ShardLogic(
            configuration: world.configuration, clock: clock, store: self, sockets: self, workers: workers,
            executor: steps,
            isAlone: false, random: SplitMix64(world.random.next()),
            logger: Logger(label: name) { [log] _ in KeepingLogHandler(log) },
            features: world.features,
            sign: { user, grant, _, now in "\(user)#\(now)#\(grant?.string ?? "-")" }
        ) { [unowned world] token, now in
            let result = Self.verify(token, now)
            return world.signaturesTakeTime ? .signature { result } : .done(result)
        }
    }

    private static func verify(_ token: String, _ now: Timestamp) -> Result<Claims, AuthenticationFailure> {
        // In the simulation a token is its user's name, and its time of issue and its grant, if these matter.
        let parts = token.split(separator: "#", maxSplits: 2).map(String.init)
        guard let user = parts.first.flatMap({ UserID($0) }) else { return .failure(.malformed) }
        return .success(
            Claims(
                subject: user, isBackend: user.string == "!backend", expiresAt: now + 1_000_000_000,
                issuedAt: parts.count > 1 ? Timestamp(parts[1]) : nil,
                grant: parts.count > 2 ? Identifier(parts[2]) : nil))
    }

    func start() {
        input { $0.link.start() }
        for lane in StoreLane.allCases { connect(lane) }
        tick()
    }

    /// The logic and its ports hold strong references to each other, and pending functions hold one to the logic.
    func release() {
        isReleased = true
        let commands = StoreLane.allCases.flatMap { lanes[$0]!.pending }
        for lane in StoreLane.allCases { lanes[lane]!.pending = [] }
        for command in commands where !command.isSettled { command.reply(.failure(.disconnected(sent: true))) }
        workers.stop()
        steps.run()
        logic = nil
        clients = [:]
        waiting = []
    }

    // MARK: Inputs

    /// One input of the logic, and the end of the turn.
    func input(_ body: @escaping (ShardLogic) -> Void) {
        guard !isDead else { return }
        guard !isStopped else { return waiting.append { [unowned self] in input(body) } }
        clock.advance(to: world.now + clockOffset)
        body(logic)
        steps.run()
        if !isGathering { _ = logic.endTurn() }
        planTick()
    }

    private func tick() {
        plannedWake = .max
        input { $0.tick() }
    }

    private func planTick() {
        let now = world.now + clockOffset
        let wake = min(max(logic.nextWake, now + 1), now + ShardLogic.longestSleep) - clockOffset
        guard wake < plannedWake else { return }
        plannedWake = wake
        world.after(wake - world.now) { [weak self] in
            guard let self, plannedWake == wake else { return }
            tick()
            timeOut()
        }
    }

    // MARK: Faults

    /// Loses all connections to Redis; none can be made for some time.
    func loseRedis(for duration: Milliseconds) {
        redisLostUntil = world.now + duration
        cutAll()
    }

    var canReachRedis: Bool { !world.redis.isGone && !world.redis.isSilent && world.now >= redisLostUntil }

    /// kill -9: clients lose their connections, and Redis receives only the commands that are on their way.
    func die() {
        guard !isDead else { return }
        isDead = true
        waiting = []
        for lane in StoreLane.allCases { _ = breakDown(lane) }
        subscription.number += 1
        for socket in clients.keys.sorted(by: { $0.index < $1.index }) { clients[socket]?.lost() }
        clients = [:]
    }

    /// SIGSTOP and SIGCONT.
    func stop() { isStopped = true }

    func wakeUp() {
        guard isStopped else { return }
        isStopped = false
        let waiting = waiting
        self.waiting = []
        tick()
        waiting.forEach { $0() }
    }

    /// Whether its loop runs.
    var isRunning: Bool { !isDead && !isStopped }

    /// SIGTERM: all clients get a time to reconnect, and a moment later the shard ends.
    func drain() {
        input { logic in
            logic.drain()
            logic.link.renewOnceMore {}
        }
        world.after(200) { [weak self] in self?.die() }
    }
}
