import PresenceCore
import PresenceProtocol

/// An event that a queue has taken to call its receiver.
struct LeasedEvent {
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
    /// When it is due again (`again`), or the pause until then (`failed`, `later`).
    var when: Int64 = 0
    var reason = ""
    /// The subject of an event that is given back.
    var returned: String?

    enum Outcome: String {
        case delivered, failed, givenUp, unwanted, again, later
    }

    var words: [any ScriptArgument] { [id, outcome.rawValue, when, reason] }
    /// For the log.
    var shownReason: String { outcome == .unwanted ? reason + ": it is switched off" : reason }
}

/// The reply of `queue-take.lua`: one look at the queue.
struct QueueTaken {
    /// ms until the next event is due; `nil` if there is none.
    let wait: Int64?
    /// The first row that the look did not reach.
    let end: QueueLooks.Row
    /// Whether no row behind it is due.
    let isAll: Bool
    /// Subjects that were passed over, each with its first row.
    private(set) var passed: [String: QueueLooks.Row] = [:]
    private(set) var events: [(id: String, due: Int64, value: [UInt8])] = []

    /// `nil` if the receiver is off.
    init?(_ reply: ScriptReply) {
        guard reply.word == "OK" else { return nil }
        func row(_ due: Int, _ id: Int) -> QueueLooks.Row {
            QueueLooks.Row(due: reply[due].string.flatMap { Double($0) } ?? -.infinity, id: reply[id].string ?? "")
        }
        (wait, end, isAll) = (reply[1].int, row(2, 3), reply[4].string == "ALL")
        let begin = 6 + 3 * Int(reply[5].int ?? 0)
        for place in stride(from: 6, to: begin, by: 3) { passed[reply[place].string ?? ""] = row(place + 1, place + 2) }
        for place in stride(from: begin, to: reply.count - 2, by: 3) {
            guard let id = reply[place].string else { continue }
            events.append((id, reply[place + 1].int ?? 0, reply[place + 2].bytes ?? []))
        }
    }
}
