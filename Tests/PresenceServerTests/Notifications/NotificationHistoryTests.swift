import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Random histories: a user's devices never disagree, and no notification is lost, doubled or returns, whatever fails.
@Suite("Whatever dies, notifications are whole") struct NotificationHistoryTests {
    private static let most = 100

    @Test func `every device has the same list and counts, and nothing is lost`() async throws {
        let sum = try await DrawnHistories<NotificationHistory>(count: Self.most).run()
        #expect(sum.faults == [])
        print("notifications: \(sum)")
        // The histories reach the cases under test.
        guard Seeds.isWhole else { return }
        #expect(sum["deaths"] > 100 && sum["stored"] > 1_000 && sum["outages"] > 10 && sum["refused"] > 10)
        #expect(sum["steps back"] > 20)
    }

    @Test(arguments: Self.mistakes) func `a mistake made on purpose is found by its own fault`(mistake: ScriptMistake)
        async throws
    {
        let fault = try await DrawnHistories<NotificationHistory>.find(
            mistake, in: Script.notificationScripts, count: Self.most)
        #expect(fault.map(mistake.isFound) == true, "\(fault ?? "not found")")
    }

    static let mistakes: [ScriptMistake] = [
        ScriptMistake(
            name: "what is posted again is told again", old: "if not known then", new: "if true then",
            faults: ["twice", " of [\"n"]),
        ScriptMistake(
            name: "a change has no version of its own", old: "b.version = nextVersion(previous, b.floor)",
            new: "b.version = math.max(previous, 1)", faults: ["version 1 of"]),
        ScriptMistake(
            name: "who missed an event is not told so", old: "int(now), int(previous), int(unseen)",
            new: "int(now), '0', int(unseen)", faults: ["keeps [", "a device of"]),
        ScriptMistake(
            name: "the mark of what was seen goes back", old: "if seen > b.seen then",
            new: "if seen > 0 and seen ~= b.seen then", faults: ["had seen", "has seen"]),
        ScriptMistake(
            name: "what is replaced stays", old: "                retire(b, place)\n", new: "",
            faults: ["was replaced, and", "a device of", "keeps ["]),
        ScriptMistake(
            name: "others are not told what is replaced",
            old: "news.replaces[#news.replaces + 1] = int(seqOf(b, place))", new: "", faults: ["a device of"]),
        ScriptMistake(
            name: "others are not told what is archived", old: "news.archived[#news.archived + 1] = int(seq)",
            new: "",
            faults: ["a device of"]),
        ScriptMistake(
            name: "others are not told what is read", old: "news.read[#news.read + 1] = int(seq)", new: "",
            faults: ["a device of"]),
        ScriptMistake(
            name: "the id of what was archived is forgotten",
            old: "b.gone[#b.gone + 1] = int(seqOf(b, i))\n    setState(b, i, 'x')", new: "drop(b, i)",
            faults: ["was archived by", "was replaced, and", " of [\"n"]),
        ScriptMistake(
            name: "unread counts what was read", old: "count(b.states, 'u'), first",
            new: "count(b.states, '[ur]'), first", faults: ["unread of"]),
        ScriptMistake(
            name: "what is too much is dropped untold", old: "first and seqOf(b, first) or b.last + 1", new: "1",
            faults: ["a device of"]),
        ScriptMistake(
            name: "some of what was unseen is not read", old: "while i > 0 and left > 0 do",
            new: "while i > 1 and left > 0 do",
            faults: ["is lost to", "unseen of", "unread of", "keeps", "a device of"]),
    ]
}
