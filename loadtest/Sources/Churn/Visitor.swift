import PresenceProtocol

/// One person of a churn: their connection, their last arrival and departure, and the state of their screen, which
/// outlives connections.
struct Visitor {
    enum Line: Equatable {
        case none
        /// From dialling to the answer to their subscription.
        case opening(ConnectionID)
        case open(ConnectionID)
    }

    var line = Line.none
    /// Counts arrivals, so that plans of an earlier visit have no effect.
    var visit = 0
    /// When the current connection was due to be dialled.
    var dialled = Instant(nanoseconds: 0)
    /// Subscriptions without an answer.
    var unanswered = 0
    /// Whether the visit must end as soon as it has begun completely.
    var isToLeave = false

    /// When this visit was due to begin; nil after a lost connection, since others do not see the return.
    var came: Instant?
    /// When they left with a goodbye.
    var went: Instant?
    /// When they lost their connection, if that is how they last left.
    var lost: Instant?
    /// Whether they are or will be back from a lost connection before linger ends.
    var isReturning = false
    /// The server's time of the beginning of this visit.
    var visible: Timestamp?

    var shown: [Int: Shown] = [:]
}
