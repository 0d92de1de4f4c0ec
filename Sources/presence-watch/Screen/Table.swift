import Foundation
import PresenceKit
import TerminalClients

/// The users of a board as lines: the dot, the user, and their status.
struct Table: Sendable {
    let board: Board
    /// By the server's clock.
    let now: Date
    let columns: Columns

    /// How long a change is shown in bold, in seconds.
    private static let news: TimeInterval = 2
    private static let mostOfName = 28, mostOfID = 20, mostOfText = 60, mostOfDevices = 22
    /// The maximum width of ages and latencies, so that nothing moves when they change.
    private static let ageWidth = 10, latencyWidth = 6, statusWidth = 7

    /// - Parameter width: the width of the whole line; `nil` if unlimited.
    init(_ board: Board, now: Date, width: Int?) {
        self.board = board
        self.now = now
        var natural: [Columns.Column: Int] = [
            .name: 4, .status: Self.statusWidth, .since: Self.ageWidth, .text: 4, .devices: 7,
            .delay: Self.latencyWidth,
        ]
        // On a screen, space is reserved, so that columns do not move when users change.
        if width != nil { natural.merge([.name: 20, .text: Self.mostOfText, .devices: 15]) { $1 } }
        for row in board.rows {
            let id = row.id.width == 0 ? 0 : max(2, row.id.width)
            natural[.name] = max(natural[.name]!, min(row.name.width, Self.mostOfName))
            natural[.id] = max(natural[.id] ?? 0, min(id, Self.mostOfID))
            natural[.text] = max(natural[.text]!, min(Self.remark(on: row, board).width, Self.mostOfText))
            natural[.devices] = max(natural[.devices]!, min(row.devices.width, Self.mostOfDevices))
        }
        columns = Columns(natural: natural, width: width)
    }

    /// The titles of the columns.
    var header: Line {
        var line = Line()
        line.skip(columns.margin + Columns.dot)
        for (index, column) in columns.shown.enumerated() {
            if index > 0 { line.skip(Columns.gap) }
            line.append(Label(column.title), to: columns[column], Style(color: .grey))
        }
        return line
    }

    func line(for row: BoardRow) -> Line {
        var line = Line()
        line.skip(columns.margin)
        let isLive = row.freshness == .live && board.connection.state == .live
        let (dot, style) = Dot.of(row, isLive: isLive)
        line.append(dot, width: 1, style)
        line.skip(1)
        for (index, column) in columns.shown.enumerated() {
            if index > 0 { line.skip(Columns.gap) }
            let cell = cell(column, row)
            line.append(cell.label, to: columns[column], isLive ? cell.style : cell.style.faded)
        }
        return line
    }

    private func cell(_ column: Columns.Column, _ row: BoardRow) -> (label: Label, style: Style) {
        switch column {
        case .name:
            return (row.name, Style(color: row.isHere ? nil : .grey, isBold: isNews(row)))
        case .id: return (row.id, .grey)
        case .status: return status(row)
        case .since: return (Label(since(row)), row.isHere ? .plain : .grey)
        case .text:
            if isTyping(row) { return (Self.remark(on: row, board), .typing) }
            return (row.text, .plain)
        case .devices: return (row.devices, .grey)
        case .delay: return (Label(row.arrival?.latency.shortText ?? ""), .grey)
        }
    }

    private func status(_ row: BoardRow) -> (Label, Style) {
        // Without room for the text, typing is shown here.
        if isTyping(row), columns[.text] == 0 { return (Label("typing…"), .typing) }
        if row.isRefused { return (Label("refused"), Style(color: .red)) }
        guard let status = row.status else { return (Label("…"), .grey) }
        return (Label(status.rawValue), Style(color: Dot.color(of: status), isBold: isNews(row)))
    }

    private func since(_ row: BoardRow) -> String {
        guard row.status != nil else { return "" }
        if row.isRefused { return "" }
        guard let since = row.since else { return "never seen" }
        // The duration of a status is known only until it became stale; the time at which a user was last seen does not
        // change.
        if row.isHere { return Age(of: since, at: row.freshness?.staleSince ?? now).lasting }
        return Age(of: since, at: now).ago
    }

    private func isNews(_ row: BoardRow) -> Bool {
        row.arrival.map { now.timeIntervalSince($0.receivedAt) < Self.news } ?? false
    }

    private func isTyping(_ row: BoardRow) -> Bool { board.typing[row.user] != nil }

    /// Typing, with its place, followed by the status text.
    private static func remark(on row: BoardRow, _ board: Board) -> Label {
        guard let places = board.typing[row.user] else { return row.text }
        let place = board.watchesSeveralConversations ? " in \(places.joined(separator: ", "))" : ""
        return Label(row.text.width == 0 ? "typing\(place)…" : "typing\(place)…  \(row.text.text)")
    }
}

extension Style {
    fileprivate static let typing = Style(color: .cyan, isItalic: true)
}

extension Columns.Column {
    fileprivate var title: String {
        switch self {
        case .name: "NAME"
        case .id: "ID"
        case .status: "STATUS"
        case .since: "SINCE"
        case .text: "TEXT"
        case .devices: "DEVICES"
        case .delay: "DELAY"
        }
    }
}
