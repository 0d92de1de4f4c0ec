import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// That a change over several partitions is done whole or not at all, whatever dies between its steps: drawn histories.
@Suite("Whatever dies between its steps, a change over two partitions is whole") struct NameHistoryTests {
    private static let most = 500

    @Test func `every claim is named by its owner's record, and nobody is without a name between two`() async throws {
        let sum = try await DrawnHistories<NameHistory>(count: Self.most).run()
        #expect(sum.faults == [])
        print("names: \(sum)")
        // It came to what it is about.
        guard Seeds.isWhole else { return }
        #expect(sum["deaths"] > 1_000 && sum["answers"] > 1_000 && sum["refusals"] > 1_000)
    }

    @Test(.enabled(if: Seeds.isWhole), arguments: Self.mistakes)
    func `a mistake made on purpose is found`(mistake: ScriptMistake) async throws {
        // The rarest shows in one of some hundred histories.
        let fault = try await DrawnHistories<NameHistory>.find(
            mistake, in: PollNames.plan.scripts, count: 8 * Self.most)
        #expect(fault.map(mistake.isFound) == true, "\(fault ?? "not found")")
    }

    static let mistakes: [ScriptMistake] = [
        ScriptMistake(
            name: "a claim is dropped whose number is another", at: "claim-is-meant",
            becomes: "if string.match(redis.call('HGET', claimsKey, thing) or '', '^%S+') == owner then"),
        ScriptMistake(
            name: "a wish is fulfilled that is over", at: "wish-is-open", becomes: "    if not wish then"),
        ScriptMistake(name: "a wish is ended by the executor of an earlier one", at: "ends-its-own-wish"),
        ScriptMistake(name: "a late executor takes a thing back to an earlier number", at: "later-claim-stays"),
        ScriptMistake(name: "a claim that was taken late is not looked at again", at: "late-claim-is-listed"),
        ScriptMistake(
            name: "another's claim is an orphan, whatever its owner's record says", at: "state-has-the-claim",
            becomes: "local wish, wanted, claim = values[1] or '', values[2] or '', ''"),
        ScriptMistake(name: "a wish is not written down for others", at: "wish-is-listed"),
    ]
}
