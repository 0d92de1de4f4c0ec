import EventLoops
import Foundation

/// Runs the histories of many seeds, on a thread for each core, each with its own Redis.
///
/// It has threads of its own, because the worlds wait for Redis in blocking calls, which would starve concurrent tests.
struct Seeds: Sendable {
    var first: UInt64 = 1
    /// The most seeds.
    var count = 200
    /// No new one is begun after this many seconds.
    var seconds: Double?
    var mutation: Mutation?
    /// The run stops after this many failures.
    var enough = 3

    struct Failure: Sendable {
        let history: SimulatedHistory
        let violation: String
        let stepsBefore: Int
        /// The events of the shrunk history.
        let transcript: [String]

        /// How to reproduce it: the command, and the few steps that suffice.
        var report: String {
            """
            seed \(history.seed): \(violation)
            again: make soak SEED=\(history.seed)
            \(stepsBefore) steps, of which these \(history.steps.count) are enough:
            \(history.source)
            \(transcript.joined(separator: "\n"))
            """
        }
    }

    struct Outcome: Sendable {
        var first: UInt64 = 0
        var failures: [Failure] = []
        var histories = 0
        var steps = 0
        /// In simulated time.
        var milliseconds: Int64 = 0
        var commands = 0
        var seconds = 0.0

        var summary: String {
            let rate = { (count: Double) in String(Int(count / max(seconds, 0.001))) }
            return "simulator: \(histories) histories from seed \(first), of \(steps) steps and "
                + "\(milliseconds / 3_600_000) hours, \(commands) scripts and commands, in \(Int(seconds)) s: "
                + "\(rate(Double(histories))) histories, \(rate(Double(steps))) steps, \(rate(Double(commands))) commands a second"
        }
    }

    func run(_ draw: @escaping @Sendable (UInt64) -> SimulatedHistory) async throws -> Outcome {
        let progress = Progress(first: first)
        let began = ContinuousClock.now
        let end = seconds.map { began + .seconds($0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.threads {
                group.addTask {
                    try await onThread {
                        let redis = try SimulatedRedis(substitutes: mutation?.substitutes ?? [:])
                        while true {
                            let seed = progress.takeSeed()
                            guard seed - first < count, end.map({ ContinuousClock.now < $0 }) ?? true,
                                progress.outcome.failures.count < enough
                            else { return }
                            try play(draw(seed), on: redis, progress)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        var outcome = progress.outcome
        outcome.first = first
        outcome.seconds = (ContinuousClock.now - began) / .seconds(1)
        return outcome
    }

    private func play(_ history: SimulatedHistory, on redis: SimulatedRedis, _ progress: Progress) throws {
        if Self.isTraced { print("seed \(history.seed)") }
        let run = try HistoryRun(history, on: redis, misbehaving: mutation?.misbehaviour ?? [])
        var failure: Failure?
        do {
            try run.play()
        } catch let found as Violation {
            let shrunk = Shrinking(history, found) { try violation(of: $0, redis) }
            let (small, last) = try shrunk.smallest()
            failure = Failure(
                history: small, violation: last.description, stepsBefore: history.steps.count,
                transcript: Self.isTraced ? try transcript(of: small, redis) : [])
        }
        progress.add(
            Outcome(
                failures: failure.map { [$0] } ?? [], histories: 1, steps: history.steps.count,
                milliseconds: run.world.now - 1_000_000, commands: redis.counts.values.reduce(0, +)))
    }

    /// The violation in a history, if there is one.
    func violation(of history: SimulatedHistory, _ redis: SimulatedRedis) throws -> Violation? {
        do {
            try HistoryRun(history, on: redis, misbehaving: mutation?.misbehaviour ?? []).play()
            return nil
        } catch let violation as Violation {
            return violation
        }
    }

    private func transcript(of history: SimulatedHistory, _ redis: SimulatedRedis) throws -> [String] {
        let run = try HistoryRun(history, on: redis, misbehaving: mutation?.misbehaviour ?? [])
        run.transcript = []
        try? run.play()
        return run.transcript ?? []
    }

    // MARK: Which seeds

    /// Prints each seed as it begins, and the events of failing ones: `SIMULATOR_TRACE=1`.
    private static let isTraced = ProcessInfo.processInfo.environment["SIMULATOR_TRACE"] != nil

    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap(UInt64.init)
    }

    /// The histories to play: half of them the same each time, half from new seeds. Or only the requested ones.
    static func fromEnvironment() -> [Seeds] {
        let seed = number("SEED")
        // A seed for each millisecond: runs have none in common unless they overlap.
        let fresh = number("FRESH_SEED") ?? UInt64(Date().timeIntervalSince1970 * 1_000)
        let count = number("SIMULATOR_SEEDS").map(Int.init)
        if let seconds = number("SOAK_SECONDS") {
            return [Seeds(first: seed ?? fresh, count: count ?? .max, seconds: Double(seconds))]
        }
        if let seed { return [Seeds(first: seed, count: count ?? 1)] }
        let half = (count ?? 200) / 2
        return [Seeds(count: half), Seeds(first: fresh, count: (count ?? 200) - half)]
    }

    /// The same for another kind of histories, with this many played.
    static func halves(of count: Int) -> [Range<UInt64>] {
        let asked = fromEnvironment()
        guard asked.count > 1 else { return asked.map { $0.first..<$0.first + UInt64(min($0.count, count)) } }
        return asked.map { $0.first..<$0.first + UInt64(count / asked.count) }
    }

    /// The size of the crowd, if requested.
    static var crowd: Int? { number("CROWD").map { Int($0) } }

    /// Whether all histories run, not only requested seeds.
    static var isWhole: Bool { number("SEED") == nil && !isSoak }

    /// Played for a time, from seeds that no run had before.
    static var isSoak: Bool { number("SOAK_SECONDS") != nil }

    private static let threads = max(1, ProcessInfo.processInfo.activeProcessorCount)
}

/// The state that the threads share.
private final class Progress: Sendable {
    private let next: Locked<UInt64>
    private let sum = Locked(Seeds.Outcome())

    init(first: UInt64) { next = Locked(first) }

    func takeSeed() -> UInt64 {
        next.withLock { seed in
            defer { seed += 1 }
            return seed
        }
    }

    var outcome: Seeds.Outcome { sum.withLock(\.self) }

    func add(_ one: Seeds.Outcome) {
        sum.withLock {
            $0.failures += one.failures
            $0.histories += one.histories
            $0.steps += one.steps
            $0.milliseconds += one.milliseconds
            $0.commands += one.commands
        }
    }
}
