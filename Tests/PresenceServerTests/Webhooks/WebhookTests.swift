import Expectations
import Foundation
import Installation
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer

@Suite struct WebhookTests {
    /// The example of the standard's own libraries.
    @Test func `a call is signed as Standard Webhooks says`() throws {
        let secret = try WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        let signature = secret.signature(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: Array(#"{"test": 2432232314}"#.utf8))
        expect(signature, equals: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test func `two secrets both sign`() throws {
        let secret = try WebhookSecret(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\nwhsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD\n")
        let parts = secret.signature(id: "a", timestamp: 1, body: []).split(separator: " ")
        expect(parts.count == 2 && parts.allSatisfy { $0.hasPrefix("v1,") } && parts[0] != parts[1])
    }

    @Test(arguments: [
        "", " ", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_%%%%", "whsec_AAAA",
        "whsec_" + String(repeating: "A", count: 88) + "AAAA", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw x",
    ])
    func `a malformed secret is refused, and the error does not contain it`(text: String) {
        #expect {
            try WebhookSecret(text)
        } throws: {
            text.count < 7 || !"\($0)".contains(text)
        }
    }

    @Test func `an event is tried ten times within 76 hours`() {
        let pauses = (1...9).compactMap { RetrySchedule.pause(after: $0, spread: 0) }
        expect(pauses.first == 5_000 && pauses.last == 86_400_000)
        expect(pauses.reduce(0, +), equals: 272_105_000)
        expect(RetrySchedule.pause(after: RetrySchedule.mostTries, spread: 0), equals: nil)
        expect(RetrySchedule.pause(after: 1, spread: 1) == 6_000 && RetrySchedule.pause(after: 1, spread: -1) == 4_000)
        expect(RetrySchedule.pause(after: 1, asked: 60_000, spread: 0), equals: 60_000)
        expect(RetrySchedule.pause(after: 1, asked: .max, spread: 0), equals: 86_400_000)
        expect(RetrySchedule.pause(after: 4, asked: 60_000, spread: 0), equals: 7_200_000)
    }

    @Test func `an endpoint of which nothing but failures comes is left alone for a minute at most`() {
        expect((1...8).map { RetrySchedule.rest(after: $0) }, equals: [1, 2, 4, 8, 16, 32, 60, 60].map { $0 * 1_000 })
        expect(RetrySchedule.rest(after: .max), equals: 60_000)
    }

    @Test func `a receiver rests after failures alone, and until the pause that it asks for is over`() {
        var rest = ReceiverRest()
        rest.hasFailed("a", since: 100, asked: 0, isOfAll: true, at: 110)
        expect(rest.until, equals: 1_110)
        // It was under way when the rest began.
        rest.hasFailed("b", since: 105, asked: 0, isOfAll: true, at: 900)
        expect(rest.until, equals: 1_110)
        rest.hasFailed("a", since: 1_110, asked: 0, isOfAll: true, at: 1_120)
        expect(rest.until, equals: 3_120)
        rest.isAnswered(at: 3_130)
        expect(rest.until, equals: 0)
        // Another one was answered meanwhile.
        rest.hasFailed("a", since: 3_120, asked: 0, isOfAll: true, at: 3_140)
        expect(rest.until, equals: 0)
        rest.hasFailed("a", since: 3_135, asked: 60_000, isOfAll: true, at: 3_150)
        rest.isAnswered(at: 3_160)
        expect(rest.until, equals: 63_150)
    }

    @Test func `one device that fails delays no other, and several wait for a minute at most`() {
        var rest = ReceiverRest()
        rest.hasFailed("a", since: 100, asked: 600_000, isOfAll: false, at: 110)
        rest.hasFailed("a", since: 120, asked: 600_000, isOfAll: false, at: 130)
        expect(rest.until, equals: 0)
        rest.hasFailed("b", since: 120, asked: 0, isOfAll: false, at: 140)
        expect(rest.until, equals: 60_140)
    }

    @Test func `a receiver may ask for seconds, and for a day at most`() {
        let asked = ["120", "0", "-1", "soon", nil, "9999999999", "Wed, 21 Oct 2026 07:28:00 GMT"].map {
            RetrySchedule.asked($0)
        }
        expect(asked, equals: [120_000, 0, 0, 0, 0, 86_400_000, 0])
    }

    private func event(_ type: String, _ subject: String, _ rest: String) -> OfferedEvent {
        OfferedEvent(
            entry: "1763712000123-4", type: type, at: 1_763_712_000_999, subject: subject, rest: Array(rest.utf8)[...])
    }

    @Test func `bodies have type, time and data of each type`() throws {
        func body(_ type: String, _ subject: String, _ rest: String) throws -> String {
            String(decoding: try #require(event(type, subject, rest).body), as: UTF8.self)
        }
        try expect(
            body("user.online", #"a"\b"#, #"{"version":1}"#),
            equals:
                #"{"type":"user.online","timestamp":"2025-11-21T08:00:00Z","data":{"user":"a\"\\b","presence":{"version":1}}}"#
        )
        try expect(body("account.deleted", "u", "").hasSuffix(#""data":{"user":"u"}}"#))
        try expect(
            body("notification.created", "u", #"{"id":"o"}"#).hasSuffix(
                #""data":{"user":"u","notification":{"id":"o"}}}"#))
        try expect(body("push.due", "u", #""badge":1"#).hasSuffix(#""data":{"user":"u","badge":1}}"#))
        let message = "m1 7 9 5 ana 6 1 0 -\u{1F}\"hi\"\u{1F}\u{1F}\u{1F}5 \"h\""
        try expect(
            body("message.changed", "c", message).hasSuffix(
                #""data":{"conversation":"c","message":{"id":"m1","seq":7,"version":9,"from":"ana","at":5,"text":"hi","editedAt":6,"edits":[{"text":"h","at":5}],"editCount":1}}}"#
            ))
        expect(event("message.created", "c", "nonsense").body == nil && event("user.online", "u", "").body == nil)
        expect(event("user.online", "u", "").id(partition: 17), equals: "msg_1763712000123_00004_17")
        expect(Courier.after("1763712000123-4"), equals: "1763712000123-5")
    }

    @Test func `a very long message comes without its earlier texts`() throws {
        let long = String(repeating: "x", count: 20_000)
        let message =
            "m1 7 9 5 ana 6 4 0 -\u{1F}\"\(long)\"\u{1F}\u{1F}" + (1...4).map { "\u{1F}\($0) \"\(long)\"" }.joined()
        let body = try #require(event("message.changed", "c", message).body)
        expect(body.count < 21_000 && String(decoding: body, as: UTF8.self).contains(#""editCount":4"#))
    }
}
