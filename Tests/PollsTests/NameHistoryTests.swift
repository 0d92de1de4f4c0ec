import Expectations
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Random histories: a change over several partitions is complete or undone, whatever fails between its steps.
@Suite("Whatever dies between its steps, a change over two partitions is whole") struct NameHistoryTests {
    private static let most = 500

    @Test func `every claim matches its owner's record, and no poll is without a name between two`() async throws {
        let sum = try await DrawnHistories<NameHistory>(count: Self.most).run()
        expect(sum.faults, equals: [])
        print("names: \(sum)")
        // The histories reach the cases under test.
        guard Seeds.isWhole else { return }
        expect(sum["deaths"] > 1_000 && sum["answers"] > 1_000 && sum["refusals"] > 1_000)
    }

    @Test(.enabled(if: Seeds.isWhole), arguments: Self.mistakes)
    func `a deliberate bug is detected`(mistake: ScriptMistake) async throws {
        // The rarest bug shows in one of some hundred histories.
        let fault = try await DrawnHistories<NameHistory>.find(
            mistake, in: PollNames.plan.scripts, count: 8 * Self.most)
        expect(fault.map(mistake.isFound), equals: true, "\(fault ?? "not found")")
    }

    static let mistakes: [ScriptMistake] = [
        ScriptMistake(
            name: "a claim with another number is dropped", at: "claim-is-meant",
            becomes: "if string.match(redis.call('HGET', claimsKey, thing) or '', '^%S+') == owner then", seed: 4),
        ScriptMistake(
            name: "an expired wish is fulfilled", at: "wish-is-open", becomes: "    if not wish then", seed: 5),
        ScriptMistake(name: "a wish is ended by the executor of an earlier one", at: "ends-its-own-wish", seed: 47),
        ScriptMistake(name: "a late executor sets a claim back to an earlier number", at: "later-claim-stays", seed: 4),
        ScriptMistake(name: "a claim taken late is not checked again", at: "late-claim-is-listed", seed: 780),
        ScriptMistake(
            name: "another owner's claim counts as orphaned, whatever the owner's record has",
            at: "state-has-the-claim",
            becomes: "local wish, wanted, claim = values[1] or '', values[2] or '', ''"),
        ScriptMistake(name: "a wish is not recorded for other servers", at: "wish-is-listed", seed: 2),
    ]
}
