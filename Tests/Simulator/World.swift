import Foundation
import Logging
import PresenceProtocol
import Redis
import TestSupport

@testable import PresenceCore
@testable import PresenceServer

/// Several shards, their clients and one real Redis, in simulated time.
///
/// Everything that would take time becomes an entry of one agenda: a command's way to Redis, its reply's way back, an
/// event's delivery, a shard's tick. Each takes a few simulated ms, drawn from the seed, so one seed is one history.
/// The scripts are the real ones and run in a real Redis, with the time as their argument.
final class World {
    /// The time that passes for everyone, in ms. Each shard's own monotonic clock is hours away from it.
    private(set) var now: Milliseconds = 1_000_000
    /// Redis' own clock, which may jump.
    var redisEpoch: Timestamp = 1_700_000_000_000
    /// How far the clocks of a cluster's masters are ahead of that of the leases, by the name of the partition on them;
    /// empty: one server has everything.
    let mastersAhead: [String: Milliseconds]
    let configuration: ServerConfiguration
    private(set) var shards: [SimulatedShard] = []
    private let seed: UInt64
    var random: SplitMix64
    let redis: SimulatedRedis
    /// Deliberate faults of the ports.
    var misbehaviour: Set<PortMisbehaviour> = []
    /// Tokens have signatures that are verified off the loop.
    var signaturesTakeTime = false
    private var agenda = Agenda()
    /// The number of actions that have run.
    private var actions = 0
    /// The features of each shard.
    let features: [any Feature.Type]

    /// - Parameter redis: An instance that earlier worlds have used; it is emptied.
    init(
        shards count: Int, seed: UInt64 = 1, redis: SimulatedRedis? = nil, mastersAhead: [String: Milliseconds] = [:],
        features: [any Feature.Type] = Features.all, _ adjust: (inout ServerConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = ServerConfiguration()
        configuration.partitions = 4
        configuration.redis.interests = Self.hasInterests
        adjust(&configuration)
        self.configuration = configuration
        self.features = features
        self.mastersAhead = mastersAhead
        self.seed = seed
        random = SplitMix64(seed)
        self.redis = try redis ?? SimulatedRedis(features: features)
        try self.redis.empty()
        self.redis.publish = { [unowned self] channel, payload in
            for shard in shards { shard.receive(channel, payload) }
        }
        for _ in 0..<count { try addShard() }
        try run(for: 100)
        try run(until: "all shards are live") { shards.allSatisfy { $0.logic.link.isLive } }
    }

    /// `SIMULATOR_INTERESTS=1`: worlds without a setting of their own have `redis.interests`.
    private static let hasInterests = ProcessInfo.processInfo.environment["SIMULATOR_INTERESTS"] == "1"

    var redisNow: Timestamp { redisEpoch + now }

    /// The time for a script with this first key.
    func redisNow(at key: String) -> Timestamp {
        redisNow + (mastersAhead.first { key.hasPrefix($0.key) }?.value ?? 0)
    }

    @discardableResult
    func addShard() throws -> SimulatedShard {
        let shard = SimulatedShard(world: self, name: "shard-\(shards.count)")
        shards.append(shard)
        shard.start()
        return shard
    }

    /// A new server in the place of one that has died.
    func replaceShard(at place: Int) {
        replaced.append(shards[place])
        let shard = SimulatedShard(world: self, name: "shard-\(place)-\(replaced.count)")
        shards[place] = shard
        shard.start()
    }
    private var replaced: [SimulatedShard] = []

    deinit {
        redis.publish = { _, _ in }
        (shards + replaced).forEach { $0.release() }
    }

    // MARK: Time

    /// Adds an action to the agenda.
    func after(_ delay: Milliseconds, _ action: @escaping () -> Void) { agenda.add(at: now + delay, action) }

    /// The delay of a network: 1 to 3 ms.
    func wayThrough() -> Milliseconds { Milliseconds.random(in: 1...3, using: &random) }

    /// Lets time pass, and runs everything that becomes due.
    func run(for duration: Milliseconds) throws {
        let end = now + duration
        while let (time, action) = agenda.next(until: end) {
            now = max(now, time)
            actions += 1
            action()
            if let failure = redis.failure { throw failure }
        }
        now = end
    }

    /// Lets time pass until a condition holds. The condition is about what actions change: it is checked after each ms in which
    /// one ran, and now and then besides.
    func run(until what: String, within patience: Milliseconds = 60_000, _ isSo: () -> Bool) throws {
        let end = now + patience
        var checked = -1
        while true {
            if checked != actions || (end - now).isMultiple(of: 100) {
                checked = actions
                if isSo() { return }
            }
            guard now < end else { throw Impatience(what: what) }
            try run(for: 1)
        }
    }

    struct Impatience: Error { let what: String }
}

/// A port that behaves as if the server's code that relies on it had a bug.
enum PortMisbehaviour {
    /// A new subscription receives the canary only.
    case losesResubscription
    /// A lost connection looks like a clean close.
    case takesLossForGoodbye
    /// Redis' rejection of the end or the state of a session looks like its acknowledgement.
    case takesRefusalForDone
    /// A lost connection looks like the acknowledgement that a user stopped typing.
    case takesLossForStopped
    /// A channel counts as followed before Redis has received the subscription.
    case readsTooEarly
    /// A channel is left a moment after it was followed, although it is watched.
    case leavesTooEarly
    /// A new subscription receives the partitions' channels only.
    case losesInterests
    /// The last answer that a key is valid is taken for the present one.
    case remembersKeys
}

/// Planned events, in the order of time and then of entry: a binary heap.
struct Agenda {
    private struct Entry {
        let time: Milliseconds
        let order: Int
        let action: () -> Void

        func isBefore(_ other: Entry) -> Bool { time < other.time || time == other.time && order < other.order }
    }

    private var entries: [Entry] = []
    private var orders = 0

    var count: Int { entries.count }

    mutating func add(at time: Milliseconds, _ action: @escaping () -> Void) {
        orders += 1
        entries.append(Entry(time: time, order: orders, action: action))
        var place = entries.count - 1
        while place > 0, entries[place].isBefore(entries[(place - 1) / 2]) {
            entries.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    mutating func next(until end: Milliseconds) -> (Milliseconds, () -> Void)? {
        guard let first = entries.first, first.time <= end else { return nil }
        let last = entries.removeLast()
        if !entries.isEmpty {
            entries[0] = last
            sink()
        }
        return (first.time, first.action)
    }

    private mutating func sink() {
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2]
            where child < entries.count && entries[child].isBefore(entries[least]) { least = child }
            guard least != place else { return }
            entries.swapAt(place, least)
            place = least
        }
    }
}

extension World {
    /// A secret that a server draws for its installation decides in which partitions records are, so it comes from the seed, too.
    func drawn(_ command: [String]) -> [String] {
        guard command.count == 4, command[0] == "SET", command[1].hasSuffix("Key"), command[3] == "NX" else {
            return command
        }
        var random = SplitMix64(seed)
        let digits = command[2].map { _ in "0123456789abcdef".randomElement(using: &random)! }
        return ["SET", command[1], String(digits), "NX"]
    }
}

/// A small random number generator with a seed, so that a history can be repeated.
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
