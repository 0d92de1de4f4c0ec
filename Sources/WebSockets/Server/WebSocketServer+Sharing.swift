import EventLoops

/// What new clients and HTTP calls may take of a turn of the loop: a crowd of them is spread over many turns, so that clients
/// who are there already wait for milliseconds, not for the whole crowd.
struct TurnShare {
    /// So many are taken in each turn, however long it has lasted.
    private static let least = 8
    /// In µs: more are taken until then.
    private static let longest: Int64 = 2_000

    private var turn: UInt64 = 0
    private var taken = 0

    /// Takes one more, if this turn has room for it.
    mutating func take(_ loop: EventLoop) -> Bool {
        if turn != loop.turnNumber { (turn, taken) = (loop.turnNumber, 0) }
        guard taken < Self.least || loop.turnTook < Self.longest else { return false }
        taken += 1
        return true
    }
}

extension WebSocketServer {
    /// Counts one more connection that is no WebSocket, if this turn has room for it to be accepted or read from. Those that
    /// were postponed come first.
    func takesTurn() -> Bool { postponed.isEmpty && share.take(loop) }

    /// What came from it is read in one of the next turns.
    func postpone(_ socket: SocketID, _ http: HTTPConnection) {
        http.pauseInput()
        postponed.append(socket)
        loop.execute {}
    }

    /// At the end of the turn: in the order in which they came, as many as it has room for.
    func advancePostponed() {
        guard !postponed.isEmpty else { return }
        let sockets = postponed
        postponed = []
        for (place, socket) in sockets.enumerated() {
            guard share.take(loop) else {
                postponed = Array(sockets[place...])
                // The loop comes round again without waiting.
                return loop.execute {}
            }
            advance(socket)
        }
    }
}
