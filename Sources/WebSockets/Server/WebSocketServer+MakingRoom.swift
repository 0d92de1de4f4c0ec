import CLibWebSockets

/// What happens when too many connections are no WebSockets.
extension WebSocketServer {
    /// How long, in ms, it is waited for a handshake to end before it is looked again for those that take too long.
    static let roomDelay: Int64 = 100

    /// Ends those of the connections without a WebSocket that have waited longest for their peers, a sixteenth of the
    /// limit at a time: first those that have had their fair time for a handshake or a request, or have taken nothing of an
    /// answer for so long; then those that are kept between two requests, which can be made again. Whether there is room then.
    ///
    /// Answers that are given in pieces have a time of their own for each of them (`WebSocketServer+Streaming`). Only those beyond
    /// half of the limit make room like others, so that they leave places.
    ///
    /// It looks at all connections, but only once for so many that it ends, or in `roomDelay`.
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

    /// A handshake has ended well.
    func resumeAfterHandshake() {
        guard roomRetry?.isSet == true else { return }
        resumeAccepting()
    }
}
