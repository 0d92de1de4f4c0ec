/// How far the subscription to one person or conversation is, and how many observers want it.
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

    private(set) var stage = Stage.unasked
    private(set) var observers = 0
    /// When there are no observers: the uptime until which it stays.
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

    /// Whether there were no observers for so long that it can go; without a time, whether there are none.
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

    /// The server could not, or would not, answer.
    mutating func refuse(_ error: PresenceError, at uptime: Duration) {
        stage = error.isPassing ? .later(uptime + error.delay) : .refused(error, room: false)
    }

    /// The connection has no room for another subscription.
    mutating func refuse(forRoom error: PresenceError) { stage = .refused(error, room: true) }

    /// There is room again; whether that concerns this one.
    mutating func readmit() -> Bool {
        guard case .refused(_, room: true) = stage else { return false }
        stage = .unasked
        return true
    }

    /// The connection is gone.
    mutating func reset() { stage = .unasked }

    /// When its stage needs a look.
    func nextDeadline(whileConnected isConnected: Bool) -> Duration? {
        if observers == 0 { return leavesAt }
        if isConnected, case .later(let uptime) = stage { return uptime }
        return nil
    }
}
