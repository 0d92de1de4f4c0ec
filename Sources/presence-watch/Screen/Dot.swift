import PresenceKit
import TerminalClients

/// The sign in front of a person. Its shape tells as much as its colour, for those who see no colours.
enum Dot {
    static func of(_ row: BoardRow, isLive: Bool) -> (String, Style) {
        if row.isRefused { return ("✕", Style(color: .red)) }
        guard isLive, let status = row.status else { return ("◌", .grey) }
        return (shape(of: status), Style(color: color(of: status)))
    }

    static func color(of status: PresenceStatus) -> Style.Color {
        switch status {
        case .online: .green
        case .away: .yellow
        case .busy: .red
        case .offline: .grey
        }
    }

    private static func shape(of status: PresenceStatus) -> String {
        switch status {
        case .online: "●"
        case .away: "◐"
        case .busy: "⊖"
        case .offline: "○"
        }
    }
}
