import PresenceKit
import TerminalClients

/// An event for a watcher.
enum News: Sendable {
    case people(Roster)
    case typing(Typing)
    /// With the server's clock, as far as this connection knows it.
    case connection(ConnectionState, PresenceClient.ServerTime)
    case terminal(TerminalEvent)
    /// A second has passed.
    case tick
}

/// Receives events: the live table, the feed of lines, or the single look.
@MainActor
protocol Audience: AnyObject, Sendable {
    /// Handles an event; returns an outcome to end.
    func handle(_ news: News) async -> Outcome?
}
