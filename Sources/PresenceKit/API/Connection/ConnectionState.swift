import Foundation

/// How the one connection is.
///
/// ```text
///   idle ──first use──▶ connecting ──▶ live ◀──▶ stale
///                        ▲   │          │          │
///                        │   ▼          ▼          │
///                      reconnecting ◀──────────────┘      any ──refused, ended──▶ closed
/// ```
public enum ConnectionState: Codable, Hashable, Sendable {
    /// Nothing was asked of the client yet.
    case idle
    /// A token is being fetched or a connection made.
    case connecting
    /// Connected, and the server tells every change at once.
    case live
    /// Connected, but the server has lost sight of the truth since then (by its clock) and goes on with what it holds.
    case stale(since: Date)
    /// Not connected; the next attempt is made `in` that time, counted from when this state began.
    case reconnecting(in: Duration, because: PresenceError)
    /// Not connected, and no attempt will be made before ``PresenceClient/connect()``. `nil`: the app asked for it.
    case closed(PresenceError?)

    /// For a log.
    var sentence: String {
        switch self {
        case .idle: "idle"
        case .connecting: "connecting"
        case .live: "connected"
        case .stale(let since): "connected to a server that has had no news since \(since)"
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
