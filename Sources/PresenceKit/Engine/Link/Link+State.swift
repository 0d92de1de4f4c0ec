import Foundation

// The state of the link for the other parts and for the app.
extension Link {
    var isConnected: Bool { phase == .connected }

    var isClosed: Bool {
        if case .closed = phase { true } else { false }
    }

    /// Whether there is a transport, open or opening.
    var hasTransport: Bool {
        switch phase {
        case .dialling, .introducing, .connected: true
        case .idle, .fetchingToken, .waiting, .closed: false
        }
    }

    /// Whether there is a connection or an attempt that can end.
    var isUnderWay: Bool {
        switch phase {
        case .fetchingToken, .dialling, .introducing, .connected: true
        case .idle, .waiting, .closed: false
        }
    }

    /// Whether calls should not wait for a connection: an attempt failed, the first attempt takes long, or there will
    /// be no connection.
    var isAway: Bool {
        switch phase {
        case .waiting, .closed: true
        case .fetchingToken, .dialling, .introducing: hasFailed || isLate
        case .idle, .connected: false
        }
    }

    /// The state of the connection as the app sees it.
    var state: ConnectionState {
        switch phase {
        case .idle: .idle
        case .fetchingToken, .dialling, .introducing: .connecting
        case .connected: staleSince.map { .stale(since: $0) } ?? .live
        case .waiting(_, let delay, let error): .reconnecting(in: delay, because: error)
        case .closed(let error): .closed(error)
        }
    }

    /// The error of a call that cannot be made now.
    var whyAway: PresenceError {
        switch phase {
        case .closed(.some(let error)): error
        case .closed(nil): PresenceError(.notConnected, "the app disconnected")
        case .waiting(_, let delay, let error):
            PresenceError(.notConnected, "not connected: \(error.message)", retryAfter: delay)
        case .idle, .fetchingToken, .dialling, .introducing, .connected:
            PresenceError(.notConnected, "not connected")
        }
    }

    /// Why observed values are not updated: the client is closed until the app connects again.
    var closingProblem: PresenceError? { isClosed ? whyAway : nil }

    // MARK: Freshness

    /// The freshness of data that the server sends now.
    var freshness: Freshness {
        staleSince.map { .stale(since: $0) } ?? .live
    }

    /// The freshness of a stored value; `isConfirmed` is true if the server confirmed it on this connection.
    func freshness(isConfirmed: Bool, staleSince: Date?) -> Freshness {
        if isConfirmed, isConnected, staleSince == nil { return freshness }
        return .stale(since: staleSince ?? .distantPast)
    }

    /// The time until which stored values are known to be current, if the connection is lost `now`.
    func lastTruth(at now: Moment) -> Date {
        staleSince ?? clock.date(at: Moment(uptime: heartbeat.lastHeard, wall: now.wall))
    }
}
