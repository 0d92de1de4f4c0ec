import PresenceProtocol

/// The app's pending calls: their deadlines, and messages that are still to be sent for them.
struct Calls: Sendable {
    private let timeout: Duration
    private var deadlines: [CallID: Duration] = [:]
    /// Calls that wait for the first connection, or for earlier calls in their lane.
    private var deferred: [(id: CallID, call: Call)] = []
    /// Messages to repeat while their call is pending, once there is a connection and `due` has passed.
    private var repeats: [CallID: Repetition] = [:]
    /// When the turn of the last rate-limited request begins.
    private var lastTurn = Duration.zero - Calls.pace

    struct Repetition: Sendable {
        let message: Outgoing
        var due: Duration
        /// Whether an earlier attempt may have succeeded.
        let outcomeUnknown: Bool
        /// The error of the earlier attempt.
        let error: PresenceError?
    }

    /// The distance between rate-limited repetitions. At 50 a second they stay within any server's rate.
    private static let pace = Duration.milliseconds(20)

    init(timeout: Duration) {
        self.timeout = timeout
    }

    /// The pending calls, oldest first.
    var ids: [CallID] { deadlines.keys.sorted() }

    var isEmpty: Bool { deadlines.isEmpty }

    mutating func begin(_ id: CallID, at uptime: Duration) {
        deadlines[id] = uptime + timeout
    }

    /// Ends a call; returns false if it had ended before, because only the first result counts.
    mutating func end(_ id: CallID) -> Bool {
        guard deadlines.removeValue(forKey: id) != nil else { return false }
        repeats[id] = nil
        deferred.removeAll { $0.id == id }
        return true
    }

    func isWaiting(_ id: CallID) -> Bool { deadlines[id] != nil }

    // MARK: Calls to send

    /// Whether a call of this lane waits to be sent or repeated.
    func occupies(_ lane: Lane) -> Bool {
        deferred.contains { $0.call.lane == lane } || repeats.values.contains { $0.message.request?.lane == lane }
    }

    /// Whether a call of this lane that is older than the one with this number waits to be sent or repeated.
    func hasCall(in lane: Lane, before number: UInt64) -> Bool {
        deferred.contains { $0.call.lane == lane && $0.id.number < number }
            || repeats.contains { $0.value.message.request?.lane == lane && $0.key.number < number }
    }

    mutating func wait(_ id: CallID, _ call: Call) {
        deferred.append((id, call))
    }

    mutating func takeDeferred() -> [(id: CallID, call: Call)] {
        defer { deferred = [] }
        return deferred
    }

    // MARK: Repetitions

    /// The calls whose creations are repeated, oldest first.
    var repeating: [CallID] { repeats.filter { $0.value.outcomeUnknown }.keys.sorted() }

    func isRepeating(_ id: CallID) -> Bool { repeats[id]?.outcomeUnknown == true }

    /// The outcome of a creation is unknown: it is requested again.
    mutating func repeatLater(_ creation: Creation, _ id: CallID, due: Duration) {
        guard deadlines[id] != nil else { return }
        var creation = creation
        creation.isRepeated = true
        repeats[id] = Repetition(message: creation.message(for: id), due: due, outcomeUnknown: true, error: nil)
    }

    /// The server rejected the message because of its rate limit: the message is repeated at the time that the server
    /// named.
    mutating func pace(_ message: Outgoing, _ id: CallID, _ error: PresenceError, at uptime: Duration) {
        guard deadlines[id] != nil else { return }
        let due = uptime + turn(of: error, at: uptime).delay
        repeats[id] = Repetition(message: message, due: due, outcomeUnknown: false, error: error)
    }

    /// The same for requests that are not repeated here: the error contains the time of their turn.
    mutating func turn(of error: PresenceError, at uptime: Duration) -> PresenceError {
        guard error.code == .rateLimited else { return error }
        lastTurn = max(uptime, lastTurn + Self.pace)
        var error = error
        error.retryAfter = error.delay + lastTurn - uptime
        return error
    }

    /// Takes the rate-limited calls, which do not wait for a connection.
    mutating func takePaced() -> [CallID] {
        let paced = repeats.filter { !$0.value.outcomeUnknown }.keys.sorted()
        for id in paced { repeats[id] = nil }
        return paced
    }

    /// The messages to repeat now.
    mutating func takeRepeats(at uptime: Duration) -> [Outgoing] {
        let due = repeats.filter { $0.value.due <= uptime }.sorted { $0.key < $1.key }
        for (id, _) in due { repeats[id] = nil }
        return due.map { $0.value.message }
    }

    // MARK: Time

    /// The calls whose deadline has passed.
    func late(at uptime: Duration) -> [CallID] {
        deadlines.filter { $0.value <= uptime }.keys.sorted()
    }

    /// The error of a call whose deadline has passed.
    func lateness(of id: CallID) -> PresenceError {
        repeats[id]?.error ?? PresenceError(.timedOut, "no answer within \(timeout)")
    }

    func nextDeadline(whileConnected isConnected: Bool) -> Duration? {
        let answer = deadlines.values.min()
        guard isConnected, let again = repeats.values.map(\.due).min() else { return answer }
        return min(again, answer ?? again)
    }
}

extension Creation {
    func message(for call: CallID) -> Outgoing {
        Outgoing(.createConversation(participants: participants, key: key), .createConversation(self, call))
    }
}
