import Expectations
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Random histories: requests between users, and conversations that strangers begin.
@Suite("Whatever dies, contacts are mutual and requests are shown to whom they may be") struct ContactHistoryTests {
    private static let most = 60

    @Test func `requests are shown, answered and ended as they must be`() async throws {
        let sum = try await DrawnHistories<ContactHistory>(count: Self.most).run()
        expect(sum.faults, equals: [])
        print("contacts: \(sum)")
        // The histories reach the cases under test.
        guard Seeds.isWhole else { return }
        expect(sum["shown"] > 100 && sum["acceptances"] > 50 && sum["refusals"] > 20 && sum["harms"] > 50)
        expect(sum["requests to talk"] > 50 && sum["looks at requests"] > 20 && sum["deletions"] > 5)
    }

    @Test(arguments: Self.mistakes) func `a mistake made on purpose is found by its own fault`(mistake: ScriptMistake)
        async throws
    {
        // The rarest ones show in one of some forty histories, which differ from run to run.
        let fault = try await DrawnHistories<ContactHistory>.find(
            mistake, in: ContactHistory.scripts, count: 8 * Self.most)
        expect(fault.map(mistake.isFound), equals: true, "\(fault ?? "not found")")
    }

    static let mistakes: [ScriptMistake] = [
        ScriptMistake(name: "a blocked user's request is shown", at: "blocked-asks", faults: ["blocks"], seed: 9),
        ScriptMistake(
            name: "a block leaves the request that there is", at: "block-ends-asking", faults: ["who still asks"],
            seed: 18),
        ScriptMistake(
            name: "a withdrawn request stays", at: "withdrawn-stays", faults: ["who does not ask", "who is gone"],
            seed: 1),
        ScriptMistake(name: "a hidden user is asked", at: "hidden-is-asked", faults: ["hides from"], seed: 4),
        ScriptMistake(name: "a refused user asks again", at: "refused-asks-again", faults: ["has refused"], seed: 23),
        ScriptMistake(
            name: "an acceptance makes one contact", at: "accepted-is-mutual", becomes: "            local _ = 0",
            faults: ["lists the other", "are no contacts"], seed: 3),
        ScriptMistake(
            name: "a deleted user still asks", at: "deleted-ask",
            faults: ["who is gone", "keeps requests", "does not ask"], seed: 7),
        ScriptMistake(
            name: "a stranger's conversation is no request", at: "strangers-ask", becomes: "    and false",
            faults: ["is no request to"]),
        ScriptMistake(
            name: "a stranger sees marks", at: "strangers-see-marks", becomes: "        local asked = false",
            faults: ["sees marks"], seed: 7),
        ScriptMistake(name: "a stranger sees typing", at: "strangers-see-typing", faults: ["shown typing"]),
    ]
}
