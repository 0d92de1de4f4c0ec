import EventLoops

/// The share of a loop's turn that new clients and HTTP calls may use. A crowd of them is spread over many turns, so
/// that connected clients wait for milliseconds, not for the whole crowd.
struct TurnShare {
    /// The number of connections that each turn handles, however long the turn has lasted.
    private static let least = 8
    /// In µs: until then, a turn handles further connections.
    private static let longest: Int64 = 2_000

    private var turn: UInt64 = 0
    private var taken = 0

    /// Counts another connection, if this turn has room for it.
    mutating func admit(_ loop: EventLoop) -> Bool {
        if turn != loop.turnNumber { (turn, taken) = (loop.turnNumber, 0) }
        guard taken < Self.least || loop.turnTook < Self.longest else { return false }
        taken += 1
        return true
    }
}

extension WebSocketServer {
    /// Counts another connection without a WebSocket, if this turn has room to accept it or read from it. Postponed
    /// connections have priority.
    func takesTurn() -> Bool { postponed.isEmpty && share.admit(loop) }

    /// Reads the connection's input in one of the next turns.
    func postpone(_ socket: SocketID, _ http: HTTPConnection) {
        http.pauseInput()
        postponed.append(socket)
        loop.execute {}
    }

    /// Reads postponed connections at the end of the turn, in order, as many as the turn has room for.
    func advancePostponed() {
        guard !postponed.isEmpty else { return }
        let sockets = postponed
        postponed = []
        for (place, socket) in sockets.enumerated() {
            guard share.admit(loop) else {
                postponed = Array(sockets[place...])
                // The loop starts another turn without waiting.
                return loop.execute {}
            }
            advance(socket)
        }
    }
}
