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

/// Whether clients come in a crowd. Then turns are a millisecond apart: each has several of them to take in, and its share of
/// a turn costs each less: waking up, and a call to read from Redis and to write to it. Nobody in a crowd notices a
/// millisecond.
struct Crowd {
    /// In ms.
    private static let window: Int64 = 10
    /// So many in a window are a crowd.
    private static let many = 16
    /// Between two turns, in µs.
    static let pace: Int64 = 1_000

    private var began: Int64 = 0
    private var arrived = 0
    private(set) var isThere = false

    /// One more client has come.
    mutating func arrive(now: Int64) {
        look(now: now)
        arrived += 1
        if arrived >= Self.many { isThere = true }
    }

    /// At the end of each turn.
    mutating func look(now: Int64) {
        guard now - began >= Self.window else { return }
        // Of a window that is long over nothing is known of the one before this.
        isThere = arrived >= Self.many && now - began < 2 * Self.window
        (began, arrived) = (now, 0)
    }
}

extension WebSocketServer {
    /// Turns begin a while apart when a crowd comes, and one after the other when it is in.
    func paceTurns() {
        crowd.look(now: loop.now)
        loop.pace = crowd.isThere ? Crowd.pace : 0
    }

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
