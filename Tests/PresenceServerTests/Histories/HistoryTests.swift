import Expectations
import Foundation
import Testing

@testable import PresenceCore
@testable import Simulator

/// Thousands of random histories, each with the real scripts on a real Redis, in simulated time.
///
/// `SIMULATOR_SEEDS` is the number of seeds, `SEED` the first one (alone: the only one), `FRESH_SEED` the first of
/// those that no run has used before, `SOAK_SECONDS` the duration, and `CROWD` the number of users in a crowd (2,000).
@Suite struct HistoryTests {
    @Test func `whatever happens, what is promised holds`() async throws {
        for seeds in Seeds.fromEnvironment() {
            let outcome = try await seeds.run { SimulatedHistory.drawn(from: $0) }
            print(outcome.summary)
            for failure in outcome.failures { Issue.record("\(failure.report)") }
        }
    }

    @Test(.enabled(if: Seeds.isWhole || Seeds.crowd != nil)) func `the promises hold in a crowd, too`() async throws {
        let outcome = try await Seeds(first: 1, count: 2).run { SimulatedHistory.crowd(Seeds.crowd ?? 2_000, from: $0) }
        print(outcome.summary)
        for failure in outcome.failures { Issue.record("\(failure.report)") }
    }

    @Test func `random refusals cover exactly the scripts that histories run`() throws {
        let redis = try SimulatedRedis()
        // This script runs only after Redis has lost a change of a name, from an older copy of its data.
        var run: Set = [Script.renumber.name]
        for seed: UInt64 in 1...40 where !run.isSuperset(of: Script.played.map(\.name)) {
            try HistoryRun(.drawn(from: seed), on: redis).play()
            run.formUnion(Script.allCases.map(\.name).filter { redis.counts[$0] != nil })
        }
        expect(run, equals: Set(Script.played.map(\.name)))
    }

    @Test func `a seed gives the same history twice`() throws {
        for seed: UInt64 in [3, 4, 5] {
            let transcripts = try (0..<2).map { _ in
                let run = try HistoryRun(.drawn(from: seed), on: SimulatedRedis())
                try run.play()
                return run.people.map { person in
                    person.devices.sorted { $0.key < $1.key }.map { "\($0.value.client.received)" }
                }
            }
            expect(transcripts[0], equals: transcripts[1], "seed \(seed)")
        }
    }
}
