import Expectations
import Foundation
import Testing

@testable import PresenceMessages

/// The known messages of a conversation, in whatever order they are received.
struct TalkTests {
    private var talk = Talk(id: "c", own: "ana")

    private func message(_ seq: Int64, version: Int64 = 1, _ text: String = "x") -> Wire.Message {
        Wire.Message(id: "m\(seq)", seq: seq, version: version, from: "bob", at: 0, text: text)
    }

    private func answer(
        _ seqs: ClosedRange<Int64>, version: Int64, last: Int64? = nil, reset: Bool? = nil
    ) -> Wire.Followed {
        Wire.Followed(
            conversation: "c", messagesVersion: version, messages: seqs.map { message($0) }, first: 1,
            last: last ?? seqs.upperBound, reset: reset)
    }

    private mutating func numbers() -> [Int64] {
        talk.shown(at: Date()).compactMap(\.sequence)
    }

    @Test mutating func `an event before the reply is in the list, and counts with the reply`() {
        talk.heard(message(4), version: 40)
        expect(numbers() == [] && talk.cursor.after == nil)
        talk.answered([answer(1...3, version: 30)])
        expect(numbers(), equals: [1, 2, 3, 4])
        expect(talk.cursor.after == 4 && talk.cursor.messagesVersion == 40)
    }

    @Test mutating func `the cursor does not move over a gap, nor by events whose reply is lost`() {
        talk.answered([answer(1...3, version: 30)])
        talk.begin()
        talk.heard(message(7), version: 70)
        expect(numbers() == [1, 2, 3, 7] && talk.cursor.after == 3 && talk.cursor.messagesVersion == 30)
        talk.begin()
        talk.answered([answer(4...5, version: 60), answer(6...7, version: 60)])
        expect(numbers() == Array(1...7) && talk.cursor.after == 7 && talk.cursor.messagesVersion == 60)
    }

    @Test mutating func `the larger version of a message wins`() {
        talk.answered([answer(1...2, version: 2)])
        talk.heard(message(1, version: 5, "new"), version: 5)
        talk.heard(message(1, version: 4, "old"), version: 4)
        expect(talk.shown(at: Date()).map(\.text) == ["new", "x"] && talk.cursor.messagesVersion == 5)
    }

    @Test mutating func `a reset replaces everything except later events`() {
        talk.answered([answer(1...9, version: 9)])
        talk.begin()
        talk.heard(message(121), version: 130)
        talk.answered([answer(71...120, version: 129, reset: true)])
        expect(numbers() == Array(71...121) && talk.hasEarlier && talk.cursor.messagesVersion == 130)
    }

    @Test mutating func `a change of a message that is not loaded waits for its page`() {
        talk.answered([answer(51...100, version: 100)])
        talk.heard(message(3, version: 101), version: 101)
        expect(numbers(), equals: Array(51...100))
        talk.apply(Wire.Page(conversation: "c", messages: (1...50).map { message($0) }, first: 1, last: 100))
        expect(numbers() == Array(1...100) && !talk.hasEarlier)
    }

    @Test mutating func `a status does not regress when a member without marks joins`() {
        talk.answered([answer(1...1, version: 1)])
        talk.apply(Wire.Message(id: "o", seq: 2, version: 2, from: "ana", at: 0, text: "own"))
        talk.mark([.init(user: "ana"), .init(user: "bob", read: 2, delivered: 2)])
        expect(talk.shown(at: Date()).last?.status, equals: .read)
        talk.mark([.init(user: "ana"), .init(user: "bob", read: 2, delivered: 2), .init(user: "cy")])
        expect(talk.shown(at: Date()).last?.status, equals: .read)
        expect(talk.shown(at: Date()).last?.readBy, equals: ["bob"])
    }
}
