import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// The content of a waiting push after changes since it was made.
@Suite struct PushWaitingTests {
    private func texts(of talk: PushTalk) -> [String] { talk.handed.map(\.text) }

    /// Bob's only device has been tried once with the first push. `nil`: the push was taken but not tried, as if others
    /// were before it.
    private func talk(
        after said: [String], _ outcome: DeliveryOutcome? = .failed("status 503", retryAfter: 0)
    ) throws -> PushTalk {
        let talk = try PushTalk(apns: true)
        try talk.register("0a0b")
        talk.answer(outcome)
        for text in said { talk.say(text) }
        try talk.world.run(until: "the first try", within: 15_000) { talk.handed.count == 1 }
        return talk
    }

    @Test func `a push that waits tells nothing that another push tells, after its message is deleted`() throws {
        let talk = try talk(after: ["first", "second"])
        talk.answer(.accepted)
        talk.delete(2)
        try talk.world.run(for: 900_000)
        expect(texts(of: talk), equals: ["second", "first"])
    }

    @Test func `a push that waits has what is left decided, if its message was deleted and nobody knows yet`() throws {
        let talk = try talk(after: ["first", "second"])
        talk.answer(.accepted)
        talk.deleteUntold(2)
        try talk.world.run(for: 900_000)
        expect(texts(of: talk), equals: ["second", "first"])
    }

    @Test func `a push that had to wait for its first try does not tell what was deleted meanwhile`() throws {
        let talk = try talk(after: ["first", "second"], nil)
        try talk.world.run(for: 3_000)
        let before = texts(of: talk)
        talk.deleteUntold(2)
        talk.answer(.accepted)
        try talk.world.run(for: 900_000)
        expect(Set(before), equals: ["second"])
        expect(texts(of: talk).dropFirst(before.count), equals: ["first"])
    }

    @Test func `a push that waits tells nothing of a newer message, after its own was read`() throws {
        let talk = try talk(after: ["first"])
        talk.answer(.accepted)
        talk.mark("read", 1)
        try talk.world.run(for: 3_000)
        talk.say("second")
        try talk.world.run(for: 900_000)
        expect(texts(of: talk), equals: ["first", "second"])
    }

    @Test func `what came while a push waited is told, after the message of that was read`() throws {
        let talk = try talk(after: ["first"])
        talk.say("second")
        try talk.world.run(for: 1_000)
        talk.answer(.accepted)
        talk.mark("read", 1)
        try talk.world.run(for: 900_000)
        expect(texts(of: talk), equals: ["first", "second"])
    }

    @Test func `a push that had to wait for its first try tells its own message, not a newer one`() throws {
        let talk = try talk(after: ["first"], nil)
        talk.say("second")
        try talk.world.run(for: 3_000)
        let before = talk.handed.count
        talk.answer(.accepted)
        try talk.world.run(for: 20_000)
        expect(texts(of: talk).dropFirst(before), equals: ["first"])
        // The push is decided again.
        talk.delete(1)
        try talk.world.run(for: 900_000)
        expect(texts(of: talk).dropFirst(before), equals: ["first", "second"])
    }

    @Test func `a push that waits tells nothing of a conversation that is muted, after its message is deleted`() throws
    {
        let talk = try talk(after: ["first", "second"], .failed("status 503", retryAfter: 60_000))
        talk.answer(.accepted)
        talk.set(#""muted":true"#)
        try talk.world.run(for: 500)
        talk.delete(2)
        try talk.world.run(for: 900_000)
        expect(texts(of: talk), equals: ["second"])
    }

    @Test func `a push that waits tells an earlier message, after its own is of somebody who is blocked`() throws {
        let talk = try PushTalk(apns: true, others: [UserID("cy")!])
        try talk.register("0a0b")
        let cy = try SimulatedClient("cy", in: talk.world).connect(to: talk.world.shards[0])
        talk.say("first")
        try talk.world.run(for: 1_000)
        cy.sendText(
            #"{"type":"send","id":1,"conversation":"\#(talk.id)","message":{"id":"x","text":"of cy"}}"#)
        talk.answer(.failed("status 503", retryAfter: 0))
        try talk.world.run(until: "the first try", within: 15_000) { talk.handed.count == 1 }
        talk.bob.sendText(#"{"type":"block","id":801,"users":["cy"]}"#)
        talk.answer(.accepted)
        try talk.world.run(until: "the second try", within: 60_000) { talk.handed.count == 2 }
        expect(texts(of: talk), equals: ["of cy", "first"])
    }
}
