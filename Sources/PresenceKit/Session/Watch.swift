/// How far the subscription to one person or conversation is.
///
/// ```text
///          ┌──────────── unsubscribe ────────────┐
///          ▼                                     │
///   ┌─▶ unasked ──subscribe──▶ asked ──answer──▶ watched
///   │      ▲                     │
///   │      └──── retry time ── later ◀─ "unavailable" ┤
///   │                         refused ◀─ "forbidden" ─┘
///   └── from all of them, when the connection is lost
/// ```
struct Watch: Sendable {
    enum Stage: Hashable, Sendable {
        case unasked
        case asked
        case watched
        /// The server could not answer; to be asked again at that uptime.
        case later(Duration)
        /// The server, or the limit of subscriptions, said no. `room`: it may be asked again when another one ends.
        case refused(PresenceError, room: Bool)
    }

    var stage = Stage.unasked
    /// How many loops look at it.
    var loops = 0
    /// When nobody looks any more: the uptime until which it stays.
    var leavesAt: Duration?

    /// Whether it takes one of the connection's subscriptions.
    var isOnServer: Bool { stage == .asked || stage == .watched }

    var refusal: PresenceError? {
        if case .refused(let error, _) = stage { error } else { nil }
    }

    mutating func join() {
        loops += 1
        leavesAt = nil
    }

    mutating func leave(at uptime: Duration) {
        precondition(loops > 0, "a loop left twice")
        loops -= 1
        if loops == 0 { leavesAt = uptime }
    }
}
