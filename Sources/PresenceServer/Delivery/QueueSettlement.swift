import PresenceCore
import PresenceProtocol

/// An event that a queue has taken to call its receiver.
struct TakenEvent {
    let event: QueuedEvent
    /// By the queue's clock: when it was due.
    let due: Int64
    /// By the shard's clock.
    let takenAt: Milliseconds
}

/// The outcome of a taken event: a row of `queue-settle.lua`.
struct QueueSettlement {
    let id: String
    let outcome: Outcome
    /// When it is due again (`again`), or the pause until then (`failed`).
    var when: Int64 = 0
    var reason = ""

    enum Outcome: String {
        case taken, failed, givenUp, unwanted, again
    }

    var words: [any ScriptArgument] { [id, outcome.rawValue, when, reason] }
    /// For the log.
    var shownReason: String { outcome == .unwanted ? reason + ": it is switched off" : reason }
}
