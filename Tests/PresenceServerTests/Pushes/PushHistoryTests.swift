import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// That who is truly away is pushed for once, and nobody else, whatever dies: drawn histories.
@Suite("Whatever dies, who is away is pushed for once") struct PushHistoryTests {
    private static let most = 60

    @Test func `who is away is told once, and nobody else`() async throws {
        let sum = try await DrawnHistories<PushHistory>(count: Self.most).run()
        #expect(sum.faults == [])
        print("pushes: \(sum)")
        // It came to what it is about.
        guard Seeds.isWhole else { return }
        #expect(sum["deaths"] > 200 && sum["told"] > 300 && sum["outages"] > 10 && sum["refused"] > 10)
        #expect(sum["deleted"] > 100 && sum["steps back"] > 20)
    }

    @Test(arguments: Self.mistakes) func `a mistake made on purpose is found by its own fault`(mistake: ScriptMistake)
        async throws
    {
        let scripts = Script.push + Script.notificationScripts
        let fault = try await DrawnHistories<PushHistory>.find(mistake, in: scripts, count: Self.most)
        #expect(fault.map(mistake.isFound) == true, "\(fault ?? "not found")")
    }

    static let mistakes: [ScriptMistake] = [
        ScriptMistake(
            name: "what comes while one is told is forgotten", old: "if ARGV[9] ~= '' and isNewer then",
            new: "if false then", faults: ["was not told of"]),
        ScriptMistake(
            name: "what was told is not remembered", old: "redis.call('HSET', KEYS[3], ARGV[5], value)", new: "",
            faults: ["and of"]),
        ScriptMistake(
            name: "what is taken is in nobody's hands",
            old: "redis.call('ZADD', KEYS[2], int(now + tonumber(ARGV[5])), entry)",
            new: "redis.call('ZREM', KEYS[2], entry)", faults: ["was not told of"]),
        ScriptMistake(
            name: "what was given up counts as told", old: "redis.call('HDEL', KEYS[2], ARGV[4])", new: "",
            faults: ["was not told of"]),
        ScriptMistake(
            name: "who was pushed for a deleted message is told of no other",
            old: "redis.call('HDEL', KEYS[3], ARGV[5])", new: "",
            faults: ["was not told of", "has no notification of"]),
        ScriptMistake(
            name: "what is unread beside a deleted message is not decided",
            old: "int(noteDue(due, ARGV[4], ARGV[5], tonumber(ARGV[11]), tonumber(ARGV[9])))", new: "'0'",
            faults: ["was not told of"]),
        ScriptMistake(
            name: "what was deleted while it is decided is told", old: "deletions ~= select(4, parsedNote(ARGV[15]))",
            new: "false",
            faults: ["which was deleted"]),
        ScriptMistake(
            name: "the notification of a deleted message stays where another was told since",
            old: "local place = find(b, id, 1, 1) or", new: "local place = isTold and find(b, id, 1, 1) or",
            faults: ["which is deleted"]),
        ScriptMistake(
            name: "what is told anew makes no notification", at: "pushed-anew",
            becomes: "local function isAnew(known) return false end", faults: ["has no notification of"]),
        ScriptMistake(
            name: "a revoked device is pushed to", old: "isCurrent = tonumber(at or '0') >= revokedAt",
            new: "isCurrent = true", faults: ["after their tokens were revoked"]),
        ScriptMistake(
            name: "who has a session has no time", old: "if redis.call('EXISTS', keys.sessions) == 0 then wait = 0 end",
            new: "wait = 0", faults: ["was told early"]),
    ]
}
