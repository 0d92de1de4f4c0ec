import Expectations
import Foundation
import TestSupport
import Testing

@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// The outbox in the storage, and what its lanes have in common.
@Suite(.timeLimit(.minutes(1))) struct OutboxFormTests {
    private static let message = Message(id: "m1", conversationId: "c1", senderId: "ana", text: "one")
    private static let mute = MessageChange(id: "x1", conversationId: "c1", user: "ana", kind: .unmute)

    /// As earlier versions stored them: kind, lane and body.
    private static let stored: [(kind: String, lane: String, body: String)] = [
        ("conversationMark", "c1", #"{"conversation":"c1","read":3}"#),
        ("notificationMarks", "notifications", #"{"archived":[2],"read":[1],"seen":4}"#),
    ]

    private func write(_ body: String, _ kind: String, _ lane: String) -> QueuedWrite {
        QueuedWrite(id: "w", owner: "ana", lane: lane, kind: kind, body: Data(body.utf8), queuedAt: Date())
    }

    @Test(arguments: stored) func `stored forms stay as earlier versions read and wrote them`(
        kind: String, lane: String, body: String
    ) throws {
        var outbox = Outbox()
        outbox.recall([write(body, kind, lane)])
        let again = try Outbox.write(try #require(outbox["w"]))
        expect((again.id, again.owner, again.lane, again.kind) == ("w", "ana", lane, kind))
        let former = try JSONDecoder().decode(JSONValue.self, from: Data(body.utf8))
        try expect(JSONDecoder().decode(JSONValue.self, from: again.body), equals: former)
        expect(again.mayGetLost, equals: kind == "conversationMark" ? true : nil)
    }

    @Test func `messages, changes and settings keep their kind, lane and content`() throws {
        var outbox = Outbox()
        let works: [(Outbox.Work, kind: String, lane: String)] = [
            (.send(Self.message, after: 3), "message", "c1"), (.change(Self.mute), "messageChange", "c1"),
            (.settings(NotificationSettings(direct: .off)), "notificationSettings", "notifications"),
        ]
        for (work, kind, lane) in works {
            let write = try Outbox.write(outbox.append(work, of: "ana"))
            expect((write.kind, write.lane, write.owner) == (kind, lane, "ana") && write.mayGetLost == nil)
            let read = try #require(Outbox.read(write)).work
            expect(read.message == work.message && read.change == work.change && read.settings == work.settings)
        }
    }

    @Test func `an entry of another user blocks nothing, and is not merged`() throws {
        var outbox = Outbox()
        outbox.recall([write(#"{"seen":4}"#, "notificationMarks", "notifications")])
        outbox.owner = "bob"
        expect(outbox.next(in: Outbox.notifications) == nil && outbox.works.isEmpty)
        let own = outbox.append(.notifications(Ask.NotificationMarks(seen: 2)), of: "bob")
        outbox.stored(own.id)
        expect(outbox.next(in: Outbox.notifications)?.ids, equals: [own.id])
        outbox.owner = "ana"
        expect(outbox.next(in: Outbox.notifications)?.ids, equals: ["w"])
    }

    @Test func `a new connection sends what waits for a delay`() async throws {
        let scene = Scene()
        await scene.connected()
        scene.server.refuse("send", ["code": "rate_limited", "retryAfter": 1_000_000])
        try await scene.messages.send("one", in: "c1")
        await scene.clock.sleepers()
        scene.server.isThere(false)
        scene.server.isThere(true)
        scene.client.networkChanged(isAvailable: true)
        _ = try await scene.messages.waiting.until { $0 == 0 }
        expect(scene.server.texts(in: "c1"), equals: ["one"])
    }
}
