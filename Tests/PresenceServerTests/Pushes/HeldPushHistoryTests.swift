import Expectations
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Random histories: nothing is pushed while it is held, and everything afterwards, once, whatever fails.
@Suite("Held pushes come at the end, once") struct HeldPushHistoryTests {
    private static let most = 40

    @Test func `what is held comes at the end, once, and the list has it before`() async throws {
        let sum = try await DrawnHistories<HeldPushHistory>(count: Self.most).run()
        expect(sum.faults, equals: [])
        print("held pushes: \(sum)")
        guard Seeds.isWhole else { return }
        expect(sum["deaths"] > 40 && sum["pushes"] > 200 && sum["summaries"] > 5 && sum["hints"] > 50)
    }

    @Test(arguments: Self.mistakes) func `a mistake made on purpose is found by its own fault`(mistake: ScriptMistake)
        async throws
    {
        let scripts = Script.push + Script.notificationScripts + [.setNotificationSettings, .status]
        let fault = try await DrawnHistories<HeldPushHistory>.find(mistake, in: scripts, count: Self.most)
        expect(fault.map(mistake.isFound), equals: true, "\(fault ?? "not found")")
    }

    static let mistakes: [ScriptMistake] = [
        ScriptMistake(
            name: "what is held is forgotten", at: "held-is-recorded", faults: ["was never told", "was not told"]),
        ScriptMistake(
            name: "what is held is never decided", at: "held-is-taken", faults: ["was never told", "was not told"]),
        ScriptMistake(
            name: "the only one that is held is dropped", at: "released-is-noted",
            faults: ["was never told", "was not told"], seed: 3),
        ScriptMistake(
            name: "what a summary told is not remembered", at: "summary-is-remembered",
            becomes: "        setPush(pushedKey, place, record, 0, '0', '')", faults: ["was told twice"], seed: 22),
        ScriptMistake(
            name: "nobody notices that a user is free again", at: "free-is-offered",
            faults: ["was never told", "was not told"]),
        ScriptMistake(
            name: "new settings change nothing for what is held", at: "changed-is-decided-anew",
            faults: ["was never told", "was not told"], seed: 3),
        ScriptMistake(
            name: "kinds are not heeded", at: "kinds-are-heeded", becomes: "    local inInbox, isPushed = true, true",
            faults: ["of a kind that is not pushed", "of a kind that is not listed"]),
    ]
}
