import Expectations
import Foundation
import PresenceKit
import TerminalClients
import Testing

@testable import presence_watch

struct ScreenTests {
    @Test func `80 by 24`() {
        let blank = String(repeating: "\n", count: 16)
        expect(
            Scene.picture(Scene.board(typing: ["cy"]), 80, 24),
            equals: """
                 presence   5 people, 3 here                         ● live from 127.0.0.1:4040
                   NAME              ID    STATUS   SINCE       TEXT              DEVICES
                 ● Ana Silva         ana   online   for 3 min   Working from ho…  desktop, phone
                 ⊖ Cy 🎧             cy    busy     for 40 s    typing…  In a m…  web
                 ◐ 山田太郎          taro  away     for 1 h                       tablet
                 ○ Bob               bob   offline  2 h ago
                 ○ zed                     offline  never seen
                \(blank) newest change: Ana Silva, took 4 ms to arrive, 12 s ago                 q quit
                """)
    }

    @Test func `40 by 10: the dot, name, status and since remain, typing is shown in the status`() {
        expect(
            Scene.picture(Scene.board(typing: ["cy"]), 40, 10),
            equals: """
                5 people, 3 here                  ● live
                  NAME               STATUS   SINCE
                ● Ana Silva          online   for 3 min
                ⊖ Cy 🎧              typing…  for 40 s
                ◐ 山田太郎           away     for 1 h
                ○ Bob                offline  2 h ago
                ○ zed                offline  never seen


                newest: 4 ms                      q quit
                """)
    }

    @Test func `200 by 50: everything fits`() {
        let lines = Scene.picture(Scene.board(), 200, 50).split(separator: "\n", omittingEmptySubsequences: false)
        expect(lines.count, equals: 50)
        expect(lines[0].hasPrefix(" presence   5 people, 3 here  "))
        expect(lines[0].hasSuffix("  ● live from 127.0.0.1:4040"))
        expect(lines[0].displayWidth, equals: 199)
        expect(
            lines[2].split(separator: "  ").map { $0.trimmingCharacters(in: .whitespaces) },
            equals: [
                "● Ana Silva", "ana", "online", "for 3 min", "Working from home", "desktop, phone", "4 ms",
            ])
        expect(lines[49].displayWidth, equals: 199)
    }

    @Test func `10 by 3: the connection and as many users as fit`() {
        expect(
            Scene.picture(Scene.board(), 10, 3),
            equals: """
                ● live
                ● Ana Sil…
                ⊖ Cy 🎧
                """)
    }

    @Test func `stale users have a dotted sign, ages stop, and the title shows the last count`() {
        let since = Scene.ago(90)
        let board = Scene.board(
            Scene.people(.stale(since: since)),
            state: .reconnecting(in: .seconds(4), because: PresenceError(.connectionLost, "connection refused")))
        expect(
            Scene.picture(board, 102, 9),
            equals: """
                 presence   5 people, 3 were here    ◌ reconnecting in 3 s: connection refused; shown as of 1 min ago
                   NAME                  ID    STATUS   SINCE       TEXT                       DEVICES          DELAY
                 ◌ Ana Silva             ana   online   for 1 min   Working from home          desktop, phone   4 ms
                 ◌ Cy 🎧                 cy    busy     just now    In a meeting               web
                 ◌ 山田太郎              taro  away     for 1 h                                tablet
                 ◌ Bob                   bob   offline  2 h ago
                 ◌ zed                         offline  never seen

                 newest change: Ana Silva, took 4 ms to arrive, 12 s ago                                       q quit
                """)
        let lines = Screen(width: 102, height: 9, address: "").lines(of: board, viewport: Viewport(), now: Scene.now)
        for line in lines[2...6] {
            let shown = line.spans.filter { !$0.text.allSatisfy { $0 == " " } }
            expect(shown.allSatisfy { $0.style.color == .grey && !$0.style.isBold })
        }
    }

    @Test func `a stale server is distinguished from a lost one`() {
        let since = Scene.ago(8)
        let board = Scene.board(Scene.people(.stale(since: since)), state: .stale(since: since))
        let title = Scene.picture(board, 100, 9).split(separator: "\n")[0]
        expect(title.hasSuffix("◌ stale: the server lost its data source 8 s ago"))
        expect(title.hasPrefix(" presence   5 people, 3 were here"))
    }

