import EventLoops
import Foundation
import Redis

@testable import PresenceCore
@testable import PresenceServer

/// A history drawn from a number: actions of people, and servers that die between its steps. Each number gives another
/// history, and always the same one.
protocol DrawnHistory: AnyObject, SendableMetatype {
    /// The features of the servers that play it.
    static var features: [any Feature.Type] { get }
    init(seed: UInt64, on redis: SimulatedRedis) throws
    /// Plays it to its end.
    ///
    /// Throws a ``HistoryFault`` when a promise was broken.
    func play() throws
    /// How often its subject occurred.
    var tally: [String: Int] { get }
}

extension DrawnHistory {
    static var features: [any Feature.Type] { Features.all }
}

/// A promise that was broken in a history.
struct HistoryFault: Error, CustomStringConvertible { let description: String }

/// A deliberate bug in a script, to show that histories find it.
struct ScriptMistake: Sendable, CustomStringConvertible {
    let name: String
    let old: String
    let new: String
    /// The accepted descriptions of its faults; if empty, any.
    var faults: [String] = []
    /// A history that has shown it.
    var seed: UInt64 = 1
    var description: String { name }

    init(name: String, old: String, new: String, faults: [String] = [], seed: UInt64 = 1) {
        (self.name, self.old, self.new, self.faults, self.seed) = (name, old, new, faults, seed)
    }

    /// - Parameters:
    ///   - mark: The mark of the replaced line, which ends in `-- mutation: MARK`.
    ///   - line: Its replacement.
    init(name: String, at mark: String, becomes line: String = "", faults: [String] = [], seed: UInt64 = 1) {
        (self.name, old, new, self.faults) = (name, " -- mutation: \(mark)", line, faults)
        self.seed = seed
    }

    /// The scripts that contain the text or the mark, with the bug in them.
    func substitutes(in scripts: [Script]) -> [Script: RedisScript] {
        // Foundation's `contains` takes a tenth of a second for all scripts.
        let wrong = scripts.filter { strstr($0.source, old) != nil }.map { script in
            (script, RedisScript(name: script.name, source: mistaken(script.source)))
        }
        // A list may name a script twice, in place of a removed one.
        return Dictionary(wrong) { first, _ in first }
    }

    private func mistaken(_ source: String) -> String {
        guard old.hasPrefix(" -- mutation: ") else { return source.replacing(old, with: new) }
        let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.map { $0.hasSuffix(old) ? new[...] : $0 }.joined(separator: "\n")
    }

    /// The history that has shown it, then all from the first seed on.
    func seeds(_ count: Int) -> [UInt64] { [seed] + (1...UInt64(count)).filter { $0 != seed } }

    func isFound(in fault: String) -> Bool { faults.isEmpty || faults.contains { fault.contains($0) } }
}

/// Plays histories on a thread for each core, each with its own Redis.
struct DrawnHistories<History: DrawnHistory>: Sendable {
    let count: Int
    /// After this many faults no history of a higher seed is begun, so the found ones do not depend on the threads.
    private static var enough: Int { 3 }

    struct Sum: Sendable, CustomStringConvertible {
        fileprivate(set) var histories = 0
        fileprivate(set) var firsts: [UInt64] = []
        fileprivate(set) var tally: [String: Int] = [:]
        fileprivate var found: [UInt64: String] = [:]
        /// By seed.
        var faults: [String] { found.sorted { $0.key < $1.key }.map { "SEED=\($0.key): \($0.value)" } }

        subscript(name: String) -> Int { tally[name] ?? 0 }

        fileprivate mutating func add(_ other: Sum) {
            histories += other.histories
            tally.merge(other.tally, uniquingKeysWith: +)
            found.merge(other.found) { one, _ in one }
        }

        var description: String {
            let counted = tally.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
            return "\(histories) histories from seeds \(firsts): \(counted.joined(separator: ", "))"
        }
    }

    /// Half of the histories are the same each time (seeds from 1 on), and half have new seeds; or only the requested
    /// ones (``Seeds``).
    func run() async throws -> Sum {
        let threads = ProcessInfo.processInfo.activeProcessorCount
        let faults = FaultSeeds()
        let ranges = Seeds.halves(of: count)
        let seeds = ranges.flatMap(Array.init)
        return try await withThrowingTaskGroup(of: Sum.self) { group in
            for thread in 0..<threads {
                group.addTask {
                    try await onThread {
                        try play(stride(from: thread, to: seeds.count, by: threads).map { seeds[$0] }, faults)
                    }
                }
            }
            return try await group.reduce(into: Sum(firsts: ranges.map(\.lowerBound))) { $0.add($1) }
        }
    }

    /// The first fault that histories find in a mistake; `nil` if they find none. The history that has shown it is played
    /// first, then all from the first seed on.
    static func find(_ mistake: ScriptMistake, in scripts: [Script], count: Int) async throws -> String? {
        let substitutes = mistake.substitutes(in: scripts)
        guard !substitutes.isEmpty else { throw HistoryFault(description: "no script has what this replaces") }
        let sum = try await onThread {
            let redis = try SimulatedRedis(substitutes: substitutes, features: History.features)
            var sum = Sum()
            for seed in mistake.seeds(count) where sum.found.isEmpty {
                sum.add(try play(seed, on: redis))
            }
            return sum
        }
        print("\(mistake.name): found after \(sum.histories) histories: \(sum.faults.first ?? "not")")
        return sum.faults.first
    }

    private func play(_ seeds: [UInt64], _ faults: FaultSeeds) throws -> Sum {
        let redis = try SimulatedRedis(features: History.features)
        var sum = Sum()
        for seed in seeds where faults.count(below: seed) < Self.enough {
            let one = try Self.play(seed, on: redis)
            if !one.found.isEmpty { faults.add(seed) }
            sum.add(one)
        }
        return sum
    }

    private static func play(_ seed: UInt64, on redis: SimulatedRedis) throws -> Sum {
        let history = try History(seed: seed, on: redis)
        var one = Sum(histories: 1)
        do {
            try history.play()
        } catch let fault as HistoryFault {
            one.found[seed] = fault.description
        } catch let impatience as World.Impatience {
            one.found[seed] = "never so: \(impatience.what)"
        }
        one.tally = history.tally
        return one
    }
}

/// The seeds of the faults that the threads have found together.
private final class FaultSeeds: Sendable {
    private let seeds = Locked<[UInt64]>([])
    func count(below seed: UInt64) -> Int { seeds.withLock { $0.count { $0 < seed } } }
    func add(_ seed: UInt64) { seeds.withLock { $0.append(seed) } }
}
