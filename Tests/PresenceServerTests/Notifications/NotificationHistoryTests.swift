import Expectations
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Random histories: a user's devices never disagree, and no notification is lost, doubled or returns, whatever fails.
@Suite("Whatever dies, notifications are whole") struct NotificationHistoryTests {
    private static let most = 100

    @Test func `every device has the same list and counts, and nothing is lost`() async throws {
        let sum = try await DrawnHistories<NotificationHistory>(count: Self.most).run()
        expect(sum.faults, equals: [])
        print("notifications: \(sum)")
        // The histories reach the cases under test.
        guard Seeds.isWhole else { return }
        expect(sum["deaths"] > 100 && sum["stored"] > 1_000 && sum["outages"] > 10 && sum["refused"] > 10)
        expect(sum["steps back"] > 20)
    }

    @Test(arguments: Self.mistakes) func `a mistake made on purpose is found by its own fault`(mistake: ScriptMistake)
        async throws
    {
        let fault = try await DrawnHistories<NotificationHistory>.find(
            mistake, in: Script.notificationScripts, count: Self.most)
        expect(fault.map(mistake.isFound), equals: true, "\(fault ?? "not found")")
    }

    static let mistakes: [ScriptMistake] = [
        ScriptMistake(
            name: "what is posted again is told again", at: "stored-again", becomes: "    if true then",
            faults: ["twice", " of [\"n"]),
        ScriptMistake(
            name: "a change has no version of its own", at: "counts-have-a-version",
            becomes: "    b.version = math.max(previous, 1)", faults: ["version 1 of"]),
        ScriptMistake(
            name: "who missed an event is not told so", at: "version-before", becomes: "    local before = '0'",
            faults: ["keeps [", "a device of"], seed: 4),
        ScriptMistake(
            name: "the mark of what was seen goes back", at: "seen-grows",
            becomes: "if seenTo > 0 and seenTo ~= b.seen then b.seen, b.changed = seenTo, true end",
            faults: ["had seen", "has seen"], seed: 5),
        ScriptMistake(
            name: "what is replaced stays", at: "replaced-retire",
            faults: ["was replaced, and", "a device of", "keeps ["]),
        ScriptMistake(
            name: "others are not told what is replaced", at: "replaced-are-named", faults: ["a device of"], seed: 2),
        ScriptMistake(
            name: "others are not told what is archived", at: "archived-are-named", faults: ["a device of"]),
        ScriptMistake(name: "others are not told what is read", at: "read-are-named", faults: ["a device of"]),
        ScriptMistake(
            name: "the id of what was archived is forgotten", at: "id-stays-known",
            becomes: "local function retire(b, i) drop(b, i) end",
            faults: ["was archived by", "was replaced, and", " of [\"n"], seed: 3),
        ScriptMistake(
            name: "unread counts what was read", at: "unread-alone",
            becomes: "    local unread = countOf(b.states, '[ur]')", faults: ["unread of"]),
        ScriptMistake(
            name: "what is too much is dropped untold", at: "oldest-kept", becomes: "    local oldest = 1",
            faults: ["a device of"]),
        ScriptMistake(
            name: "some of what was unseen is not read", at: "reads-all", becomes: "while i > 1 and left > 0 do",
            faults: ["is lost to", "unseen of", "unread of", "keeps", "a device of"], seed: 5),
    ]
}
