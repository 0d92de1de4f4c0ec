import Foundation
import Logging
import PresenceProtocol
import Redis
import TestSupport

@testable import PresenceServer

/// Several shards, their clients and one real Redis, on invented time.
///
/// Everything that would take time becomes an entry of one agenda: a command's way to Redis, its reply's way back, an
/// event's delivery, a shard's tick. Each takes a few invented ms, drawn from the seed, so one seed is one history.
/// The scripts are the real ones and run in a real Redis, with the time as their argument.
final class World {
    /// The monotonic clock of everyone, in ms. (Each host's own offset would change nothing: only ages are passed on.)
    private(set) var now: Milliseconds = 1_000_000
    /// Redis' own clock, which may jump.
    var redisEpoch: Timestamp = 1_700_000_000_000
    let configuration: ServerConfiguration
    private(set) var shards: [SimulatedShard] = []
    var random: SplitMix64
    let redis: SimulatedRedis
    private var agenda = Agenda()

    init(shards count: Int, seed: UInt64 = 1, _ adjust: (inout ServerConfiguration) -> Void = { _ in }) throws {
        var configuration = ServerConfiguration()
        configuration.partitions = 4
        adjust(&configuration)
        self.configuration = configuration
        random = SplitMix64(seed)
        redis = try SimulatedRedis(partitions: configuration.partitions)
        for _ in 0..<count { try addShard() }
        try run(for: 100)
    }

    var redisNow: Timestamp { redisEpoch + now }

    @discardableResult
    func addShard() throws -> SimulatedShard {
        let shard = SimulatedShard(world: self, name: "shard-\(shards.count)")
        shards.append(shard)
        shard.start()
        return shard
    }

    // MARK: Time

    /// Puts something on the agenda.
    func after(_ delay: Milliseconds, _ action: @escaping () -> Void) { agenda.add(at: now + delay, action) }

    /// A way through a network: 1 to 3 ms.
    func wayThrough() -> Milliseconds { Milliseconds.random(in: 1...3, using: &random) }

    /// Lets time pass, doing everything that falls due.
    func run(for duration: Milliseconds) throws {
        let end = now + duration
        while let (time, action) = agenda.next(until: end) {
            now = max(now, time)
            action()
            if let failure = redis.failure { throw failure }
        }
        now = end
    }

    /// Lets time pass until something is so.
    func run(until what: String, within patience: Milliseconds = 60_000, _ isSo: () -> Bool) throws {
        let end = now + patience
        while !isSo() {
            guard now < end else { throw Impatience(what: what) }
            try run(for: 1)
        }
    }

    struct Impatience: Error { let what: String }
}

/// What is to happen when, in the order of time and then of entry.
struct Agenda {
    private var entries: [(time: Milliseconds, order: Int, action: () -> Void)] = []
    private var orders = 0

    mutating func add(at time: Milliseconds, _ action: @escaping () -> Void) {
        orders += 1
        // Kept sorted, the earliest last.
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].time > time { low = middle + 1 } else { high = middle }
        }
        entries.insert((time, orders, action), at: low)
    }

    mutating func next(until end: Milliseconds) -> (Milliseconds, () -> Void)? {
        guard let last = entries.last, last.time <= end else { return nil }
        entries.removeLast()
        return (last.time, last.action)
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
