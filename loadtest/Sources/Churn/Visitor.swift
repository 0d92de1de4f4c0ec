import PresenceProtocol

/// One person of a churn: their line, how they last came and went, and what their screen shows, which outlives lines.
struct Visitor {
    enum Line: Equatable {
        case none
        /// From the dialling up to the answer to their subscription.
        case opening(ConnectionID)
        case open(ConnectionID)
    }

    var line = Line.none
    /// Counts arrivals, so that what was planned for an earlier visit finds nobody.
    var visit = 0
    /// When the line being opened, or open, was due to be dialled.
    var dialled = Instant(nanoseconds: 0)
    /// Answers to subscriptions that have not come.
    var unanswered = 0
    /// The visit is to end as soon as it has begun in full.
    var isToLeave = false

    /// When this visit was due to begin; nil once their line was lost, since then others see nothing of a return.
    var came: Instant?
    /// When they left with a goodbye.
    var went: Instant?
    /// When they lost their line, if that is how they are away, or were.
    var lost: Instant?
    /// They are back, or will be, from a lost line before linger ends.
    var isReturning = false
    /// The server's time when this visit began for it.
    var visible: Timestamp?

    var shown: [Int: Shown] = [:]
}
