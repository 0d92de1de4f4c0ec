import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// That nothing of a conversation is lost, doubled or out of order, whatever dies: drawn histories.
@Suite("Whatever dies, a conversation is whole") struct TalkHistoryTests {
    private static let most = 120

    @Test func `nothing is lost, doubled or out of order, and unread is what was not read`() async throws {
        let sum = try await DrawnHistories<TalkHistory>(count: Self.most).run()
        #expect(sum.faults == [])
        print("talks: \(sum)")
        // It came to what it is about.
        guard Seeds.isWhole else { return }
        #expect(sum["deaths"] > 240 && sum["sent"] > 1_000 && sum["outages"] > 20 && sum["refused"] > 20)
        for script: Script in [
            .create, .direct, .send, .editMessage, .deleteMessage, .mark, .settings, .receipts, .members, .rename,
            .joining, .enroll, .settle, .reserve, .receiptsPage, .receiptsMember, .departing, .depart,
        ] {
            #expect(sum["answers of \(script.name) lost"] > 0)
        }
        #expect(sum["returns"] > 20 && sum["blocks"] > 20 && sum["successions"] > 10 && sum["deletions"] > 50)
        #expect(sum["steps back"] > 5)
        #expect(sum["closed accounts"] > 20 && sum["pushes"] > 20)
    }

    @Test(arguments: Self.mistakes) func `a mistake made on purpose is found by its own fault`(mistake: ScriptMistake)
        async throws
    {
        let fault = try await DrawnHistories<TalkHistory>.find(
            mistake, in: Script.conversations + Script.messageScripts, count: Self.most)
        #expect(fault.map(mistake.isFound) == true, "\(fault ?? "not found")")
    }

    static let mistakes: [ScriptMistake] = [
        ScriptMistake(
            name: "a message that is sent again is a new one", at: "sent-again", becomes: "if false then",
            faults: ["is there twice", "was acknowledged as", "was answered"]),
        ScriptMistake(
            name: "a message that is sent again is counted again", at: "answered-again",
            becomes: "sender.own = sender.own + 1 putMember(c, from) bump(c) save(c) return { 'OK', known }",
            faults: ["unread of", "urgent ones of"]),
        ScriptMistake(
            name: "a mark goes back", at: "mark-read", becomes: "local read = math.min(tonumber(upTo), c.last)",
            faults: ["the mark of", "unread of"]),
        ScriptMistake(
            name: "a mark that is said again counts once more", at: "mark-read",
            becomes: "local read = math.min(c.last, math.max(m.read + (tonumber(upTo) == m.read and 1 or 0), "
                + "tonumber(upTo)))",
            faults: ["unread of", "urgent ones of"]),
        ScriptMistake(
            name: "a change of a message has no number of its own", at: "change-is-numbered",
            faults: ["where the store has version", "heard change", "heard of", " lacks ", "unread of"]),
        ScriptMistake(
            name: "a change of a message is none of its conversation", at: "change-of-conversation",
            faults: ["the list of", "is told as"]),
        ScriptMistake(
            name: "who writes has not read", at: "own-is-read",
            faults: ["unread of", "urgent ones of"]),
        ScriptMistake(
            name: "an inbox that was not told is not written down", at: "written-down",
            faults: ["the inbox of"]),
        ScriptMistake(
            name: "the owner leaves, and the group has none", at: "successor", becomes: "put(c, 'owner', nil)",
            faults: ["the owner of"]),
        ScriptMistake(
            name: "who has left goes on watching", at: "leaver-watches",
            becomes: "local names = table.concat(namesOf(c), ' ') .. ' ana cy dee'",
            faults: ["of the group, which they had left at"]),
        ScriptMistake(
            name: "that a closed account has conversations to leave is forgotten at once", at: "departs-at-once",
            becomes: "redis.call('SREM', unfinishedKey, intent) for conversation, state in each() do",
            faults: ["the account of dee is closed, and has"]),
        ScriptMistake(
            name: "what somebody was pushed for stays when they leave", at: "pushed-for",
            faults: ["is to be pushed for the group"]),
        ScriptMistake(
            name: "a mark of what came goes back", at: "mark-delivered",
            becomes: "local delivered = math.max(math.min(tonumber(came), c.last), read)",
            faults: ["the mark of what came to", " came to "]),
        ScriptMistake(
            name: "a deleted message is unread for ever", at: "deleted-is-read", faults: ["unread of"]),
        ScriptMistake(
            name: "what lies between deleted messages is deleted", at: "deleted-ranges",
            becomes: "if last and low <= last.high + 3 then",
            faults: ["unread of"]),
        ScriptMistake(
            name: "a deleted message is urgent for ever", at: "deleted-is-not-urgent",
            becomes: "local priority = priorities(c, function() return false end)",
            faults: ["urgent ones of"]),
        ScriptMistake(
            name: "a name is told, and not kept", at: "name-is-kept", becomes: "c.changed.name = nil save(c)",
            faults: ["the name of", "the list of", "is told as"]),
        ScriptMistake(
            name: "what was edited is not told to who was away", at: "edited-meanwhile", becomes: "if false then",
            faults: ["where the store has version", "urgent ones of", "unread of"]),
        ScriptMistake(
            name: "a message goes before its time", at: "in-time", becomes: "isOver = sentAt(raw) > limit + 20000",
            faults: ["went after"]),
        ScriptMistake(
            name: "where nobody writes, nothing goes",
            at: "ages",
            faults: ["is there after", "is there, though"]),
        ScriptMistake(
            name: "what has gone is unread for ever", at: "gone-is-read",
            faults: ["unread of"]),
        ScriptMistake(
            name: "a deleted message keeps what it mentions",
            at: "deleted-mentions-nothing",
            faults: ["is mentioned"]),
        ScriptMistake(
            name: "messages that go keep what they mention", at: "gone-mentions-nothing", faults: ["is mentioned"]),
        ScriptMistake(
            name: "anybody's message keeps an upload", at: "own-uploads", becomes: "if user then",
            faults: ["is mentioned"]),
    ]
}
