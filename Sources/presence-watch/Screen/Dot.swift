import PresenceKit
import TerminalClients

/// The symbol in front of a user. Its shape has the same meaning as its colour, for users who do not see colours.
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
