import Foundation
import PresenceKit
import TerminalClients

/// The whole terminal as lines, from board, size and time: the same input gives the same picture.
///
/// ```text
///   presence   12 people, 7 here                    ● live from 127.0.0.1:4040
///     NAME       ID     STATUS   SINCE       TEXT              DEVICES  DELAY
///   ● Ana Silva  ana    online   for 3 min   In a meeting      phone    4 ms
///   ○ Bob        bob    offline  2 h ago
///   newest change: Ana Silva, took 4 ms to arrive, 12 s ago             q quit
/// ```
/// On small screens, header and footer are dropped first, then columns; the line with the connection and the dots stay
/// longest.
struct Screen: Sendable {
    let width: Int
    let height: Int
    let address: String

    init(width: Int, height: Int, address: String) {
        // The dot and its space are always shown.
        self.width = max(Columns.dot, width)
        self.height = max(1, height)
        self.address = address
    }

    private var hasHeader: Bool { height >= 5 }
    private var hasFooter: Bool { height >= 4 }
    private var hasTitle: Bool { height >= 2 }

    /// The number of users that fit.
    var rowCount: Int { height - (hasTitle ? 1 : 0) - (hasHeader ? 1 : 0) - (hasFooter ? 1 : 0) }

    /// Exactly `height` lines of at most `width` columns.
    func lines(of board: Board, viewport: Viewport, now: Date) -> [Line] {
        let table = Table(board, now: now, width: width)
        let range = viewport.range(count: board.rows.count, height: rowCount)
        var lines: [Line] = []
        if hasTitle { lines.append(title(board, now)) }
        if hasHeader { lines.append(table.header) }
        lines += board.rows[range].map(table.line)
        lines += Array(repeating: Line(), count: height - lines.count - (hasFooter ? 1 : 0))
        if hasFooter { lines.append(footer(board, range, now)) }
        return lines
    }

    private func title(_ board: Board, _ now: Date) -> Line {
        let connection = ConnectionText(board, now: now, address: address)
        let people = board.rows.count == 1 ? "1 person" : "\(board.rows.count) people"
        let count = people + Self.here(board)
        let left = [[("presence", Style.bold), (count, Style.plain)], [(count, Style.plain)], []]
        let style = Style(color: connection.color)
        let right = [("\(connection.dot) \(connection.text)", style)]
        // With the server's own staleness, both texts would be the same.
        let asOf = connection.short == "stale" ? nil : connection.asOf
        let long = [("\(connection.dot) \([connection.text, asOf].compactMap { $0 }.joined(separator: "; "))", style)]
        let short = [("\(connection.dot) \(connection.short)", style)]
        return Bar(width: width).line([
            (left[0], long), (left[1], long), (left[0], right), (left[1], right), (left[1], short), (left[2], right),
            (left[2], short),
        ])
    }

    /// The number of online users, as far as known.
    private static func here(_ board: Board) -> String {
        if board.isLive { return ", \(board.hereCount) here" }
        guard board.rows.contains(where: { $0.status != nil }) else { return "" }
        return ", \(board.hereCount) \(board.hereCount == 1 ? "was" : "were") here"
    }

    private func footer(_ board: Board, _ range: Range<Int>, _ now: Date) -> Line {
        var news = ""
        if let newest = board.newest {
            let age = Age(of: newest.arrival.receivedAt, at: now).ago
            news = "newest change: \(newest.name.text), took \(newest.arrival.latency.shortText) to arrive, \(age)"
        }
        let others =
            board.othersTyping.isEmpty ? "" : Label("typing: \(board.othersTyping.joined(separator: ", "))").text
        let isScrolled = range.count < board.rows.count
        let place = isScrolled ? "\(range.lowerBound + 1)–\(range.upperBound) of \(board.rows.count)" : ""
        let keys = isScrolled ? "↑↓ scroll  q quit" : "q quit"
        let latency = board.newest.map { "newest: \($0.arrival.latency.shortText)" } ?? ""
        func grey(_ parts: String...) -> [(String, Style)] { parts.filter { !$0.isEmpty }.map { ($0, .grey) } }
        return Bar(width: width).line([
            (grey(news, others), grey(place, keys)), (grey(news), grey(place, keys)), (grey(news), grey(place)),
            (grey(latency), grey(place, keys)), (grey(latency), grey(place)), (grey(latency), []), ([], grey(place)),
        ])
    }
}
