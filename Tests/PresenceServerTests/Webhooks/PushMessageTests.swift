import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer

@Suite struct PushMessageTests {
    private func message(title: String = "Ana", text: String = "hi") -> PushMessage {
        PushMessage(
            at: 1_763_712_000_000, seq: 4, pushToken: "t", user: "bob", conversation: "c1", title: title, text: text,
            badge: 3)
    }

    @Test func `an event is one message for each device of a platform`() {
        let body =
            #"{"type":"push.due","timestamp":"2026-11-22T04:00:00Z","data":{"user":"bob","conversation":"c1","#
            + #""devices":[{"platform":"fcm","pushToken":"a"},{"platform":"apns","pushToken":"b"},"#
            + #"{"platform":"fcm","pushToken":"c"}],"title":"Ana","text":"hi","badge":3}}"#
        let messages = PushMessage.all(for: "fcm", in: Array(body.utf8), at: 5, of: 7)
        expect(messages.map(\.pushToken), equals: ["a", "c"])
        expect(messages.first.flatMap { PushMessage($0.body) } == messages.first && messages.first?.at == 5)
        expect(messages.first?.seq, equals: 7)
        expect(PushMessage.all(for: "web", in: Array(body.utf8), at: 5, of: 7).isEmpty)
        expect(PushMessage.all(for: "fcm", in: Array("{}".utf8), at: 5, of: 7).isEmpty && PushMessage([0x7B]) == nil)
    }

    @Test func `a text is cut where it would take too much`() {
        expect(PushMessage.cut("abcdef", to: 6), equals: "abcdef")
        expect(PushMessage.cut("abcdefg", to: 6), equals: "abc…")
        expect(PushMessage.cut("\u{1}\u{1}", to: 12), equals: "\u{1}\u{1}")
        expect(PushMessage.cut("\u{1}\u{1}", to: 11), equals: "\u{1}…")
        expect(PushMessage.cut("\"\"", to: 3) == "…" && PushMessage.cut("🏔🏔", to: 7) == "🏔…")
        expect(PushMessage.cut("", to: 0).isEmpty)
    }

    @Test(arguments: ["x", "\u{1}", "🏔", "\""])
    func `both services are sent less than 4,096 bytes, whatever is said`(character: String) {
        let long = String(repeating: character, count: 5_000)
        let body =
            #"{"data":{"user":"\#(String(repeating: "u", count: 128))","#
            + #""conversation":"\#(String(repeating: "c", count: 128))","devices":[{"platform":"fcm","pushToken":"a"}],"#
            + #""title":\#(json(long)),"text":\#(json(long)),"badge":9007199254740991}}"#
        let message = PushMessage.all(for: "fcm", in: Array(body.utf8), at: 5, of: 7).first
        expect(message.map { FCM.body($0, at: 0).count < 4_096 && APNs.body($0).count < 4_096 }, equals: true)
    }

    private func json(_ text: String) -> String {
        var bytes: [UInt8] = []
        JSONWriter.string(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `APNs is sent an alert, the badge and what it is about`() {
        expect(
            String(decoding: APNs.body(message()), as: UTF8.self),
            equals: #"{"aps":{"alert":{"body":"hi","title":"Ana"},"badge":3,"sound":"default","thread-id":"c1"},"#
                + #""conversation":"c1","user":"bob"}"#)
    }

    @Test func `a push has the same id at each try, and a newer one of its conversation takes its place`() {
        expect(APNs.uuid("msg_1_0_17_0") == APNs.uuid("msg_1_0_17_0") && APNs.uuid("a") != APNs.uuid("b"))
        expect(UUID(uuidString: APNs.uuid("a")) != nil)
        expect(APNs.collapseID("c1"), equals: "c1")
        let (long, other) = (String(repeating: "c", count: 65), String(repeating: "c", count: 66))
        expect(APNs.collapseID(long).utf8.count == 64 && APNs.collapseID(long) != APNs.collapseID(other))
    }

    @Test func `what a service says of itself is logged if it is a word`() {
        expect(PushService.reason(400, "BadDeviceToken"), equals: "status 400 BadDeviceToken")
        expect(PushService.reason(404, "NOT_FOUND"), equals: "status 404 NOT_FOUND")
        for word in [nil, "", "two words", "a\nb", String(repeating: "x", count: 61)] {
            expect(PushService.reason(500, word), equals: "status 500")
        }
    }

    @Test func `a token for APNs is used for 45 minutes, and as Redis has it`() {
        let token = ProviderToken(madeAt: 1_763_712_000_000, text: "a.b.c")
        expect(ProviderToken(token.record), equals: token)
        expect(ProviderToken("") == nil && ProviderToken("x a.b.c") == nil && ProviderToken("1 2 3") == nil)
        expect(token.isFresh(at: token.madeAt + 2_699_999) && !token.isFresh(at: token.madeAt + 2_700_000))
        // For the calls of a batch that began earlier.
        expect(token.isGood(at: token.madeAt + 2_759_999) && !token.isGood(at: token.madeAt + 2_760_000))
    }

    @Test(arguments: [
        ("00ffAB", true), ("", false), ("0g", false), ("../1", false), (String(repeating: "a", count: 401), false),
    ])
    func `the token of a device is hexadecimal, so it cannot be another path`(token: String, isOne: Bool) {
        expect(APNs.isToken(token), equals: isOne)
    }
}
