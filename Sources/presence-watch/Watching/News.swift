import PresenceKit
import TerminalClients

/// What may happen to a watcher.
enum News: Sendable {
    case people(Roster)
    case typing(Typing)
    /// With the server's clock, as far as this connection knows it.
    case connection(ConnectionState, ServerTime)
    case terminal(TerminalEvent)
    /// A second has passed.
    case tick
}

/// Takes the news: the live table, the feed of lines, or the one that looks once.
@MainActor
protocol Audience: AnyObject, Sendable {
    /// Takes in what happened; not `nil` if that is the end.
    func take(_ news: News) async -> Outcome?
}
