import Foundation
import PresenceKit
import TerminalClients

/// The whole terminal as lines, from content, size and scroll position: the same input gives the same picture.
///
/// ```text
///  Bob Ray   online                                          ● live
///  14:02 Bob  On my way                                       (edited)
///  14:03 you  See you there                                     Read
///  Bob is typing…
///  > Hello▏
/// ```
struct ChatScreen: Sendable {
    /// The content, without size and scroll position.
    struct Content: Hashable, Sendable {
        var title = ""
        /// The status of the other user, such as `online`.
        var subtitle = ""
        var connection = ConnectionState.idle
        var rows: [Row] = []
        var hasEarlier = false
        /// The typing users.
        var typing = ""
        /// An error or another message to the user.
        var notice: String?
        var isEditing = false
        var input = LineEditor()
    }

    /// One message.
    struct Row: Hashable, Sendable {
        var time: String
        var sender: String
        var isOwn: Bool
        var text: String
        var isDeleted = false
        var isEdited = false
        /// The reason for the priority, empty without one; `nil` without priority.
        var priority: String?
        /// The status beside a message of this user.
        var status: String?
        var isFailed = false
    }

    let width: Int
    let height: Int

    init(width: Int, height: Int) {
        self.width = max(20, width)
        self.height = max(4, height)
    }

    /// The number of message lines that fit.
    var historyHeight: Int { height - 3 }

    /// All lines of the messages, oldest first.
    func history(of content: Content) -> [Line] {
        let names = content.rows.map { Label($0.sender).width }.max() ?? 0
        let nameWidth = min(max(3, names), max(3, width / 5))
        return content.rows.flatMap { lines(of: $0, nameWidth: nameWidth) }
    }

    /// Exactly `height` lines of at most `width` columns.
    ///
    /// - Parameter scrolled: the number of message lines below the visible ones.
    func lines(of content: Content, scrolled: Int = 0) -> [Line] {
        let all = history(of: content)
        let scrolled = max(0, min(scrolled, all.count - historyHeight))
        let news = news(content, scrolled)
        let height = historyHeight + 1 - news.count
        let shown = all.dropLast(scrolled).suffix(height)
        let empty = Array(repeating: Line(), count: height - shown.count)
        return [title(content)] + empty + shown + news + [input(content)]
    }

    private func title(_ content: Content) -> Line {
        let (text, color) = Self.connection(content.connection)
        let dot = color == .green ? "●" : "◌"
        let right = [("\(dot) \(text)", Style(color: color))]
        let name = (Label(content.title).text, Style.bold)
        let subtitle = (Label(content.subtitle).text, Style.grey)
        return Bar(width: width).line([
            (content.subtitle.isEmpty ? [name] : [name, subtitle], right), ([name], right), ([], right),
        ])
    }

    private static func connection(_ state: ConnectionState) -> (String, Style.Color) {
        switch state {
        case .idle, .connecting: ("connecting", .yellow)
        case .live: ("live", .green)
        case .stale: ("stale", .yellow)
        case .reconnecting: ("reconnecting", .red)
        case .closed: ("closed", .red)
        }
    }

    /// Time, sender and text on as many lines as needed, with the message's status at the end of the last one.
    private func lines(of row: Row, nameWidth: Int) -> [Line] {
        let margin = row.time.count + 1 + nameWidth + 2
        let text = row.isDeleted ? "deleted" : row.text
        let style = row.isDeleted ? Style(color: .grey, isItalic: true) : .plain
        let priority = row.priority.map { $0.isEmpty ? "(priority)" : "(priority: \($0))" }
        let note = [priority, row.isEdited ? "(edited)" : nil, row.status].compactMap { $0 }.joined(separator: " ")
        var lines: [Line] = []
        for (index, piece) in Wrapping.lines(of: text, width: width - margin).enumerated() {
            var line = Line()
            if index == 0 {
                line.append(row.time + " ", .grey)
                line.append(Label(row.sender), to: nameWidth, Style(color: row.isOwn ? .green : .cyan))
                line.skip(2)
            } else {
                line.skip(margin)
            }
            line.append(piece.text, width: piece.width, style)
            lines.append(line)
        }
        guard !note.isEmpty else { return lines }
        let label = Label(note)
        let noteStyle = row.isFailed ? Style(color: .red) : Style.grey
        if lines[lines.count - 1].width + 2 + label.width <= width {
            lines[lines.count - 1].skip(2)
            lines[lines.count - 1].append(label.text, width: label.width, noteStyle)
        } else {
            var line = Line()
            line.skip(margin)
            line.append(label, to: width - margin, noteStyle)
            lines.append(line)
        }
        return lines
    }

    /// A notice takes precedence over typing; a mark shows that there is more below.
    ///
    /// A notice is shown completely, on as many lines as it needs.
    private func news(_ content: Content, _ scrolled: Int) -> [Line] {
        let text =
            content.notice ?? (content.isEditing ? "editing: Enter saves, Escape cancels" : content.typing)
        let style = content.notice == nil ? Style(color: .cyan, isItalic: true) : Style(color: .yellow)
        let places = [scrolled > 0 && content.hasEarlier ? "↑ more" : nil, scrolled > 0 ? "↓ \(scrolled) more" : nil]
        let below = places.compactMap { $0 }.map { ($0, Style.grey) }
        let pieces = content.notice == nil ? [] : Wrapping.lines(of: text, width: width - 2).prefix(historyHeight)
        guard pieces.count > 1 else {
            let left = text.isEmpty ? [] : [(Label(text).text, style)]
            return [Bar(width: width).line([(left, below), (left, []), (left, [])])]
        }
        return pieces.map { piece in
            var line = Line()
            line.skip(1)
            line.append(piece.text, width: piece.width, style)
            return line
        }
    }

    /// The end of the written line, at least up to the cursor.
    private func input(_ content: Content) -> Line {
        let before = content.input.text.prefix(content.input.cursor)
        let after = content.input.text.dropFirst(content.input.cursor)
        var shown = Label(String(before).replacing("\n", with: "⏎")).text
        // The prompt, the cursor, and a column at the edge.
        let room = width - 4
        while shown.displayWidth > room { shown.removeFirst() }
        var line = Line()
        line.append(content.isEditing ? "✎ " : "> ", .bold)
        line.append(shown)
        line.append("▏", Style(color: .green))
        let rest = Label(String(after).replacing("\n", with: "⏎"))
        if !rest.text.isEmpty, width - 1 > line.width { line.append(rest, to: min(rest.width, width - 1 - line.width)) }
        return line
    }
}
