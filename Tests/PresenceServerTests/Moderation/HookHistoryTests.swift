import Expectations
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Random histories: messages that are checked before they are stored.
@Suite("Whatever dies, nothing is stored that was refused") struct HookHistoryTests {
    private static let most = 60

    @Test func `verdicts are kept, and a sender's order too`() async throws {
        let sum = try await DrawnHistories<HookHistory>(count: Self.most).run()
        expect(sum.faults, equals: [])
        print("hooks: \(sum)")
        // The histories reach the cases under test.
        guard Seeds.isWhole else { return }
        expect(sum["sent"] > 500 && sum["refused"] > 200 && sum["asks"] > 1_000 && sum["harms"] > 50)
        expect(sum["undecided"] > 100)
    }

    @Test(arguments: Self.mistakes) func `a mistake made on purpose is found by its own fault`(mistake: ScriptMistake)
        async throws
    {
        let fault = try await DrawnHistories<HookHistory>.find(mistake, in: HookHistory.scripts, count: Self.most)
        expect(fault.map(mistake.isFound), equals: true, "\(fault ?? "not found")")
    }

    static let mistakes: [ScriptMistake] = [
        ScriptMistake(
            name: "a text is stored without a verdict", at: "waits-for-the-verdict",
            faults: ["was not asked", "was refused"]),
        ScriptMistake(name: "two servers ask at once", at: "asked-at-a-time", faults: ["asked about twice"], seed: 5),
        ScriptMistake(name: "a verdict is forgotten", at: "verdict-is-kept", faults: ["asked about twice"], seed: 5),
        ScriptMistake(
            name: "a replaced text is stored as it was", at: "replaced-text", becomes: "    text = text,",
            faults: ["is stored as"]),
    ]
}
