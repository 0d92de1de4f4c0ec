import Expectations
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Histories find bugs: each of these deliberate bugs has to be found. Without it the same histories find nothing.
@Suite(.serialized) struct MutationTests {
    /// The number of seeds within which a bug has to be found.
    private static let most = 150
    /// The number of network schedules within which a stored history has to show its bug: the schedules change with the
    /// simulator, and most of them suffice for the steps.
    private static let ways: UInt64 = 30

    @Test(.enabled(if: Seeds.isWhole), arguments: Mutation.all)
    func `a bug is shown by the history that once found it`(mutation: Mutation) async throws {
        try checkSubstitutes(mutation)
        let shown = try await onThread {
            let redis = try SimulatedRedis()
            let mistaken = try SimulatedRedis(substitutes: mutation.substitutes)
            var history = mutation.history
            for _ in 0..<Self.ways {
                if let innocent = try Seeds().violation(of: history, redis) { throw innocent }
                let found = try Seeds(mutation: mutation).violation(of: history, mistaken)
                if found?.rule == mutation.shows { return true }
                history.seed += 1
            }
            return false
        }
        expect(shown, "its history shows it no more; make soak finds another to keep with it")
    }

    @Test(.enabled(if: Seeds.isSoak), arguments: Mutation.all.filter(\.isSearched))
    func `a bug is found`(mutation: Mutation) async throws {
        try checkSubstitutes(mutation)
        let outcome = try await Seeds(count: Self.most, mutation: mutation, enough: 1)
            .run { SimulatedHistory.drawn(from: $0, faults: mutation.faults) }
        print("\(mutation.name): found after \(outcome.histories) histories")
        let found = try #require(outcome.failures.first, "nothing was found in \(outcome.histories) histories")
        print(found.report)
        expect(found.history.steps.count <= 20, "shrunk to no less than \(found.history.source)")

        let redis = try SimulatedRedis()
        let innocent = try Seeds().violation(of: found.history, redis)
        expect(innocent == nil, "without the mistake: \(innocent!)")
        let whole = try Seeds().violation(of: .drawn(from: found.history.seed, faults: mutation.faults), redis)
        expect(whole == nil, "without the mistake: \(whole!)")
    }

    private func checkSubstitutes(_ mutation: Mutation) throws {
        if mutation.mistake != nil {
            try #require(!mutation.substitutes.isEmpty, "no script holds what \(mutation.name) replaces")
        }
    }
}
