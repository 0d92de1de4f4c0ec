import PresenceProtocol

/// A connection's deadlines: pings, their timeout, a missing `connect`, the expiry of its token.
extension ShardLogic {
    /// The longest that the loop sleeps: `tick` is called at least this often.
    static let longestSleep: Milliseconds = 250

    /// Checks all deadlines of a connection, which share one entry however often they change.
    func heartbeat(_ connection: Connection) {
        guard !connection.isClosed, clock.now >= connection.nextLook else { return }
        let settings = configuration.heartbeat
        var silentUntil = connection.lastHeard + settings.interval + settings.timeout
        if clock.now >= silentUntil {
            // The kernel knows, because not everything received is reported here: an empty pong is not.
            if let silence = sockets.silence(of: connection.socket) {
                connection.lastHeard = max(connection.lastHeard, clock.now - silence)
            }
            silentUntil = connection.lastHeard + settings.interval + settings.timeout
            if clock.now >= silentUntil { return lose(connection) }
        }
        var next = silentUntil
        // A token that is being verified has arrived in time.
        if connection.session == nil, !connection.isVerifying {
            let end = connection.began + configuration.connectTimeout
            if clock.now >= end { return close(connection, .noConnect) }
            next = min(next, end)
        }
        if let tokenDue = checkToken(connection) { next = min(next, tokenDue) }
        guard !connection.isClosed else { return }
        if clock.now >= connection.nextPing {
            connection.nextPing = nextPing
            if connection.congestedSince == nil { sockets.ping(connection.socket) }
        }
        scheduleCheck(of: connection, min(next, connection.nextPing))
    }

    /// An interval from now, or up to a 128th of an interval earlier. Pings that are due together cost one turn of the
    /// loop, and so do their pongs; these turns are most of the cost of an idle connection.
    var nextPing: Milliseconds {
        let interval = configuration.heartbeat.interval
        let beat = max(1, interval / 128)
        return max(clock.now + 1, (clock.now + interval) / beat * beat)
    }

    package func scheduleCheck(of connection: Connection, _ time: Milliseconds) {
        connection.nextLook = time
        if time == connection.nextPing {
            deadlines.set(beatOf: connection.socket, at: time)
        } else {
            deadlines.set(.heartbeat(connection.socket), at: time)
        }
    }

    /// A connection timed out: its session lingers. A congested connection was not even pinged, since it accepted
    /// nothing.
    private func lose(_ connection: Connection) {
        if connection.congestedSince != nil { return close(connection, .tooSlow) }
        close(connection, .goingAway, reason: "no answer to pings")
    }

    /// While the loop was suspended (SIGSTOP, a stalled machine) it could not read, so the clients' deadlines are
    /// extended by the pause. Clients that have disconnected meanwhile may have made later requests elsewhere, which
    /// were acknowledged: their requests here are dropped.
    func stoodStill(for gap: Milliseconds) {
        log("the loop stood still", ["ms": "\(gap)"])
        standstills += 1
        for case let connection? in watchers.connections {
            connection.began += gap
            connection.lastHeard += gap
            connection.nextPing += gap
            guard !connection.isClosed, sockets.hasHungUp(connection.socket) else { continue }
            connection.isDeserted = true
            dropHeld(of: connection)
        }
    }
}
