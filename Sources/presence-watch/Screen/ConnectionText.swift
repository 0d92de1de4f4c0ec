import Foundation
import PresenceKit

/// What the board's connection is like, in words that claim no more than is known.
struct ConnectionText: Hashable, Sendable {
    let text: String
    /// For where there is no room: a word.
    let short: String
    let dot: String
    let style: Style

    /// - Parameter now: by the server's clock.
    init(_ board: Board, now: Date, address: String) {
        let asOf = board.staleSince.map { "; shown as of \(Age(of: $0, at: now).ago)" } ?? ""
        switch board.connection.state {
        case .idle, .connecting:
            self.init("connecting to \(address)\(asOf)", short: "connecting", "◌", Style(color: .yellow))
        case .live where board.staleSince != nil || !board.isComplete:
            self.init("connected, catching up\(asOf)", short: "catching up", "◌", Style(color: .yellow))
        case .live:
            self.init("live from \(address)", short: "live", "●", Style(color: .green))
        case .stale(let since):
            let age = Age(of: since, at: now).text
            self.init(
                "stale: the server itself lost sight of what is true \(age) ago", short: "stale", "◌",
                Style(color: .yellow))
        case .reconnecting(let delay, let reason):
            let left = delay - .seconds(now.timeIntervalSince(board.connection.since))
            let when = left > .seconds(1) ? "in \(Int((left / .seconds(1)).rounded(.up))) s" : "now"
            self.init(
                "reconnecting \(when): \(reason.message)\(asOf)", short: "reconnecting", "◌", Style(color: .red))
        case .closed(let reason):
            self.init("closed: \(reason?.message ?? "left")\(asOf)", short: "closed", "◌", Style(color: .red))
        }
    }

    private init(_ text: String, short: String, _ dot: String, _ style: Style) {
        self.text = Label(text).text
        self.short = short
        self.dot = dot
        self.style = style
    }
}
