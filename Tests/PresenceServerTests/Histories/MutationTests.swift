import Testing

@testable import PresenceServer

/// That histories find mistakes: each of these is made on purpose, and has to be found within so many seeds. Without it
/// the same seeds find nothing.
@Suite(.serialized) struct MutationTests {
    private static let seeds = 150

    @Test(.enabled(if: Seeds.isWhole), arguments: Mutation.all)
    func `a mistake is found`(mutation: Mutation) async throws {
        if mutation.replacing != nil {
            try #require(!mutation.substitutes.isEmpty, "no script holds what \(mutation.name) replaces")
        }
        let outcome = try await Seeds(count: Self.seeds, mutation: mutation, enough: 1)
            .run { History.drawn(from: $0, faults: mutation.faults) }
        print("\(mutation.name): found after \(outcome.histories) histories")
        let found = try #require(outcome.failures.first, "nothing was found in \(outcome.histories) histories")
        print(found.report)
        #expect(found.history.steps.count <= 20, "shrunk to no less than \(found.history.source)")

        let redis = try SimulatedRedis()
        let innocent = try Seeds().violation(of: found.history, redis)
        #expect(innocent == nil, "without the mistake: \(innocent!)")
        let whole = try Seeds().violation(of: .drawn(from: found.history.seed, faults: mutation.faults), redis)
        #expect(whole == nil, "without the mistake: \(whole!)")
    }
}
