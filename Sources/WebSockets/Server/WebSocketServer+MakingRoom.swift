import CLibWebSockets

/// Makes room when there are too many connections without a WebSocket.
extension WebSocketServer {
    /// The time, in ms, to wait for a handshake to end before the next search for slow ones.
    static let roomDelay: Int64 = 100

    /// Ends the connections without a WebSocket that have waited longest for their peers, a sixteenth of the limit at a
    /// time. The first to end are those that have had a fair time for a handshake or a request, or have read nothing of
    /// an answer for that long; then those that are kept between two requests, which clients can open again. Returns
    /// whether there is room then.
    ///
    /// Streamed answers have time limits of their own (`WebSocketServer+Streaming`). They make room only while they
    /// take more than half of the limit, so that places are left for other connections.
    ///
    /// The search visits all connections, but runs at most once in `roomDelay` unless it ends many connections.
    func makeRoom() -> Bool {
        guard loop.now >= nextLookForRoom else { return false }
        nextLookForRoom = loop.now + Self.roomDelay
        let latest = loop.now - configuration.handshakeTimeout / 5
        var overdue: [(since: Int64, socket: SocketID)] = []
        var kept: [(since: Int64, socket: SocketID)] = []
        var (streams, silent): (Int, [(since: Int64, socket: SocketID)]) = (0, [])
        for index in table.entries.indices {
            guard !table.entries[index].isSettled, !table.entries[index].isDoomed,
                let extras = table.entries[index].extras, let http = extras.http
            else { continue }
            if http.isStreaming {
                streams += 1
                if http.outflow?.isReading != true, http.movedAt <= latest {
                    silent.append((http.movedAt, table.id(index)))
                }
            } else if let since = http.waitsForPeer(since: extras.since), since <= latest {
                overdue.append((since, table.id(index)))
            } else if http.isBetweenRequests {
                kept.append((extras.since, table.id(index)))
            }
        }
        silent.sort { $0.since < $1.since }
        overdue += silent.prefix(max(0, streams - configuration.maxHandshakes / 2))
        let candidates = overdue.sorted { $0.since < $1.since } + kept.sorted { $0.since < $1.since }
        for (_, socket) in candidates.prefix(max(1, configuration.maxHandshakes / 16)) {
            guard let index = table.index(socket) else { continue }
            counters.handshakesDisplaced += 1
            kill(index)
        }
        guard table.unsettledCount < configuration.maxHandshakes else { return false }
        nextLookForRoom = 0
        return true
    }

    /// Called after a successful handshake.
    func resumeAfterHandshake() {
        guard roomRetry?.isSet == true else { return }
        resumeAccepting()
    }
}
