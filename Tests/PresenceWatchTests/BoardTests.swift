import Expectations
import Foundation
import PresenceKit
import Testing

@testable import presence_watch

struct BoardTests {
    @Test func `online users are on top: online, busy, away, then the latest seen`() {
        let board = Scene.board([
            Scene.person("a", "Never", .offline, since: nil),
            Scene.person("b", "Long gone", .offline, since: 900, lastSeen: 900),
            Scene.person("c", "Just left", .offline, since: 3, lastSeen: 3),
            Scene.person("d", "zoe", .online),
            Scene.person("e", "Anna", .online),
            Scene.person("f", "Away", .away),
            Scene.person("g", "Busy", .busy),
            Scene.person("h", "anna", .online),
        ])
        expect(board.rows.map(\.user), equals: ["e", "h", "d", "g", "f", "c", "b", "a"])
        expect(board.hereCount, equals: 5)
    }

    @Test func `users without a reply are last`() {
        var board = Board(users: ["x", "ana", "y"])
        board.apply([Scene.person("ana", nil, .offline)], changed: ["ana"])
        expect(board.rows.map(\.user), equals: ["ana", "x", "y"])
        expect(!board.isComplete)
    }

    @Test func `only users named as changed are processed`() {
        var board = Scene.board([Scene.person("ana", "Ana", .online), Scene.person("bob", "Bob", .online)])
        board.apply([Scene.person("ana", "Ana", .busy), Scene.person("bob", "Bob", .busy)], changed: ["bob"])
        expect(board["ana"]?.status, equals: .online)
        expect(board["bob"]?.status, equals: .busy)
    }

    @Test func `the newest change is the one received last, of presence, profile or typing`() {
        var board = Scene.board([
            Scene.person("ana", "Ana", arrival: Scene.arrival(9, took: 3)),
            Scene.person("bob", "Bob", arrival: Scene.arrival(20, took: 1), profileArrival: Scene.arrival(5, took: 7)),
        ])
        expect(board.newest?.name.text, equals: "Bob")
        expect(board.newest?.arrival.latency.shortText, equals: "7 ms")

        board.apply(
            Typing(
                conversation: "c1", users: ["ana", "bob"], freshness: .live, arrival: Scene.arrival(2, took: 11)))
        expect(board.newest?.name.text, equals: "Ana")
        // The user who stopped typing is the one who changed.
        board.apply(
            Typing(conversation: "c1", users: ["ana"], freshness: .live, arrival: Scene.arrival(1, took: 12)))
        expect(board.newest?.name.text, equals: "Bob")
        // A change that was received earlier is not the newest.
        board.apply([Scene.person("ana", "Ana", .busy, arrival: Scene.arrival(4, took: 90))], changed: ["ana"])
        expect(board.newest?.arrival.latency.shortText, equals: "12 ms")
    }

    @Test func `typing is known by user, over conversations`() {
        var board = Board(users: ["ana"], conversations: ["c1", "c2"])
        board.apply([Scene.person("ana", "Ana", text: "Hi")], changed: ["ana"])
        board.apply(Typing(conversation: "c2", users: ["ana"], freshness: .live))
        board.apply(Typing(conversation: "c1", users: ["ana", "eve"], freshness: .live))
        expect(board.typing, equals: ["ana": ["c1", "c2"], "eve": ["c1"]])
        expect(board.othersTyping, equals: ["eve"])
        expect(Scene.picture(board, 120, 6).contains("typing in c1, c2…  Hi"))
        board.apply(Typing(conversation: "c1", users: [], freshness: .live))
        expect(board.typing, equals: ["ana": ["c2"]])
    }

    @Test func `it is live only if the connection and all users are`() {
        expect(Scene.board().isLive)
        expect(!Scene.board(state: .stale(since: Scene.now)).isLive)
        expect(!Scene.board(Scene.people(.stale(since: Scene.ago(3)))).isLive)
        expect(Scene.board(Scene.people(.stale(since: Scene.ago(3)))).staleSince, equals: Scene.ago(3))
    }

    @Test func `a user without a display name is shown by their id, once`() {
        let row = BoardRow(Scene.person("ana", nil))
        expect(row.name.text, equals: "ana")
        expect(row.id.width, equals: 0)
        // This name has no visible characters.
        expect(BoardRow(Scene.person("ana", "\u{200B}\u{202E}")).name.text, equals: "ana")
    }
}
