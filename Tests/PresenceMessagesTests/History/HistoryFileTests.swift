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
        #expect(Set(read.recall(records).map(\.id)) == ["c1", "c3"])
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
            #expect(messages.compactMap(\.sequence) == Array(range.oldest...range.through))
        }
        var last = History(messages: 5, conversations: 3)
        _ = last.recall(records)
        let found = last.messages(of: "c1")
        let (range, messages) = try #require(found)
        #expect(range.through == Int64(log.count) && range.version == version)
        #expect(messages.map(\.text) == log.suffix(5).map(\.text))
    }
}
