import PresenceKit

/// The state of the connection as a JSON object.
struct ConnectionRecord: Encodable, Hashable, Sendable {
    var type = "connection"
    /// `idle`, `connecting`, `live`, `stale`, `reconnecting` or `closed`.
    var state: String
    /// With `stale`: since when, in milliseconds since 1970.
    var since: Int64?
    /// With `reconnecting`: the time until the next attempt, in milliseconds.
    var retryIn: Double?
    /// With `reconnecting` and `closed`: the reason.
    var reason: String?

    init(_ connection: ConnectionState) {
        switch connection {
        case .idle: state = "idle"
        case .connecting: state = "connecting"
        case .live: state = "live"
        case .stale(let since):
            state = "stale"
            self.since = since.milliseconds
        case .reconnecting(let delay, let error):
            state = "reconnecting"
            retryIn = delay.milliseconds.rounded()
            reason = error.description
        case .closed(let error):
            state = "closed"
            reason = error?.description
        }
    }
}
