import Foundation
import Redis
import TestSupport
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// That who is truly away is pushed for once, and nobody else, whatever dies: drawn histories.
@Suite("Whatever dies, who is away is pushed for once") struct PushHistoryTests {
    @Test func `who is away is told once, and nobody else`() async throws {
        let sum = try await PushHistories().run()
        #expect(sum.faults == [])
        print("pushes: \(sum)")
        // It came to what it is about.
        #expect(sum.count == PushHistories.most && sum.deaths > 200 && sum.told > 300)
    }

    @Test(arguments: Mistake.all) func `a mistake made on purpose is found by its own fault`(mistake: Mistake)
        async throws
    {
        let substitutes = mistake.substitutes
        try #require(!substitutes.isEmpty, "no script holds what this replaces")
        let sum = try await PushHistories(substitutes: substitutes, enough: 1).run()
        print("\(mistake.name): found after \(sum.count) histories: \(sum.faults.first ?? "not")")
        let fault = try #require(sum.faults.first)
        #expect(fault.contains(mistake.fault), "\(fault)")
    }

    struct Mistake: Sendable, CustomTestStringConvertible {
        let name: String
        let old: String
        let new: String
        /// What is said of it.
        let fault: String
        var testDescription: String { name }

        var substitutes: [Script: RedisScript] {
            var found: [Script: RedisScript] = [:]
            for script in Script.push where script.source.contains(old) {
                found[script] = RedisScript(name: script.name, source: script.source.replacing(old, with: new))
            }
            return found
        }

        static let all: [Mistake] = [
            Mistake(
                name: "what comes while one is told is forgotten", old: "if ARGV[9] ~= '' and isNewer then",
                new: "if false then", fault: "was not told of"),
            Mistake(
                name: "what was told is not remembered", old: "redis.call('HSET', KEYS[3], ARGV[5], value)", new: "",
                fault: "and of"),
            Mistake(
                name: "what is taken is in nobody's hands",
                old: "redis.call('ZADD', KEYS[2], int(now + tonumber(ARGV[5])), entry)",
                new: "redis.call('ZREM', KEYS[2], entry)", fault: "was not told of"),
            Mistake(
                name: "what was given up counts as told", old: "redis.call('HDEL', KEYS[2], ARGV[4])", new: "",
                fault: "was not told of"),
            Mistake(
                name: "a revoked device is pushed to", old: "isCurrent = tonumber(at or '0') >= revokedAt",
                new: "isCurrent = true", fault: "after their tokens were revoked"),
            Mistake(
                name: "who has a session has no time", old: "== 1 and tonumber(ARGV[8]) or 0",
                new: "== 1 and 0 or 0", fault: "was told early"),
        ]
    }
}

/// Runs the histories of many seeds, on a thread for each core.
struct PushHistories: Sendable {
    static let most = 60

    var substitutes: [Script: RedisScript] = [:]
    /// So many faults are enough.
    var enough = 3

    struct Sum: Sendable {
        var count = 0
        var deaths = 0
        var told = 0
        var faults: [String] = []
    }

    func run() async throws -> Sum {
        let threads = ProcessInfo.processInfo.activeProcessorCount
        return try await withThrowingTaskGroup(of: Sum.self) { group in
            for thread in 0..<threads {
                group.addTask {
                    try await onThread {
                        try play(stride(from: UInt64(1 + thread), through: UInt64(Self.most), by: threads))
                    }
                }
            }
            return try await group.reduce(into: Sum()) { sum, part in
                sum.count += part.count
                sum.deaths += part.deaths
                sum.told += part.told
                sum.faults += part.faults
            }
        }
    }

    private func play(_ seeds: some Sequence<UInt64>) throws -> Sum {
        let redis = try SimulatedRedis(substitutes: substitutes)
        var sum = Sum()
        for seed in seeds where sum.faults.count < enough {
            sum.count += 1
            let history = try PushHistory(seed: seed, on: redis)
            do {
                try history.play()
            } catch let fault as PushHistory.Fault {
                sum.faults.append("seed \(seed): \(fault)")
            } catch let impatience as World.Impatience {
                sum.faults.append("seed \(seed): never so: \(impatience.what)")
            }
            sum.deaths += history.deaths
            sum.told += history.told
        }
        return sum
    }
}