    @Test func `before the first reply no count is shown`() {
        var board = Board(users: ["ana", "bob"])
        board.apply(.connecting, at: Scene.now)
        expect(
            Scene.picture(board, 80, 6),
            equals: """
                 presence   2 people                             ◌ connecting to 127.0.0.1:4040
                   NAME              STATUS   SINCE       TEXT                   DEVICES
                 ◌ ana               …
                 ◌ bob               …

                 q quit
                """)
    }

    @Test func `a new connection with users not yet confirmed is not shown as live`() {
        var people = Scene.people()
        people[0] = Scene.person("bob", "Bob", .offline, freshness: .stale(since: Scene.ago(5)))
        let board = Scene.board(people)
        expect(Scene.picture(board, 100, 9).contains("◌ connected, catching up; shown as of 5 s ago"))
        expect(Scene.picture(board, 100, 9).contains("● Ana Silva"))
        expect(Scene.picture(board, 100, 9).contains("◌ Bob"))
    }

    @Test func `a user who may not be watched is marked, with the reason`() {
        let refused = Scene.person(
            "bob", nil, .offline, since: nil, freshness: .unknown,
            problem: PresenceError(.tooMany, "at most 2 people"))
        let picture = Scene.picture(Scene.board([refused]), 80, 6)
        expect(picture.contains("✕ bob               refused              at most 2 people"))
    }

    @Test func `another user who types in the conversation is named below`() {
        expect(Scene.picture(Scene.board(typing: ["cy", "eve"]), 100, 9).contains("   typing: eve"))
    }

    @Test func `more users than lines can be scrolled, and the footer shows the position`() {
        let people = (10..<40).map { Scene.person("user\($0)", "User \($0)") }
        let board = Scene.board(people)
        var viewport = Viewport()
        let height = Screen(width: 80, height: 12, address: "").rowCount
        expect(Scene.picture(board, 80, 12).contains("1–9 of 30   ↑↓ scroll  q quit"))
        viewport.handle(.end, count: 30, height: height)
        let end = Scene.picture(board, 80, 12, viewport: viewport)
        expect(end.contains("22–30 of 30"))
        expect(end.contains("● User 39"))
        expect(!end.contains("● User 30"))
    }

    /// All lines at all sizes: never too wide, exactly as many as the terminal has, and with the users if there is
    /// room.
    @Test func `all sizes work`() {
        let states: [ConnectionState] = [
            .live, .connecting, .stale(since: Scene.ago(100_000)),
            .reconnecting(
                in: .seconds(29), because: PresenceError(.connectionLost, String(repeating: "why ", count: 50))),
        ]
        for state in states {
            let board = Scene.board(state: state, typing: ["ana", "eve"])
            for width in [2, 3, 7, 10, 19, 20, 39, 40, 59, 60, 61, 79, 80, 81, 99, 120, 161, 200] {
                for height in [1, 2, 3, 4, 5, 6, 10, 24, 50] {
                    let screen = Screen(width: width, height: height, address: Scene.address)
                    let lines = screen.lines(of: board, viewport: Viewport(), now: Scene.now)
                    expect(lines.count, equals: height)
                    expect(lines.allSatisfy { $0.width <= width }, "\(width) by \(height)")
                    for line in lines { expect(line.width, equals: line.spans.map(\.text).joined().displayWidth) }
                }
            }
        }
    }

    @Test func `columns are dropped one after the other, and never overrun`() {
        let natural: [Columns.Column: Int] = [
            .name: 28, .id: 20, .status: 7, .since: 10, .text: 60, .devices: 22, .delay: 6,
        ]
        var shown = Columns(natural: natural, width: nil).shown.count
        expect(shown, equals: 7)
        for width in (2...200).reversed() {
            let columns = Columns(natural: natural, width: width)
            expect(columns.total + columns.margin <= width)
            expect(columns.shown.count <= shown)
            shown = columns.shown.count
        }
        expect(shown <= 1)
    }
}
