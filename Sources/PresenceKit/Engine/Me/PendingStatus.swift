import PresenceProtocol

/// The status that the app chose and the server has not acknowledged yet.
///
/// Several choices become one: the newest status, the newest text that was given, the newest time of clearing. That is
/// what the server would hold had it heard them one by one.
struct PendingStatus: Sendable {
    private var status: Wire.ChosenStatus
    private var text: Wire.Change<String>
    /// The uptime at which status and text are to be cleared.
    private var clearAt: Duration?
    /// The calls that wait for it.
    var calls: [CallID]
    /// Whether some of it was sent on a connection that broke before the answer.
    var wasSent = false

    /// The shortest `clearAfter` that the server takes.
    private static let shortestClearing: Milliseconds = 1_000

    init(_ change: StatusChange, call: CallID, at uptime: Duration) {
        status = change.status
        text = change.text
        clearAt = change.clearAfter.map { uptime + .milliseconds($0) }
        calls = [call]
    }

    /// Takes up a choice made after this one.
    mutating func append(_ newer: PendingStatus) {
        status = newer.status
        if newer.text != .keep { text = newer.text }
        clearAt = newer.clearAt
        calls += newer.calls
        wasSent = wasSent || newer.wasSent
    }

    /// What to send at `uptime`: the time that has passed since the choice is not given again.
    func change(at uptime: Duration) -> StatusChange {
        guard let clearAt else { return StatusChange(status: status, text: text) }
        guard clearAt > uptime else { return StatusChange(status: .auto, text: .remove) }
        let rest = max((clearAt - uptime).milliseconds, Self.shortestClearing)
        return StatusChange(status: status, text: text, clearAfter: rest)
    }

    func message(at uptime: Duration) -> Outgoing {
        Outgoing(.status(change(at: uptime)), .status(self))
    }
}
