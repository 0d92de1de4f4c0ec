import PresenceProtocol

/// Closes connections with advice when to reconnect: to another server, or later.
extension ShardLogic {
    /// The advised delays: shorter than linger, spread so that clients do not reconnect all at once.
    private var waits: ClosedRange<Milliseconds> {
        let longest = max(2, configuration.linger * 6 / 10)
        return longest / 10...longest
    }

    func reconnectAdvice() -> String {
        #"{"reconnectAfter":\#(Milliseconds.random(in: waits, using: &random))}"#
    }

    /// The server is stopping: each client gets its own time to reconnect, before its linger is over. A drain with a
    /// duration closes the connections one by one; the others continue meanwhile.
    package func drain() {
        isDraining = true
        for feature in features { feature.drain() }
        let leaving = watchers.connections.compactMap { $0 }
        for (index, connection) in leaving.enumerated() {
            func part(of whole: Milliseconds) -> Milliseconds {
                whole * Milliseconds(index) / Milliseconds(leaving.count)
            }
            // All different, also from the delays of the process' other shards, as far as there are enough
            // milliseconds.
            let spread = waits.lowerBound + part(of: waits.upperBound - waits.lowerBound)
            let wait = max(1, spread / place.of * place.of + place.number)
            if configuration.drain.duration == 0 {
                sendAway(connection, reconnectAfter: wait)
            } else {
                departures += 1
                deadlines.set(
                    .departure(connection.socket, reconnectAfter: wait),
                    at: clock.now + part(of: configuration.drain.duration))
            }
        }
    }

    func sendAway(_ connection: Connection, reconnectAfter wait: Milliseconds) {
        close(connection, .serviceRestart, reason: #"{"reconnectAfter":\#(wait)}"#)
    }
}
