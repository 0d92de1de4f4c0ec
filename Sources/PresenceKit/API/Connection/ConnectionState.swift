import Foundation

/// State of the client's one connection.
///
/// ```text
///   idle ──first use──▶ connecting ──▶ live ◀──▶ stale
///                        ▲   │          │          │
///                        │   ▼          ▼          │
///                      reconnecting ◀──────────────┘      any ──refused, ended──▶ closed
/// ```
public enum ConnectionState: Codable, Hashable, Sendable {
    /// The client has not been used yet.
    case idle
    /// The client is fetching a token or connecting.
    case connecting
    /// Connected; the server sends every change at once.
    case live
    /// Connected, but since that time (server's clock) the server may have missed changes. It serves the data that it
    /// has in memory.
    case stale(since: Date)
    /// Not connected. The next attempt starts after the given delay, counted from the start of this state.
    case reconnecting(in: Duration, because: PresenceError)
    /// Not connected, and the client does not retry until ``PresenceClient/connect()``. `nil`: the app disconnected.
    case closed(PresenceError?)

    /// The state as text for a log.
    var sentence: String {
        switch self {
        case .idle: "idle"
        case .connecting: "connecting"
        case .live: "connected"
        case .stale(let since): "connected to a server that may have missed changes since \(since)"
        case .reconnecting(let delay, let error): "not connected, trying again in \(delay): \(error)"
        case .closed(let error): "closed: \(error.map(\.description) ?? "by the app")"
        }
    }

    /// Whether there is a connection, live or stale.
    public var isConnected: Bool {
        switch self {
        case .live, .stale: true
        case .idle, .connecting, .reconnecting, .closed: false
        }
    }
}
