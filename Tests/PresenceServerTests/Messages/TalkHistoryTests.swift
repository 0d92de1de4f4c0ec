import Foundation
import Redis
import TestSupport
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// That nothing of a conversation is lost, doubled or out of order, whatever dies: drawn histories.
@Suite("Whatever dies, a conversation is whole") struct TalkHistoryTests {
    @Test func `nothing is lost, doubled or out of order, and unread is what was not read`() async throws {
        let sum = try await TalkHistories().run()
        #expect(sum.faults == [])
        print("talks: \(sum)")
        // It came to what it is about.
        #expect(sum.count == TalkHistories.most && sum.deaths > 300 && sum.sent > 1_000)
    }

    @Test(arguments: Mistake.all) func `a mistake made on purpose is found`(mistake: Mistake) async throws {
        let substitutes = mistake.substitutes
        try #require(!substitutes.isEmpty, "no script holds what this replaces")
        let sum = try await TalkHistories(substitutes: substitutes, enough: 1).run()
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
            for script in Script.conversations + Script.messageScripts where script.source.contains(old) {
                found[script] = RedisScript(name: script.name, source: script.source.replacing(old, with: new))
            }
            return found
        }

        static let all: [Mistake] = [
            Mistake(name: "a message that is sent again is a new one", old: "if known then", new: "if false then"),
            Mistake(
                name: "a change skips a number", old: "c.last, c.changes = c.last + 1, c.changes + 1",
                new: "c.last, c.changes = c.last + 1, c.changes + (c.last % 7 == 3 and 2 or 1)"),
            Mistake(
                name: "a mark goes back", old: "math.max(m.read, math.min(tonumber(ARGV[7]), c.last))",
                new: "math.min(tonumber(ARGV[7]), c.last)"),
            Mistake(
                name: "a change of a message has no number of its own", old: "    c.changes = c.changes + 1\n", new: ""),
            Mistake(name: "who writes has not read", old: "sender.own = c.last", new: ""),
            Mistake(
                name: "an inbox that was not told is not written down",
                old: "if #users > 0 then redis.call('SADD', unfinishedKey, intent) end", new: ""),
            Mistake(
                name: "what was edited is not told to who was away",
                old: "if number <= after and number >= first and not seen[number] then", new: "if false then"),
            Mistake(
                name: "a message goes before its time", old: "sentAt(raw) > limit", new: "sentAt(raw) > limit + 20000"),
            Mistake(
                name: "where nobody writes, nothing goes",
                old: "redis.call('ZADD', KEYS[7], int(sentAt(redis.call('LINDEX', KEYS[4], 0))), ARGV[4])", new: ""),
            Mistake(
                name: "what has gone is unread for ever", old: "m.read = c.first - 1", new: "m.read = m.read"),
        ]
    }
}

/// Runs the histories of many seeds, on a thread for each core.
struct TalkHistories: Sendable {
    static let most = 150

    var substitutes: [Script: RedisScript] = [:]
    /// So many faults are enough.
    var enough = 3

    struct Sum: Sendable {
        var count = 0
        var deaths = 0
        var sent = 0
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
                sum.sent += part.sent
                sum.faults += part.faults
            }
        }
    }

    private func play(_ seeds: some Sequence<UInt64>) throws -> Sum {
        let redis = try SimulatedRedis(substitutes: substitutes)
        var sum = Sum()
        for seed in seeds where sum.faults.count < enough {
            sum.count += 1
            let history = try TalkHistory(seed: seed, on: redis)
            do {
                try history.play()
            } catch let fault as TalkHistory.Fault {
                sum.faults.append("seed \(seed): \(fault)")
            } catch let impatience as World.Impatience {
                sum.faults.append("seed \(seed): never so: \(impatience.what)")
            }
            sum.deaths += history.deaths
            sum.sent += history.sent
        }
        return sum
    }
}
