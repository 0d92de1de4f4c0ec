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
            name: "a claim is dropped whose number is another",
            old: "if redis.call('HGET', KEYS[3], thing) == ARGV[5] .. ' ' .. ARGV[6] then\n    redis.call('HDEL'",
            new: "local held = redis.call('HGET', KEYS[3], thing)\n"
                + "if string.match(held or '', '^%S+') == ARGV[5] then\n    redis.call('HDEL'"
        ),
        ScriptMistake(
            name: "a wish is fulfilled that is over", old: "if wish ~= number then return",
            new: "if not wish then return"),
        ScriptMistake(
            name: "a wish is ended by the executor of an earlier one",
            old: "if values[1] ~= ARGV[5] then", new: "if false then"),
        ScriptMistake(
            name: "a late executor takes a thing back to an earlier number",
            old: "if tonumber(number) >= tonumber(ARGV[6]) then return { 'OK' } end", new: ""),
        ScriptMistake(
            name: "a claim that was taken late is not looked at again",
            old: "redis.call('SADD', KEYS[2], ARGV[4])\nreturn { 'OK' }", new: "return { 'OK' }"),
        ScriptMistake(
            name: "another's claim is an orphan, whatever its owner's record says",
            old: "return { 'OK', values[1] or '', values[2] or '', values[3] or '' }",
            new: "return { 'OK', values[1] or '', values[2] or '', '' }"),
        ScriptMistake(
            name: "a wish is not written down for others",
            old: "redis.call('SADD', KEYS[2], ARGV[4])\nreturn { 'WISH', number }", new: "return { 'WISH', number }"
        ),
    ]
}
