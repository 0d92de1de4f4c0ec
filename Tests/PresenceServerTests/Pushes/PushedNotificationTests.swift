import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Notifications of backends are pushed like messages, by the same queue.
@Suite struct PushedNotificationTests {
    private let bob = UserID("bob")!

    /// Bob has a device.
    private func talk(isAway: Bool = true) throws -> PushTalk {
        let talk = try PushTalk(apns: true)
        try talk.register("0a0b")
        if isAway {
            talk.bob.close(code: 1000)
            try talk.world.run(for: 60_000)
        }
        return talk
    }

    private func notify(_ talk: PushTalk, _ id: String = "order", _ members: [String: Any] = [:]) throws {
        let body: [String: Any] = ["users": ["bob"], "id": id, "kind": "order", "title": "Shipped", "body": "Soon"]
        let call = SimulatedCall(
            "POST", "/v1/notifications", body.merging(members) { _, new in new }, token: "!backend",
            to: talk.world.shards[0])
        try talk.world.run(until: "it is accepted") { call.status == 202 }
    }

    @Test func `who is away gets one push, with the notification instead of a conversation`() throws {
        let talk = try talk()
        let end = talk.world.redisNow + 900_000
        try notify(talk, "order", ["collapse": "orders", "urgency": "low", "expires": end])
        try talk.world.run(until: "the push", within: 1_000) { talk.handed.count == 1 }
        let push = try #require(talk.handed.first)
        expect(push.title == "Shipped" && push.text == "Soon" && push.user == "bob" && push.badge == 0)
        let about = try #require(push.notification)
        expect(about.id == "order" && about.kind == "order" && about.seq == 1)
        expect(about.urgency == .low && about.expires == end && about.tag.count == 16)
        let body = String(decoding: try #require(talk.pushes.first).body, as: UTF8.self)
        expect(body.contains(#""id":"order""#) && !body.contains("conversation"), "\(body)")
        // A request that is repeated notifies and pushes nothing anew. One with the same `collapse` has the same tag.
        try notify(talk, "order", ["collapse": "orders"])
        try notify(talk, "next", ["collapse": "orders"])
        try talk.world.run(for: 60_000)
        expect(talk.handed.map(\.notification?.id) == ["order", "next"] && talk.pushes.count == 2)
        expect(Set(talk.handed.map(\.tag)).count, equals: 1)
    }

    @Test func `a backend decides whether a session matters`() throws {
        let talk = try talk(isAway: false)
        try notify(talk, "never", ["push": "never"])
        try notify(talk, "away", ["push": "away"])
        try notify(talk, "always", ["push": "always"])
        try talk.world.run(until: "the push", within: 1_000) { talk.handed.count == 1 }
        // Bob is active all the time.
        try talk.world.run(for: 120_000)
        expect(talk.handed.map(\.notification?.id), equals: ["always"])
    }

    @Test func `what is read on another device is pushed to none, and waits no longer`() throws {
        let talk = try talk(isAway: false)
        talk.bob.sendText(#"{"type":"activity","id":1,"state":"idle"}"#)
        talk.answer(.failed("status 503", retryAfter: 0))
        try notify(talk)
        try talk.world.run(until: "a try", within: 15_000) { talk.handed.count == 1 }
        talk.bob.sendText(#"{"type":"markNotifications","id":600,"read":[1]}"#)
        talk.answer(.accepted)
        try talk.world.run(for: 120_000)
        expect(talk.handed.count, equals: 1)
        // Within the time that a session has.
        try notify(talk, "next")
        talk.bob.sendText(#"{"type":"markNotifications","id":601,"seen":2}"#)
        try talk.world.run(for: 120_000)
        expect(talk.handed.count == 1 && talk.pushes.count == 1)
    }

    @Test func `what has expired is pushed to none`() throws {
        let talk = try talk()
        try notify(talk, "past", ["expires": 1])
        talk.answer(.failed("status 503", retryAfter: 0))
        try notify(talk, "soon", ["expires": talk.world.redisNow + 5_000])
        try talk.world.run(until: "a try", within: 1_000) { talk.handed.count == 1 }
        talk.answer(.accepted)
        try talk.world.run(for: 120_000)
        expect(talk.handed.map(\.notification?.id), equals: ["soon"])
    }

    private func message(_ urgency: PushUrgency?, expires: Timestamp?, title: String = "t") -> PushMessage {
        let about = PushedNotification(seq: 7, id: "o", kind: "k", tag: "a1", urgency: urgency, expires: expires)
        return PushMessage(
            at: 5, seq: 7, pushToken: "0a", user: "bob", conversation: "#7.a1", title: title, text: "", badge: 2,
            notification: about)
    }

    @Test func `services are told how urgent it is, and until when`() throws {
        func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
        let low = message(.low, expires: 65_000)
        expect(
            text(FCM.body(low, at: 5_000)),
            equals: #"{"message":{"android":{"notification":{"notification_count":2,"tag":"notification-a1"},"#
                + #""priority":"NORMAL","ttl":"60s"},"apns":{"headers":{"apns-collapse-id":"notification-a1","#
                + #""apns-expiration":"65","apns-priority":"5"},"payload":{"aps":{"badge":2,"sound":"default","#
                + #""thread-id":"k"}}},"data":{"kind":"k","notification":"o","user":"bob"},"#
                + #""notification":{"body":"","title":"t"},"token":"0a"}}"#)
        expect(
            text(APNs.body(message(nil, expires: nil, title: ""))),
            equals: #"{"aps":{"alert":{"body":"New notification","title":""},"badge":2,"mutable-content":1,"#
                + #""sound":"default","thread-id":"k"},"notification":{"id":"o","kind":"k","seq":7,"tag":"a1"},"#
                + #""user":"bob"}"#)
        expect(low.life(at: 70_000) == 0 && message(nil, expires: nil).life(at: 1) == nil)
        expect(message(nil, expires: nil).urgency, equals: .high)
    }

    @Test(arguments: [PushContent.sender, .none])
    func `a push has only what the operator permits`(content: PushContent) throws {
        let talk = try PushTalk(apns: true) { $0[Push.content] = content }
        try talk.register("0a0b")
        talk.bob.close(code: 1000)
        try talk.world.run(for: 60_000)
        try notify(talk)
        talk.say("a secret")
        try talk.world.run(until: "both", within: 5_000) { talk.handed.count == 2 && talk.pushes.count == 2 }
        expect(talk.handed.allSatisfy { $0.text.isEmpty })
        expect(talk.handed.contains { $0.title == "Shipped" }, equals: content == .sender)
        for body in talk.pushes.map({ String(decoding: $0.body, as: UTF8.self) }) {
            expect(!body.contains("secret") && !body.contains("Soon") && body.contains(#""badge":"#), "\(body)")
            expect(content == .sender || body.contains(#""title":"""#), "\(body)")
        }
    }
}
