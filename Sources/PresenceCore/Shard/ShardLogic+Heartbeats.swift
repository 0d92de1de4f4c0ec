import PresenceProtocol

/// What falls due for a connection: pings, their timeout, a `connect` that does not come, the end of its token.
extension ShardLogic {
    /// The longest that the loop sleeps: `tick` comes at least so often.
    static let longestSleep: Milliseconds = 250

    /// Whatever falls due for a connection: one entry each, however often something changes.
    func heartbeat(_ connection: Connection) {
        guard !connection.isClosed, clock.now >= connection.nextLook else { return }
        let settings = configuration.heartbeat
        var silentUntil = connection.lastHeard + settings.interval + settings.timeout
        if clock.now >= silentUntil {
            // Not every sign of life is reported, an empty pong is not: the kernel has the last word.
            if let silence = sockets.silence(of: connection.socket) {
                connection.lastHeard = max(connection.lastHeard, clock.now - silence)
            }
            silentUntil = connection.lastHeard + settings.interval + settings.timeout
            if clock.now >= silentUntil { return lose(connection) }
        }
        var next = silentUntil
        // A token that is being verified has come in time.
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
        look(at: connection, min(next, connection.nextPing))
    }

    /// An interval from now, or up to a 128th of it earlier: pings that fall due together cost one turn of the loop, and
    /// so do their answers, which is most of what an idle connection costs.
    var nextPing: Milliseconds {
        let interval = configuration.heartbeat.interval
        let beat = max(1, interval / 128)
        return max(clock.now + 1, (clock.now + interval) / beat * beat)
    }

    package func look(at connection: Connection, _ time: Milliseconds) {
        connection.nextLook = time
        if time == connection.nextPing {
            deadlines.set(beatOf: connection.socket, at: time)
        } else {
            deadlines.set(.heartbeat(connection.socket), at: time)
        }
    }

    /// Dead by silence: its session lingers. If it is there after all, it took nothing: it was not even pinged.
    private func lose(_ connection: Connection) {
        if connection.congestedSince != nil { return close(connection, .tooSlow) }
        close(connection, .goingAway, reason: "no answer to pings")
    }

    /// The clients were not silent while the loop stood still (SIGSTOP, a stalled machine): it was deaf. Those that have gone
    /// meanwhile may have said something else elsewhere, and been acknowledged: what is left of them here is not carried out.
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
