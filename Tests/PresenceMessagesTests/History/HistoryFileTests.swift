import Expectations
import Foundation
import Testing

@testable import PresenceKit
@testable import PresenceMessages

/// The records of the history, in the order in which they are written.
@Suite struct HistoryFileTests {
    private typealias Wire = PresenceMessages.Wire

    @Test func `the least recently changed conversations give way`() {
        var history = History(messages: 5, conversations: 2)
        var records: [String: Data] = [:]
        for id in ["c1", "c2", "c1", "c3"] {
            let changes = history.update(ChatConversation(id: id, kind: .direct, participants: ["ana", "bob"]))
            for (key, value) in changes.records { records[key] = value }
        }
        var read = History(messages: 5, conversations: 2)
        expect(Set(read.recall(records).conversations.map(\.id)), equals: ["c1", "c3"])
    }

    private func conversation(first: Int64 = 1) -> ChatConversation {
        var conversation = ChatConversation(id: "c1", kind: .direct, participants: ["ana", "bob"])
        (conversation.firstSequence, conversation.lastSequence) = (first, 10)
        return conversation
    }

    /// The records of a conversation that was opened with its messages 1 to 10.
    private func opened(_ history: inout History) -> [String: Data] {
        var talk = Talk(id: "c1", own: "ana")
        let messages = (1...10).map {
            Wire.Message(id: "m\($0)", seq: $0, version: $0, from: "bob", at: $0, text: "t\($0)")
        }
        talk.answered([Wire.Followed(conversation: "c1", messagesVersion: 10, messages: messages, first: 1, last: 10)])
        let changes = history.completeList() + history.update(conversation()) + history.update(talk)
        return changes.records.reduce(into: [:]) { $0[$1.key] = $1.value }
    }

    @Test func `messages that the server has removed go, though the conversation is never opened again`() throws {
        var history = History(messages: 50, conversations: 3)
        var records = opened(&history)
        let changes = history.update(conversation(first: 8))
        expect(changes.erases)
        for (key, value) in changes.records { records[key] = value }
        var read = History(messages: 50, conversations: 3)
        expect(read.recall(records).changes.records.isEmpty)
        let found = read.messages(of: "c1")
        expect(found?.messages.map(\.text) == ["t8", "t9", "t10"] && found?.range.first == 8)
        for (key, value) in read.update(conversation(first: 11)).records { records[key] = value }
        expect(records.keys.sorted(), equals: ["c/c1", "list"])
    }

    @Test(arguments: [(0, 0, []), (0, 3, ["c/c1", "list"]), (2, 3, ["c/c1", "list", "m/10/c1", "m/9/c1", "t/c1"])])
    func `a launch with lower limits removes what an earlier one kept`(
        messages: Int, conversations: Int, left: [String]
    ) {
        var history = History(messages: 50, conversations: 3)
        var records = opened(&history)
        var read = History(messages: messages, conversations: conversations)
        let (found, changes) = read.recall(records)
        for (key, value) in changes.records { records[key] = value }
        expect(records.keys.sorted() == left && found.count == min(conversations, 1))
    }

    /// A process may end between any two records, and so may what is on the disk.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `each beginning of the file is a history without a gap`(seed: UInt64) throws {
        var random = KillTests.Seeded(state: seed)
        var talk = Talk(id: "c1", own: "ana")
        var history = History(messages: 5, conversations: 3)
        var written = History.Changes()
        var log: [Wire.Message] = []
        var version: Int64 = 0
        func message(_ seq: Int64, _ text: String) -> Wire.Message {
            version += 1
            return Wire.Message(id: "m\(seq)", seq: seq, version: version, from: "bob", at: seq, text: text)
        }
        talk.answered([Wire.Followed(conversation: "c1", messagesVersion: 0, messages: [], first: 1, last: 0)])
        for step in 1...60 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0...5:
                log.append(message(Int64(log.count) + 1, "t\(step)"))
                talk.heard(log.last!, version: version)
            case 6, 7:
                guard let place = log.indices.randomElement(using: &random) else { continue }
                log[place] = message(Int64(place) + 1, "e\(step)")
                talk.heard(log[place], version: version)
            case 8:
                // Another connection, which brings a few at once.
                talk.begin()
                let first = log.count
                for _ in 0..<Int.random(in: 1...8, using: &random) {
                    log.append(message(Int64(log.count) + 1, "n\(step)"))
                }
                talk.answered([
                    Wire.Followed(
                        conversation: "c1", messagesVersion: version, messages: Array(log[first...]), first: 1,
                        last: Int64(log.count))
                ])
            default:
                var conversation = ChatConversation(id: "c1", kind: .direct, participants: ["ana", "bob"])
                conversation.lastSequence = Int64(log.count)
                written = written + history.update(conversation)
            }
            written = written + history.update(talk)
        }
        var records: [String: Data] = [:]
        for (key, value) in written.records {
            records[key] = value
            var read = History(messages: 5, conversations: 3)
            _ = read.recall(records)
            guard let (range, messages) = read.messages(of: "c1") else { continue }
            expect(messages.compactMap(\.sequence), equals: Array(range.oldest...range.through))
        }
        var last = History(messages: 5, conversations: 3)
        _ = last.recall(records)
        let found = last.messages(of: "c1")
        let (range, messages) = try #require(found)
        expect(range.through == Int64(log.count) && range.version == version)
        expect(messages.map(\.text), equals: log.suffix(5).map(\.text))
    }
}
