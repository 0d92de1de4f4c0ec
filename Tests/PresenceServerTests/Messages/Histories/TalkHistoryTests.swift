import Expectations
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Random histories: nothing in a conversation is lost, doubled or reordered, whatever fails.
@Suite("Whatever dies, a conversation is whole") struct TalkHistoryTests {
    private static let most = 120

    @Test func `nothing is lost, doubled or reordered, and unread is correct`() async throws {
        let sum = try await DrawnHistories<TalkHistory>(count: Self.most).run()
        expect(sum.faults, equals: [])
        print("talks: \(sum)")
        // The histories reach the cases under test.
        guard Seeds.isWhole else { return }
        expect(sum["deaths"] > 240 && sum["sent"] > 1_000 && sum["outages"] > 20 && sum["refused"] > 20)
        for script: Script in [
            .create, .direct, .send, .editMessage, .deleteMessage, .mark, .settings, .receipts, .members, .rename,
            .joining, .enroll, .settle, .reserve, .receiptsPage, .receiptsMember, .departing, .depart,
        ] {
            expect(sum["answers of \(script.name) lost"] > 0)
        }
        expect(sum["returns"] > 20 && sum["blocks"] > 20 && sum["successions"] > 10 && sum["deletions"] > 50)
        expect(sum["steps back"] > 5)
        expect(sum["closed accounts"] > 20 && sum["pushes"] > 20)
    }

    @Test(arguments: Self.mistakes) func `a deliberate bug is detected by its own fault`(mistake: ScriptMistake)
        async throws
    {
        let fault = try await DrawnHistories<TalkHistory>.find(
            mistake, in: Script.conversations + Script.messageScripts + [.renew], count: 8 * Self.most)
        expect(fault.map(mistake.isFound), equals: true, "\(fault ?? "not found")")
    }

    static let mistakes: [ScriptMistake] = [
        ScriptMistake(
            name: "a repeated send creates a new message", at: "sent-again", becomes: "if false then",
            faults: ["is there twice", "was acknowledged as", "was answered"], seed: 2),
        ScriptMistake(
            name: "a repeated send is counted again", at: "answered-again",
            becomes: "sender.own = sender.own + 1 setMember(c, from) bump(c) saveAndPublish(c) return { 'OK', known }",
            faults: ["unread of", "urgent ones of"], seed: 3),
        ScriptMistake(
            name: "a mark moves back", at: "mark-read", becomes: "local read = math.min(tonumber(upTo), c.last)",
            faults: ["the mark of", "unread of"]),
        ScriptMistake(
            name: "a repeated mark counts again", at: "mark-read",
            becomes: "local read = math.min(c.last, math.max(m.read + (tonumber(upTo) == m.read and 1 or 0), "
                + "tonumber(upTo)))",
            faults: ["unread of", "urgent ones of"], seed: 2),
        ScriptMistake(
            name: "a change of a message has no number of its own", at: "change-is-numbered",
            faults: ["where the store has version", "heard change", "heard of", " lacks ", "unread of"], seed: 2),
        ScriptMistake(
            name: "a change of a message does not change its conversation", at: "change-of-conversation",
            faults: ["the list of", "is told as"], seed: 14),
        ScriptMistake(
            name: "sending does not mark earlier messages as read", at: "own-is-read",
            faults: ["unread of", "urgent ones of"]),
        ScriptMistake(
            name: "an inbox that was not updated is not recorded", at: "written-down",
            faults: ["the inbox of"], seed: 3),
        ScriptMistake(
            name: "the owner leaves, and the group has no owner", at: "successor", becomes: "setField(c, 'owner', nil)",
            faults: ["the owner of", "it is another user"]),
        ScriptMistake(
            name: "a user who left continues to watch", at: "leaver-watches",
            becomes: "local names = table.concat(namesOf(c), ' ') .. ' ana cy dee'",
            faults: ["of the group, which they had left at"]),
        ScriptMistake(
            name: "the pending departures of a deleted account are dropped at once", at: "departs-at-once",
            becomes: "redis.call('SREM', unfinishedKey, intent) for conversation, state in each() do",
            faults: ["the account of dee is closed, and has", "dee is pushed for the group, which they had left"],
            seed: 3),
        ScriptMistake(
            name: "a user's pushes stay when they leave", at: "pushed-for",
            faults: ["is to be pushed for the group"], seed: 5),
        ScriptMistake(
            name: "a delivered mark moves back", at: "mark-delivered",
            becomes: "local delivered = math.max(math.min(tonumber(came), c.last), read)",
            faults: ["the mark of what came to", " came to "]),
        ScriptMistake(
            name: "a deleted message is unread for ever", at: "deleted-is-read", faults: ["unread of"], seed: 2),
        ScriptMistake(
            name: "messages between deleted ones are deleted", at: "deleted-ranges",
            becomes: "if last and low <= last.high + 3 then",
            faults: ["unread of"], seed: 28),
        ScriptMistake(
            name: "a deleted message is urgent for ever", at: "deleted-is-not-urgent",
            becomes: "local priority = priorities(c, function() return false end)",
            faults: ["urgent ones of"], seed: 6),
        ScriptMistake(
            name: "a name is published but not stored", at: "name-is-kept",
            becomes: "c.changed.name = nil saveAndPublish(c)",
            faults: ["the name of", "the list of", "is told as"], seed: 7),
        ScriptMistake(
            name: "edits are not sent to users who were away", at: "edited-meanwhile", becomes: "if false then",
            faults: ["where the store has version", "urgent ones of", "unread of"], seed: 6),
        ScriptMistake(
            name: "a message expires too early", at: "in-time", becomes: "isOver = sentAt(raw) > limit + 20000",
            faults: ["went after"], seed: 5),
        ScriptMistake(
            name: "without writers no message expires",
            at: "ages",
            faults: ["is there after", "is there, though"]),
        ScriptMistake(
            name: "removed messages stay unread for ever", at: "gone-is-read",
            faults: ["unread of"]),
        ScriptMistake(
            name: "a deleted message keeps its attachments",
            at: "deleted-mentions-nothing",
            faults: ["is mentioned"], seed: 8),
        ScriptMistake(
            name: "expired messages keep their attachments", at: "gone-mentions-nothing", faults: ["is mentioned"]),
        ScriptMistake(
            name: "no server learns that Redis' clock was set back", at: "answers-time",
            becomes: "local last = math.max(now, tonumber(redis.call('GET', 'last') or '0')) "
                + "redis.call('SET', 'last', int(last)) return { 'OK', int(last) }",
            faults: ["the list of"], seed: 10),
        ScriptMistake(
            name: "any user's message keeps an upload", at: "own-uploads", becomes: "if user then",
            faults: ["is mentioned"], seed: 2),
    ]
}
