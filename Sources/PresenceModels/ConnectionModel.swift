import Observation
import PresenceKit

/// How the connection is, as a banner shows it.
@MainActor @Observable
public final class ConnectionModel {
    /// How the connection is, as ``run()`` heard it last.
    public private(set) var state = ConnectionState.idle

    private let service: any ConnectionService

    /// Makes a model that shows nothing before ``run()``.
    public init(_ service: any ConnectionService) {
        self.service = service
    }

    /// Whether there is a connection, live or stale.
    public var isConnected: Bool { state.isConnected }

    /// A line for people; `nil` while there is nothing to say.
    public var banner: String? {
        switch state {
        case .idle, .live, .closed(nil): nil
        case .connecting: "Connecting…"
        case .stale: "The server is catching up."
        case .reconnecting: "No connection. Trying again…"
        case .closed(let error?):
            [error.errorDescription, error.recoverySuggestion].compactMap(\.self).joined(separator: " ")
        }
    }

    /// Whether a button to try again makes sense.
    public var canRetry: Bool {
        switch state {
        case .reconnecting, .closed(.some): true
        case .idle, .connecting, .live, .stale, .closed(nil): false
        }
    }

    /// Tries to connect now.
    public func retry() {
        if case .closed = state { service.connect() } else { service.reconnectNow() }
    }

    /// Follows the connection until its task is cancelled.
    public func run() async {
        for await state in service.connectionStates { self.state = state }
    }
}
