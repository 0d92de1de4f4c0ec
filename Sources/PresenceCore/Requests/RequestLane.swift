/// What a request has to wait for, so that the requests of one connection take effect in the order in which they were sent.
package enum RequestOrder {
    /// One script of the user's own presence, or nothing but memory: it is handed over at once and keeps its place by that.
    case immediate
    /// A question: it sees what was said before it, and may be asked beside other questions.
    case question
    /// A mark: marks only move forward, so several may be under way.
    case mark
    /// Any other change: nothing is under way beside it.
    case change
}

/// The order of one connection's requests.
///
/// Each request makes another number of round trips before the script that decides it, so requests that are begun side by side
/// overtake each other. In a lane, a request begins once those before it are decided, which is when their answers are known.
///
/// A message whose request may not begin yet is held with all that comes behind it (`HeldMessages`), so
/// `limits.pendingRequests` bounds a lane, and it ends with its connection. A lane with nothing under way costs one comparison.
struct RequestLane {
    /// Of what is under way; one at a time, but for questions and marks.
    private var order = RequestOrder.immediate
    private var underWay = 0
    /// Of the first message that is held for its turn.
    private var waiting: RequestOrder?

    /// Whether what comes on the connection is held behind a request that waits for its turn.
    var isWaiting: Bool { waiting.map { !hasRoom(for: $0) } ?? false }

    /// Whether a request may begin now. If not, it waits: what comes behind it is held.
    mutating func admits(_ next: RequestOrder) -> Bool {
        let hasRoom = hasRoom(for: next)
        waiting = hasRoom ? nil : next
        return hasRoom
    }

    private func hasRoom(for next: RequestOrder) -> Bool {
        underWay == 0 || next == .immediate || (next == order && next != .change)
    }

    mutating func begin(_ order: RequestOrder) {
        underWay += 1
        self.order = order
    }

    mutating func end() { underWay -= 1 }
}

/// A request's turn in its lane: over once it is decided.
package final class RequestTurn {
    fileprivate var isOver = false
    fileprivate var end: (() -> Void)?

    /// What follows on its connection may begin, though the answer waits for more. At the latest the answer says so.
    package func decided() {
        guard !isOver else { return }
        isOver = true
        end?()
        end = nil
    }
}

extension ShardLogic {
    /// Carries out a request that its lane has let in; what `act` leaves unanswered is under way until it is decided.
    func begin(_ order: RequestOrder, on connection: Connection, bytes: Int, _ act: (RequestTurn) -> Void) {
        let turn = RequestTurn()
        guard order != .immediate || bytes >= PendingShares.least else { return act(turn) }
        let last = connection.replies.last
        act(turn)
        guard !turn.isOver, let reply = connection.replies.last, reply !== last, reply.emit == nil else { return }
        let user = bytes >= PendingShares.least ? connection.session?.user.id : nil
        if let user { pendingShares.add(bytes, of: user) }
        if order != .immediate { connection.lane.begin(order) }
        turn.end = { [unowned self, unowned connection] in
            if let user { pendingShares.add(-bytes, of: user) }
            guard order != .immediate else { return }
            connection.lane.end()
            handleHeld(of: connection)
        }
        reply.decided = { turn.decided() }
    }
}
