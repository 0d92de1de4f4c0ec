import Foundation
import PresenceKit
import TerminalClients

/// The state of the board's connection in words.
struct ConnectionText: Hashable, Sendable {
    let text: String
    /// One word, for narrow screens.
    let short: String
    /// Since when shown values may be outdated; `nil` if they are current.
    let asOf: String?
    let dot: String
    let color: Style.Color

    /// - Parameter now: by the server's clock.
    init(_ board: Board, now: Date, address: String) {
        asOf = board.staleSince.map { "shown as of \(Age(of: $0, at: now).ago)" }
        let text: String
        switch board.connection.state {
        case .idle, .connecting:
            (text, short, color) = ("connecting to \(address)", "connecting", .yellow)
        case .live where board.staleSince != nil || !board.isComplete:
            (text, short, color) = ("connected, catching up", "catching up", .yellow)
        case .live:
            (text, short, color) = ("live from \(address)", "live", .green)
        case .stale(let since):
            let ago = Age(of: since, at: now).ago
            (text, short, color) = ("stale: the server lost its data source \(ago)", "stale", .yellow)
        case .reconnecting(let delay, let reason):
            let left = delay - .seconds(now.timeIntervalSince(board.connection.since))
            let when = left > .seconds(1) ? "in \(Int((left / .seconds(1)).rounded(.up))) s" : "now"
            (text, short, color) = ("reconnecting \(when): \(reason.message)", "reconnecting", .red)
        case .closed(let reason):
            (text, short, color) = ("closed: \(reason?.message ?? "left")", "closed", .red)
        }
        self.text = Label(text).text
        dot = short == "live" ? "●" : "◌"
    }
}
