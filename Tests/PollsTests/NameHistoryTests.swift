import Foundation
import Redis
import TestSupport
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// That a change over several partitions is done whole or not at all, whatever dies between its steps: 500 drawn histories.
@Suite("Whatever dies between its steps, a change over two partitions is whole") struct NameHistoryTests {
    @Test func `every claim is named by its owner's record, and nobody is without a name between two`() async throws {
        let sum = try await Histories().run()
        #expect(sum.faults == [])
        print("names: \(sum)")
        // It came to what it is about.
        #expect(sum.count == Histories.most && sum.deaths > 1_000 && sum.answers > 1_000 && sum.refusals > 1_000)
    }

    @Test(arguments: Mistake.all) func `a mistake made on purpose is found`(mistake: Mistake) async throws {
        let substitutes = mistake.substitutes
        try #require(!substitutes.isEmpty, "no script holds what this replaces")
        let sum = try await Histories(substitutes: substitutes, enough: 1).run()
        print("\(mistake.name): found after \(sum.count) histories: \(sum.faults.first ?? "not")")
        #expect(!sum.faults.isEmpty)
    }

    struct Mistake: Sendable, CustomTestStringConvertible {
        let name: String
        let old: String
        let new: String
        var testDescription: String { name }

        var substitutes: [Script: RedisScript] {
            var found: [Script: RedisScript] = [:]
            for script in PollNames.plan.scripts where script.source.contains(old) {
                found[script] = RedisScript(name: script.name, source: script.source.replacing(old, with: new))
            }
            return found
        }

        static let all: [Mistake] = [
            Mistake(
                name: "a claim is dropped whose number is another",
                old: "if redis.call('HGET', KEYS[3], thing) == ARGV[5] .. ' ' .. ARGV[6] then\n    redis.call('HDEL'",
                new: "local held = redis.call('HGET', KEYS[3], thing)\n"
                    + "if string.match(held or '', '^%S+') == ARGV[5] then\n    redis.call('HDEL'"
            ),
            Mistake(
                name: "a wish is fulfilled that is over", old: "if wish ~= number then return",
                new: "if not wish then return"),
            Mistake(
                name: "a wish is ended by the executor of an earlier one",
                old: "if values[1] ~= ARGV[5] then", new: "if false then"),
            Mistake(
                name: "a late executor takes a thing back to an earlier number",
                old: "if tonumber(number) >= tonumber(ARGV[6]) then return { 'OK' } end", new: ""),
            Mistake(
                name: "a claim that was taken late is not looked at again",
                old: "redis.call('SADD', KEYS[2], ARGV[4])\nreturn { 'OK' }", new: "return { 'OK' }"),
            Mistake(
                name: "another's claim is an orphan, whatever its owner's record says",
                old: "return { 'OK', values[1] or '', values[2] or '', values[3] or '' }",
                new: "return { 'OK', values[1] or '', values[2] or '', '' }"),
            Mistake(
                name: "a wish is not written down for others",
                old: "redis.call('SADD', KEYS[2], ARGV[4])\nreturn { 'WISH', number }", new: "return { 'WISH', number }"
            ),
        ]
    }
}

/// Runs the histories of many seeds, on a thread for each core.
struct Histories: Sendable {
    static let most = 500

    var substitutes: [Script: RedisScript] = [:]
    /// So many faults are enough.
    var enough = 3

    struct Sum: Sendable {
        var count = 0
        var deaths = 0
        var answers = 0
        var refusals = 0
        var looks = 0
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
                sum.answers += part.answers
                sum.refusals += part.refusals
                sum.looks += part.looks
                sum.faults += part.faults
            }
        }
    }

    private func play(_ seeds: some Sequence<UInt64>) throws -> Sum {
        let redis = try SimulatedRedis(substitutes: substitutes, features: NameHistory.features)
        var sum = Sum()
        for seed in seeds where sum.faults.count < enough {
            sum.count += 1
            let history = try NameHistory(seed: seed, on: redis)
            do {
                try history.play()
            } catch let fault as NameHistory.Fault {
                sum.faults.append("seed \(seed): \(fault)")
            } catch let impatience as World.Impatience {
                sum.faults.append("seed \(seed): never so: \(impatience.what)")
            }
            sum.deaths += history.deaths
            sum.answers += history.answers
            sum.refusals += history.refusals
            sum.looks += history.orphans
        }
        return sum
    }
}
