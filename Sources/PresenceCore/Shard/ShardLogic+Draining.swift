import PresenceProtocol

/// Sending clients away: to another server, or for a while.
extension ShardLogic {
    /// How long clients may be told to wait: shorter than linger, spread so that they do not come at once.
    private var waits: ClosedRange<Milliseconds> {
        let longest = max(2, configuration.linger * 6 / 10)
        return longest / 10...longest
    }

    func reconnectAdvice() -> String {
        #"{"reconnectAfter":\#(Milliseconds.random(in: waits, using: &random))}"#
    }

    /// The server goes: every client is told when to come back, each at a time of its own, before its linger is over. A
    /// drain that is to take longer closes their connections one after the other; the others go on meanwhile.
    package func drain() {
        isDraining = true
        let leaving = watchers.connections.compactMap { $0 }
        for (index, connection) in leaving.enumerated() {
            func part(of whole: Milliseconds) -> Milliseconds {
                whole * Milliseconds(index) / Milliseconds(leaving.count)
            }
            // No two the same, here or on the process' other shards, as far as there are milliseconds enough.
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
