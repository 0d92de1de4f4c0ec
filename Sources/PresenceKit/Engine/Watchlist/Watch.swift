/// The state of the subscription to one user or conversation, and the number of its observers.
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
        /// The server could not answer; to be requested again at that uptime.
        case later(Duration)
        /// Rejected by the server or by the limit of subscriptions. `room`: it may be requested again when another
        /// subscription ends.
        case refused(PresenceError, room: Bool)
    }

    private(set) var stage = Stage.unasked
    private(set) var observers = 0
    /// If there are no observers: the uptime until which the subscription stays.
    private var leavesAt: Duration?

    var refusal: PresenceError? {
        if case .refused(let error, _) = stage { error } else { nil }
    }

    // MARK: Observers

    mutating func join() {
        observers += 1
        leavesAt = nil
    }

    mutating func leave(at uptime: Duration) {
        precondition(observers > 0, "an observer left twice")
        observers -= 1
        if observers == 0 { leavesAt = uptime }
    }

    /// Whether there were no observers for the grace period; without a time, whether there are none.
    func isOver(at uptime: Duration?) -> Bool {
        guard observers == 0 else { return false }
        guard let uptime, let leavesAt else { return true }
        return leavesAt <= uptime
    }

    // MARK: The subscription

    func waits(at uptime: Duration) -> Bool {
        if case .later(let due) = stage { due > uptime } else { false }
    }

    var canBeAsked: Bool {
        switch stage {
        case .unasked, .later: true
        case .asked, .watched, .refused: false
        }
    }

    mutating func ask() { stage = .asked }

    /// The server has answered.
    mutating func answered() { stage = .watched }

    /// The server could not answer, or rejected the subscription.
    mutating func refuse(_ error: PresenceError, at uptime: Duration) {
        stage = error.isPassing ? .later(uptime + error.delay) : .refused(error, room: false)
    }

    /// The connection has no room for another subscription.
    mutating func refuse(forRoom error: PresenceError) { stage = .refused(error, room: true) }

    /// There is room again; returns whether this subscription was waiting for it.
    mutating func readmit() -> Bool {
        guard case .refused(_, room: true) = stage else { return false }
        stage = .unasked
        return true
    }

    /// The connection has ended.
    mutating func reset() { stage = .unasked }

    /// When the state must be checked next.
    func nextDeadline(whileConnected isConnected: Bool) -> Duration? {
        if observers == 0 { return leavesAt }
        if isConnected, case .later(let uptime) = stage { return uptime }
        return nil
    }
}
