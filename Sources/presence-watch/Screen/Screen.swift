import Foundation
import PresenceKit

/// The whole terminal as lines, from what is known, a size and a time: the same input gives the same picture.
///
/// ```text
///   presence   12 people, 7 here                    ● live from 127.0.0.1:4040
///     NAME       ID     STATUS   SINCE       TEXT              DEVICES   TOOK
///   ● Ana Silva  ana    online   for 3 min   In a meeting      phone     4 ms
///   ○ Bob        bob    offline  2 h ago
///   newest change: Ana Silva, took 4 ms, 12 s ago        1–2 of 2   q quits
/// ```
/// Header and footer give way when there are few lines, columns when the lines are short; the line on the connection
/// and the dots stay longest.
struct Screen: Sendable {
    let width: Int
    let height: Int
    let address: String

    init(width: Int, height: Int, address: String) {
        self.width = max(1, width)
        self.height = max(1, height)
        self.address = address
    }

    private var hasHeader: Bool { height >= 5 }
    private var hasFooter: Bool { height >= 4 }
    private var hasTitle: Bool { height >= 2 }

    /// How many people fit.
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
        let count = "\(people), \(board.hereCount) \(board.isLive ? "" : board.hereCount == 1 ? "was " : "were ")here"
        let left = [[("presence", Style.bold), (count, Style.plain)], [(count, Style.plain)], []]
        let right = [("\(connection.dot) \(connection.text)", connection.style)]
        let short = [("\(connection.dot) \(connection.short)", connection.style)]
        return fit([(left[0], right), (left[1], right), (left[1], short), (left[2], right), (left[2], short)])
    }

    private func footer(_ board: Board, _ range: Range<Int>, _ now: Date) -> Line {
        var news = ""
        if let newest = board.newest {
            let age = Age(of: newest.arrival.receivedAt, at: now).ago
            news = "newest change: \(newest.name.text), took \(newest.arrival.latency.shortText), \(age)"
        }
        let others =
            board.othersTyping.isEmpty ? "" : Label("typing: \(board.othersTyping.joined(separator: ", "))").text
        let isScrolled = range.count < board.rows.count
        let place = isScrolled ? "\(range.lowerBound + 1)–\(range.upperBound) of \(board.rows.count)" : ""
        let keys = isScrolled ? "↑↓ scroll  q quit" : "q quit"
        let latency = board.newest.map { "took \($0.arrival.latency.shortText)" } ?? ""
        func grey(_ parts: String...) -> [(String, Style)] { parts.filter { !$0.isEmpty }.map { ($0, .grey) } }
        return fit([
            (grey(news, others), grey(place, keys)), (grey(news), grey(place, keys)), (grey(news), grey(place)),
            (grey(latency), grey(place, keys)), (grey(latency), grey(place)), (grey(latency), []), ([], grey(place)),
        ])
    }

    /// The first pair of a left and a right end that fits into the line; if none does, the last one, cut.
    private func fit(_ choices: [(left: [(String, Style)], right: [(String, Style)])]) -> Line {
        let margin = width >= 60 ? 1 : 0
        let gap = 3
        func measure(_ parts: [(String, Style)]) -> Int {
            parts.map(\.0.displayWidth).reduce(0, +) + max(0, parts.count - 1) * gap
        }
        var line = Line()
        line.skip(margin)
        for (left, right) in choices {
            let used = measure(left) + measure(right) + (left.isEmpty || right.isEmpty ? 0 : gap)
            guard used + 2 * margin <= width else { continue }
            add(left, gap, to: &line)
            if !left.isEmpty { line.skip(width - 2 * margin - measure(left) - measure(right)) }
            add(right, gap, to: &line)
            return line
        }
        guard let last = choices.last, let part = (last.left + last.right).first else { return line }
        line.append(Label(part.0), to: width - margin, part.1)
        return line
    }

    private func add(_ parts: [(String, Style)], _ gap: Int, to line: inout Line) {
        for (index, part) in parts.enumerated() {
            if index > 0 { line.skip(gap) }
            line.append(part.0, part.1)
        }
    }
}
