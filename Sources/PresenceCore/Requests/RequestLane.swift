/// The earlier requests for which a request has to wait, so that the requests of one connection take effect in the
/// order in which they were sent.
package enum RequestOrder {
    /// One script on the user's own presence, or memory only: it is sent at once, which preserves its order.
    case immediate
    /// A read: it sees the effects of earlier requests, and may run beside other reads.
    case question
    /// A mark: marks only move forward, so several may run at once.
    case mark
    /// Any other change: nothing runs beside it.
    case change
}

/// The order of one connection's requests.
///
/// Requests make different numbers of round trips before the script that decides them, so concurrent requests would overtake
/// each other. In a lane, a request begins once those before it are decided, that is, when their replies are known or
/// earlier (`RequestTurn`). A read waits for the replies: it may be answered from the shard's memory, which has a change
/// when the reply is sent.
///
/// A message whose request may not begin yet is held together with all later ones (`HeldMessages`), so
/// `limits.pendingRequests` bounds a lane, and it ends with its connection. A lane without running requests costs two
/// comparisons.
struct RequestLane {
    /// The order of the running requests; only reads and marks may run several at once.
    private var order = RequestOrder.immediate
    private var underWay = 0
    /// Decided requests whose replies are still to come.
    private var unanswered = 0
    /// The order of the first held message.
    private var waiting: RequestOrder?

    /// Whether messages are held behind a request that waits for its turn.
    var isWaiting: Bool { waiting.map { !hasRoom(for: $0) } ?? false }

    /// Whether a request may begin now. If not, it waits, and later messages are held.
    mutating func mayBegin(_ next: RequestOrder) -> Bool {
        let hasRoom = hasRoom(for: next)
        waiting = hasRoom ? nil : next
        return hasRoom
    }

    private func hasRoom(for next: RequestOrder) -> Bool {
        guard unanswered == 0 || next != .question else { return false }
        return underWay == 0 || next == .immediate || (next == order && next != .change)
    }

    mutating func begin(_ order: RequestOrder) {
        underWay += 1
        self.order = order
    }

    mutating func proceed(_ step: LaneStep) {
        switch step {
        case .decided:
            underWay -= 1
            unanswered += 1
        case .answered: unanswered -= 1
        case .decidedAndAnswered: underWay -= 1
        }
    }
}

/// A step of a request that runs.
enum LaneStep {
    case decided, answered, decidedAndAnswered
}

/// A request's turn in its lane: over once it is decided.
package final class RequestTurn {
    fileprivate var isOver = false
    fileprivate var proceed: ((LaneStep) -> Void)?

    /// Allows the connection's next changes to begin although the reply is still to come.
    package func decided() {
        guard !isOver else { return }
        isOver = true
        proceed?(.decided)
    }

    fileprivate func answered() {
        proceed?(isOver ? .answered : .decidedAndAnswered)
        isOver = true
    }
}

extension ShardLogic {
    /// Carries out a request that its lane has admitted; if `act` does not reply at once, the request runs until it is
    /// decided.
    func begin(_ order: RequestOrder, on connection: Connection, bytes: Int, _ act: (RequestTurn) -> Void) {
        let turn = RequestTurn()
        guard order != .immediate || bytes >= PendingShares.least else { return act(turn) }
        let last = connection.replies.last
        act(turn)
        guard !turn.isOver, let reply = connection.replies.last, reply !== last, reply.emit == nil else { return }
        let user = bytes >= PendingShares.least ? connection.session?.user.id : nil
        if let user { pendingShares.add(bytes, of: user) }
        if order != .immediate { connection.lane.begin(order) }
        turn.proceed = { [unowned self, unowned connection] step in
            if step != .answered, let user { pendingShares.add(-bytes, of: user) }
            guard order != .immediate else { return }
            connection.lane.proceed(step)
            handleHeld(of: connection)
        }
        reply.decided = { turn.answered() }
    }
}
