import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Random histories: an absent user gets one push and no other user any, whatever fails.
@Suite("Whatever dies, who is away is pushed for once") struct PushHistoryTests {
    private static let most = 60

    @Test func `who is away is told once, and nobody else`() async throws {
        let sum = try await DrawnHistories<PushHistory>(count: Self.most).run()
        expect(sum.faults, equals: [])
        print("pushes: \(sum)")
        // The histories reach the cases under test.
        guard Seeds.isWhole else { return }
        expect(sum["deaths"] > 200 && sum["told"] > 300 && sum["outages"] > 10 && sum["refused"] > 10)
        expect(sum["hints"] > 100)
        expect(sum["deleted"] > 100 && sum["steps back"] > 20)
    }

    @Test(arguments: Self.mistakes) func `a mistake made on purpose is found by its own fault`(mistake: ScriptMistake)
        async throws
    {
        let scripts = Script.push + Script.notificationScripts
        let fault = try await DrawnHistories<PushHistory>.find(mistake, in: scripts, count: Self.most)
        expect(fault.map(mistake.isFound), equals: true, "\(fault ?? "not found")")
    }

    @Test(arguments: [false, true]) func `pushes are compared in their order, also where a step blurs their times`(
        isRead: Bool
    ) {
        var past = PushPast()
        past.sent["bobs"] = [1_000, 2_000]
        // The second push comes after a step of Redis' clock, which moves where its seconds begin.
        for (seq, at, id) in [(1, 10_000, "msg_1"), (2, 9_570, "msg_2")] as [(Int, Timestamp, String)] {
            let body = """
                {"timestamp":"1970-01-01T00:00:00Z","data":{"user":"bob","conversation":"bobs","text":"bobs:\(seq)"}}
                """
            past.record(Array(body.utf8), id: id) { $0 + at }
        }
        if isRead { past.add(PushPast.Mark(at: 10_100, seq: 1, sent: 2), isRead: true, of: "bob", in: "bobs") }
        let fault = PushRules(past, isCalm: true, stepsBack: true).fault(at: 200_000)
        expect(
            fault?.contains("was told of 1 at 10000 and of 2 at 9570"), equals: isRead ? nil : true, "\(fault ?? "")")
    }

    static let mistakes: [ScriptMistake] = [
        ScriptMistake(
            name: "what comes while one is told is forgotten", at: "newer-is-decided", becomes: "if true then",
            faults: ["was not told of"], seed: 2),
        ScriptMistake(name: "what was told is not remembered", at: "push-is-remembered", faults: ["and of"], seed: 2),
        ScriptMistake(
            name: "what is taken is in nobody's hands", at: "taken-is-leased",
            becomes: "    redis.call('ZREM', pushKey, entry)", faults: ["was not told of"]),
        ScriptMistake(
            name: "what was given up counts as told", at: "given-up-counts-for-nothing", faults: ["was not told of"],
            seed: 2),
        ScriptMistake(
            name: "who was pushed for a deleted message is told of no other", at: "deleted-push-is-forgotten",
            faults: ["was not told of", "has no notification of"], seed: 2),
        ScriptMistake(
            name: "what is unread beside a deleted message is not decided", at: "unread-beside-deleted",
            becomes: "    reply[2] = '0'", faults: ["was not told of"], seed: 31),
        ScriptMistake(
            name: "what was deleted while it is decided is told", at: "deleted-is-decided-anew",
            faults: ["which was deleted"]),
        ScriptMistake(
            name: "the notification of a deleted message stays where another was told since",
            at: "also-after-later-pushes", becomes: "local place = isTold and find(b, idHash, 1, 1)",
            faults: ["which is deleted"], seed: 34),
        ScriptMistake(
            name: "what is told anew makes no notification", at: "pushed-anew",
            becomes: "local function isAnew(known) return false end", faults: ["has no notification of"], seed: 49),
        ScriptMistake(
            name: "a revoked device is pushed to", at: "revoked-devices",
            becomes: "        if not id then isCurrent = true end", faults: ["after their tokens were revoked"]),
        ScriptMistake(
            name: "a backend's notification is stored, and its push is not noted", at: "notified-is-noted",
            faults: ["was not told of hint"], seed: 2),
        ScriptMistake(
            name: "who has a session has no time", at: "a-session-has-time", becomes: "    return false",
            faults: ["was told early"], seed: 2),
    ]
}
