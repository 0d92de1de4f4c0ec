import Expectations
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Random histories: a ban holds on every server from the step in which Redis has it, and not a moment longer than its
/// time.
@Suite("Whatever dies, a ban holds, and ends") struct BanHistoryTests {
    private static let most = 60

    @Test func `no banned user connects or writes, and no other is refused`() async throws {
        let sum = try await DrawnHistories<BanHistory>(count: Self.most).run()
        expect(sum.faults, equals: [])
        print("bans: \(sum)")
        // The histories reach the cases under test.
        guard Seeds.isWhole else { return }
        expect(sum["bans"] > 100 && sum["expelled"] > 50 && sum["refused"] > 100 && sum["harms"] > 50)
        expect(sum["still banned"] > 5)
    }

    @Test(arguments: Self.mistakes) func `a mistake made on purpose is found by its own fault`(mistake: ScriptMistake)
        async throws
    {
        let fault = try await DrawnHistories<BanHistory>.find(mistake, in: BanHistory.scripts, count: Self.most)
        expect(fault.map(mistake.isFound), equals: true, "\(fault ?? "not found")")
    }

    static let mistakes: [ScriptMistake] = [
        ScriptMistake(
            name: "a banned user may connect", at: "banned-opens",
            faults: ["open of", "stays connected", "is banned: true"]),
        ScriptMistake(
            name: "a ban leaves the sessions that there are", at: "ban-ends-sessions",
            faults: ["status of", "sessions"], seed: 3),
        ScriptMistake(
            name: "a ban never ends", at: "ban-ends",
            becomes: "    if limit then return { 'BANNED', limit, reason } end",
            faults: ["who is not banned, is refused"]),
        ScriptMistake(
            name: "an ended ban stays", at: "unban-ends", faults: ["open of", "is banned: false"], seed: 2),
        ScriptMistake(
            name: "a user who is banned in a group writes there", at: "banned-writes", faults: ["send of"], seed: 5),
        ScriptMistake(
            name: "a user who is banned in a group edits there", at: "banned-edits", faults: ["edit-message of"],
            seed: 48),
        ScriptMistake(name: "a user who is banned in a group types there", at: "banned-types", faults: ["typing of"]),
        ScriptMistake(
            name: "a user who is banned in a group marks there", at: "banned-marks", becomes: "    local ban = nil",
            faults: ["mark of"]),
    ]
}
