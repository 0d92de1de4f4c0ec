import Foundation
import Redis
import TestSupport
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// That devices of one user never disagree, and that nothing is lost, doubled or comes back, whatever dies: drawn histories.
@Suite("Whatever dies, notifications are whole") struct NotificationHistoryTests {
    @Test func `every device has the same list and counts, and nothing is lost`() async throws {
        let sum = try await NotificationHistories().run()
        #expect(sum.faults == [])
        print("notifications: \(sum)")
        // It came to what it is about.
        #expect(sum.count == NotificationHistories.most && sum.deaths > 100 && sum.stored > 1_000)
    }

    @Test(arguments: Mistake.all) func `a mistake made on purpose is found by its own fault`(mistake: Mistake)
        async throws
    {
        let substitutes = mistake.substitutes
        try #require(!substitutes.isEmpty, "no script holds what this replaces")
        let sum = try await NotificationHistories(substitutes: substitutes, enough: 1).run()
        print("\(mistake.name): found after \(sum.count) histories: \(sum.faults.first ?? "not")")
        let fault = try #require(sum.faults.first)
        #expect(mistake.faults.contains { fault.contains($0) }, "\(fault)")
    }

    struct Mistake: Sendable, CustomTestStringConvertible {
        let name: String
        let old: String
        let new: String
        /// What may be said of it.
        let faults: [String]
        var testDescription: String { name }

        var substitutes: [Script: RedisScript] {
            var found: [Script: RedisScript] = [:]
            for script in Script.notificationScripts where script.source.contains(old) {
                found[script] = RedisScript(name: script.name, source: script.source.replacing(old, with: new))
            }
            return found
        }

        static let all: [Mistake] = [
            Mistake(
                name: "what is posted again is told again", old: "if not find(b, id, 1, 1) then", new: "if true then",
                faults: ["twice", " of [\"n"]),
            Mistake(
                name: "a change has no version of its own", old: "b.version = nextVersion(previous, b.floor)",
                new: "b.version = math.max(previous, 1)", faults: ["version 1 of"]),
            Mistake(
                name: "who missed an event is not told so", old: "int(now), int(previous), int(unseen)",
                new: "int(now), '0', int(unseen)", faults: ["keeps [", "a device of"]),
            Mistake(
                name: "the mark of what was seen goes back", old: "if seen > b.seen then",
                new: "if seen > 0 and seen ~= b.seen then", faults: ["had seen", "has seen"]),
            Mistake(
                name: "what is replaced stays", old: "                retire(b, place)\n", new: "",
                faults: ["was replaced, and", "a device of", "keeps ["]),
            Mistake(
                name: "others are not told what is replaced",
                old: "news.replaces[#news.replaces + 1] = int(seqOf(b, place))", new: "", faults: ["a device of"]),
            Mistake(
                name: "others are not told what is archived", old: "news.archived[#news.archived + 1] = int(seq)",
                new: "",
                faults: ["a device of"]),
            Mistake(
                name: "others are not told what is read", old: "news.read[#news.read + 1] = int(seq)", new: "",
                faults: ["a device of"]),
            Mistake(
                name: "the id of what was archived is forgotten",
                old: "b.gone[#b.gone + 1] = int(seqOf(b, i))\n    setState(b, i, 'x')", new: "drop(b, i)",
                faults: ["was archived by", "was replaced, and", " of [\"n"]),
            Mistake(
                name: "unread counts what was read", old: "count(b.states, 'u'), first",
                new: "count(b.states, '[ur]'), first", faults: ["unread of"]),
            Mistake(
                name: "what is too much is dropped untold", old: "first and seqOf(b, first) or b.last + 1", new: "1",
                faults: ["a device of"]),
            Mistake(
                name: "some of what was unseen is not read", old: "while i > 0 and left > 0 do",
                new: "while i > 1 and left > 0 do",
                faults: ["is lost to", "unseen of", "unread of", "keeps", "a device of"]),
        ]
    }
}

/// Runs the histories of many seeds, on a thread for each core.
struct NotificationHistories: Sendable {
    static let most = 100

    var substitutes: [Script: RedisScript] = [:]
    /// So many faults are enough.
    var enough = 3

    struct Sum: Sendable {
        var count = 0
        var deaths = 0
        var stored = 0
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
                sum.stored += part.stored
                sum.faults += part.faults
            }
        }
    }

    private func play(_ seeds: some Sequence<UInt64>) throws -> Sum {
        let redis = try SimulatedRedis(substitutes: substitutes)
        var sum = Sum()
        for seed in seeds where sum.faults.count < enough {
            sum.count += 1
            let history = try NotificationHistory(seed: seed, on: redis)
            do {
                try history.play()
            } catch let fault as NotificationHistory.Fault {
                sum.faults.append("seed \(seed): \(fault)")
            } catch let impatience as World.Impatience {
                sum.faults.append("seed \(seed): never so: \(impatience.what)")
            }
            sum.deaths += history.deaths
            sum.stored += history.stored
        }
        return sum
    }
}
