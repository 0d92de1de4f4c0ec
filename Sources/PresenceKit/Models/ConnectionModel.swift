import Observation

/// The state of the connection for a banner.
@MainActor @Observable
public final class ConnectionModel {
    /// The latest state received by ``run()``.
    public private(set) var state = ConnectionState.idle

    private let client: PresenceClient

    /// Creates a model; it is empty until ``run()``.
    public init(_ client: PresenceClient) {
        self.client = client
    }

    /// Whether there is a connection, live or stale.
    public var isConnected: Bool { state.isConnected }

    /// A line for users; `nil` if there is nothing to report.
    public var banner: String? {
        switch state {
        case .idle, .live, .closed(nil): nil
        case .connecting: Sentence.connecting.text()
        case .stale: Sentence.catchingUp.text()
        case .reconnecting: Sentence.reconnecting.text()
        case .closed(let error?):
            [error.errorDescription, error.recoverySuggestion].compactMap(\.self).joined(separator: " ")
        }
    }

    /// Whether to show a retry button.
    public var canRetry: Bool {
        switch state {
        case .reconnecting, .closed(.some): true
        case .idle, .connecting, .live, .stale, .closed(nil): false
        }
    }

    /// Tries to connect now.
    public func retry() {
        if case .closed = state { client.connect() } else { client.reconnectNow() }
    }

    /// Observes the connection until its task is cancelled.
    public func run() async {
        for await state in client.connectionStates { self.state = state }
    }
}
