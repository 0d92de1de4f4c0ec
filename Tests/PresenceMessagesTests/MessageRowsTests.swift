import Expectations
import Foundation
import PresenceKit
import Testing

@testable import PresenceMessages

/// The cost of one change with thousands of messages on the screen, counted in rows, and what loops get of it.
@Suite(.timeLimit(.minutes(1))) struct MessageRowsTests {
    private typealias Wire = PresenceMessages.Wire

    private let date = Date(timeIntervalSince1970: 0)
    private var talk = Talk(id: "c", own: "ana")
    private var rows = MessageRows()
    private var unsent: [Message] = []
    private var changes: [MessageChange] = []

    private static func message(_ seq: Int64, version: Int64, from: String = "bob", _ text: String = "x")
        -> Wire.Message
    {
        Wire.Message(id: "m\(seq)", seq: seq, version: version, from: from, at: 0, text: text)
    }

    private mutating func begin(_ count: Int64) {
        talk.mark(Self.members(read: 0, byBob: 0))
        talk.answered([
            Wire.Followed(
                conversation: "c", messagesVersion: count,
                messages: (1...count).map { Self.message($0, version: $0, from: $0 % 2 == 0 ? "ana" : "bob") },
                first: 1, last: count)
        ])
        update()
    }

    private mutating func update() { rows.update(&talk, unsent: unsent, changes: changes, at: date) }

    /// Expects that a change touches this many rows of the list, and that a loop compares this many.
    private mutating func expectRows(
        touched: Int, compared: Int, at location: SourceLocation = #_sourceLocation, _ change: (inout Self) -> Void
    ) {
        let (before, former) = (rows.rowsTouched, rows)
        change(&self)
        update()
        expect(rows.rowsTouched - before, equals: touched, sourceLocation: location)
        let differing = rows.differing(from: former)
        expect(max(differing.former.count, differing.newer.count), equals: compared, sourceLocation: location)
    }

    private static func members(read: Int64, byBob: Int64) -> [ChatConversation.Member] {
        [.init(user: "ana", read: read, delivered: read), .init(user: "bob", read: byBob, delivered: byBob)]
    }

    @Test mutating func `with 3,000 messages shown, each change touches its own rows only`() {
        begin(3_000)
        expectRows(touched: 1, compared: 1) { $0.talk.heard(Self.message(3_001, version: 3_001), version: 3_001) }
        expect(rows.messages.count, equals: 3_001)
        expectRows(touched: 1, compared: 1) { $0.talk.heard(Self.message(7, version: 3_002, "new"), version: 3_002) }
        expect(rows.messages[6].text, equals: "new")
        // The first and third of the four are bob's own, and stay as they are.
        expectRows(touched: 4, compared: 3) { $0.talk.mark(Self.members(read: 0, byBob: 4)) }
        expect(rows.messages[..<5].map(\.status), equals: [.delivered, .read, .delivered, .read, .delivered])
        expectRows(touched: 1, compared: 1) { $0.talk.mark(Self.members(read: 1, byBob: 4)) }
        expect(rows.messages[0].status, equals: .read)
        expectRows(touched: 0, compared: 0) { _ in }

        let own = Message(conversationId: "c", senderId: "ana", text: "own")
        expectRows(touched: 1, compared: 1) { $0.unsent = [own] }
        let sent = Wire.Message(id: own.id, seq: 3_002, version: 3_003, from: "ana", at: 0, text: "own")
        expectRows(touched: 2, compared: 1) {
            $0.talk.apply(sent)
            $0.unsent = []
        }
        expect(rows.messages.last?.status, equals: .sent)
        let edit = MessageChange(conversationId: "c", user: "ana", kind: .edit(message: "m8", text: "edited"))
        expectRows(touched: 1, compared: 1) { $0.changes = [edit] }
        expect(rows.messages[7].text == "edited" && rows.messages[7].hasPendingChange)
        expectRows(touched: 1, compared: 1) { $0.changes = [] }
        expect(rows.messages[7].text, equals: "x")
    }

    @Test mutating func `messages of the device that the server confirms are another value with the same rows`() {
        begin(5)
        let kept = talk.kept(most: 50)!
        (talk, rows) = (Talk(id: "c", own: "ana", kept: kept), MessageRows())
        update()
        let stale = rows
        talk.answered([Wire.Followed(conversation: "c", messagesVersion: 5, messages: [], first: 1, last: 5)])
        update()
        expect(stale.isStale && !rows.isStale && rows != stale)
        let differing = rows.differing(from: stale)
        expect(differing.former.isEmpty && differing.newer.isEmpty)
        // A loop that missed that gets the next change alone.
        talk.heard(Self.message(6, version: 6), version: 6)
        update()
        expect(rows.differing(from: stale).newer.map(\.sequence), equals: [6])
    }

    @Test mutating func `whatever happens, the rows are those of all messages, and a loop gets what differs`() {
        var random = KillTests.Seeded(state: 42)
        begin(20)
        var (version, newest, loops) = (Int64(100), Int64(20), [MessageRows?](repeating: nil, count: 3))
        for round in 0..<2_000 {
            version += 1
            switch Int.random(in: 0..<9, using: &random) {
            case 0, 1:
                newest += Int64.random(in: 1...2, using: &random)
                let sender = Bool.random(using: &random) ? "ana" : "bob"
                talk.heard(Self.message(newest, version: version, from: sender), version: version)
            case 2:
                let number = Int64.random(in: 1...newest, using: &random)
                talk.heard(Self.message(number, version: version, "edited \(round)"), version: version)
            case 3:
                let marks = (0..<2).map { _ in Int64.random(in: 0...newest, using: &random) }
                talk.mark(Self.members(read: marks[0], byBob: marks[1]))
            case 4: unsent.append(Message(conversationId: "c", senderId: "ana", text: "\(round)"))
            case 5 where !unsent.isEmpty:
                newest += 1
                let first = unsent.removeFirst()
                talk.apply(
                    Wire.Message(id: first.id, seq: newest, version: version, from: "ana", at: 0, text: first.text))
            case 6:
                let number = Int64.random(in: 1...newest, using: &random)
                changes = [MessageChange(conversationId: "c", user: "ana", kind: .delete(message: "m\(number)"))]
            case 7: changes = []
            case 8 where round % 10 == 0:
                talk.answered([
                    Wire.Followed(
                        conversation: "c", messagesVersion: version,
                        messages: (newest - 5...newest).map { Self.message($0, version: version) }, first: 1,
                        last: newest, reset: true)
                ])
            case 8 where round % 10 == 1: talk.own = talk.own == "ana" ? "bob" : "ana"
            default: break
            }
            update()
            let all = (talk.shown(at: date) + unsent).map { message in
                changes.reduce(into: message) { $1.apply(to: &$0) }
            }
            expect(rows.messages, equals: all)
            for index in loops.indices where Int.random(in: 0..<[2, 10, 80][index], using: &random) == 0 {
                let (before, after) = rows.differing(from: loops[index])
                let former = loops[index]?.messages ?? []
                expect(
                    ListChanges(from: before, to: after, by: \.id), equals: ListChanges(from: former, to: all, by: \.id)
                )
                loops[index] = rows
            }
        }
    }

    @Test func `a message that is read on the screen touches few rows of 1,000`() async throws {
        let scene = Scene()
        for number in 1...1_000 { scene.server.write("\(number)") }
        var loop = scene.messages.messages(in: "c1").makeAsyncIterator()
        var list = scene.messages.conversationList.makeAsyncIterator()
        await loop.reaches { $0.count == 50 }
        while try await scene.messages.loadEarlier(in: "c1", limit: 100) {}
        await loop.reaches { $0.count == 1_000 }
        // Each event of the server is awaited: an older one would take back the mark for a moment.
        await list.reaches { $0.first?.member("ana")?.delivered == 1_000 }
        await scene.messages.markRead(in: "c1")
        await list.reaches { $0.first?.unreadCount == 0 }
        let before = await scene.messages.rows["c1"]!.rowsTouched
        scene.server.write("one more")
        await list.reaches { $0.first?.unreadCount == 1 && $0.first?.member("ana")?.delivered == 1_001 }
        await scene.messages.markRead(in: "c1")
        await list.reaches { $0.first?.unreadCount == 0 }
        await expect(loop.reaches { $0.last?.status == .read }?.count, equals: 1_001)
        await expect(scene.messages.rows["c1"]!.rowsTouched - before <= 3)
    }
}
