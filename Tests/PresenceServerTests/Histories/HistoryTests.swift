import Foundation
import Testing

@testable import PresenceCore
@testable import Simulator

/// Thousands of histories drawn from seeds, each over the real scripts on a real Redis, on invented time.
///
/// `SIMULATOR_SEEDS` says how many, `SEED` with which to begin (alone: only that one), `FRESH_SEED` with which those begin
/// that no run had before, `SOAK_SECONDS` for how long, and `CROWD` how many people a crowd has (2,000).
@Suite struct HistoryTests {
    @Test func `whatever happens, what is promised holds`() async throws {
        for seeds in Seeds.fromEnvironment() {
            let outcome = try await seeds.run { SimulatedHistory.drawn(from: $0) }
            print(outcome.summary)
            for failure in outcome.failures { Issue.record("\(failure.report)") }
        }
    }

    @Test(.enabled(if: Seeds.isWhole || Seeds.crowd != nil)) func `so it does in a crowd`() async throws {
        let outcome = try await Seeds(first: 1, count: 2).run { SimulatedHistory.crowd(Seeds.crowd ?? 2_000, from: $0) }
        print(outcome.summary)
        for failure in outcome.failures { Issue.record("\(failure.report)") }
    }

    @Test func `refusals are drawn of the scripts that histories run, and of no others`() throws {
        let redis = try SimulatedRedis()
        // It takes an old copy of Redis' data, in which a name has changed since.
        var run: Set = [Script.renumber.name]
        for seed: UInt64 in 1...40 where !run.isSuperset(of: Script.played.map(\.name)) {
            try HistoryRun(.drawn(from: seed), on: redis).play()
            run.formUnion(Script.allCases.map(\.name).filter { redis.counts[$0] != nil })
        }
        #expect(run == Set(Script.played.map(\.name)))
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
            #expect(transcripts[0] == transcripts[1], "seed \(seed)")
        }
    }
}
