import Expectations
import Foundation
import Testing

@testable import presence_load

/// A replay's copy of conversations, and its record of the truth.
@Suite struct ChatTests {
    private let names = { (place: Int) in ["ana", "bob"][place] }

    private func message(_ seq: Int64, _ id: String, from: String = "ana", _ text: String = "x") -> ChatWire.Message {
        ChatWire.Message(id: id, seq: seq, version: seq, from: from, text: text)
    }

    private func truth() -> ChatTruth {
        var truth = ChatTruth(members: [0, 1])
        _ = truth.record(ChatTruth.Sent(id: "a", from: 0, text: "x"), seq: 1)
        _ = truth.record(ChatTruth.Sent(id: "b", from: 1, text: "y"), seq: 2)
        truth.record(Chat.Marks(delivered: 1, read: 0), of: 0)
        truth.record(Chat.Marks(delivered: 1, read: 2), of: 1)
        return truth
    }

    private func register(
        last: Int64 = 2, lastID: String = "b", unread: Int64 = 0, bob: (Int64, Int64) = (2, 2)
    ) -> ChatWire.Register {
        ChatWire.Register(
            id: "c", version: 1,
            members: [
                ChatWire.Member(user: "ana", read: 0, delivered: 1),
                ChatWire.Member(user: "bob", read: bob.1, delivered: bob.0),
            ], last: last, lastMessage: message(last, lastID), unread: unread)
    }

    @Test func `messages that are missing, more, changed or of others are differences`() {
        let right: [Int64: ChatWire.Message] = [1: message(1, "a"), 2: message(2, "b", from: "bob", "y")]
        expect(truth().contradiction(by: right, names: names), equals: nil)
        let wrongs: [(Int64, ChatWire.Message?)] = [
            (2, nil), (2, message(2, "c", from: "bob", "y")), (1, message(1, "a", from: "bob")),
            (1, message(1, "a", "z")), (3, message(3, "d")),
        ]
        for (seq, wrong) in wrongs {
            var held = right
            held[seq] = wrong
            expect(truth().contradiction(by: held, names: names) != nil, "\(seq)")
        }
    }

    @Test func `marks, counts and the last message are compared, for each member's own view`() {
        expect(truth().contradiction(by: register(unread: 1), for: 0, names: names), equals: nil)
        expect(truth().contradiction(by: register(unread: 0), for: 1, names: names), equals: nil)
        for wrong in [
            register(unread: 0), register(last: 1, unread: 1), register(lastID: "a", unread: 1),
            register(unread: 1, bob: (2, 1)), register(unread: 1, bob: (1, 2)), nil,
        ] { expect(truth().contradiction(by: wrong, for: 0, names: names) != nil) }
    }

    @Test func `two messages with one number are one too many`() {
        var truth = self.truth()
        let wrong = truth.record(ChatTruth.Sent(id: "c", from: 0, text: "x"), seq: 2)
        expect(wrong != nil)
    }

    @Test func `a client continues from its last message without gaps, and a reset replaces them`() throws {
        func followed(_ json: String) throws -> ChatWire.Followed {
            try JSONDecoder().decode(ChatWire.Followed.self, from: Data(json.utf8))
        }
        func text(_ seq: Int) -> String {
            #"{"id":"m\#(seq)","seq":\#(seq),"version":\#(seq),"from":"ana","text":"x"}"#
        }
        var chat = Chat()
        expect(chat.cursor("c"), equals: #"{"id":"c","after":0}"#)
        chat.apply(try followed(#"{"conversation":"c","messagesVersion":4,"messages":[\#(text(1)),\#(text(2))]}"#))
        let (third, fifth) = (chat.apply(message(3, "m3"), version: 5), chat.apply(message(5, "m5"), version: 6))
        expect(third && !fifth, "4 is missing")
        expect(chat.cursor("c"), equals: #"{"id":"c","after":3,"messagesVersion":6}"#)
        chat.apply(
            try followed(#"{"conversation":"c","messagesVersion":9,"reset":true,"messages":[\#(text(7)),\#(text(8))]}"#)
        )
        expect(chat.messages.keys.sorted() == [7, 8] && chat.last == 8)
    }

    @Test func `a text is as long as in the trace, within a server's limit`() {
        expect([0, 1, 10, 400, 9_000].map { ChatWire.text($0, 7).count }, equals: [1, 1, 10, 400, 5_000])
    }

    @Test(arguments: [
        (#"{"type":"message","conversation":"c"}"#, ChatWire.Kind.message), (#"{"type":"messages","id":1}"#, .messages),
        (#"{"type":"conversation","conversation":{}}"#, .conversation), (#"{"type":"conversationInfo","id":1}"#, nil),
        (#"{"type":"presence"}"#, nil), ("", nil),
    ]) func `a message about conversations is known by its beginning`(text: String, kind: ChatWire.Kind?) {
        expect(Array(text.utf8).withUnsafeBytes { ChatWire.Kind($0) }, equals: kind)
    }
}
