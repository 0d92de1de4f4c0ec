import PresenceProtocol

/// The app's calls that wait for an answer: until when, and what has to be sent for them yet.
struct Calls: Sendable {
    private let timeout: Duration
    private var deadlines: [CallID: Duration] = [:]
    /// Calls that wait for the first connection, or for those before them in their lane.
    private var deferred: [(id: CallID, call: Call)] = []
    /// What is asked for again, as long as its call waits: as soon as there is a connection and `due` has come.
    private var repeats: [CallID: Repetition] = [:]
    /// When the last one of them is due that the server found too fast.
    private var lastPaced = Duration.zero

    struct Repetition: Sendable {
        let message: Outgoing
        var due: Duration
        /// Whether it may have been done before.
        let outcomeUnknown: Bool
        /// Why it was not.
        let error: PresenceError?
    }

    /// What the server found too fast comes again one by one: so many a second are within any server's rate.
    private static let pace = Duration.milliseconds(20)

    init(timeout: Duration) {
        self.timeout = timeout
    }

    /// The calls that wait, oldest first.
    var ids: [CallID] { deadlines.keys.sorted() }

    mutating func begin(_ id: CallID, at uptime: Duration) {
        deadlines[id] = uptime + timeout
    }

    /// Ends a call; whether it waited: the first answer counts.
    mutating func end(_ id: CallID) -> Bool {
        guard deadlines.removeValue(forKey: id) != nil else { return false }
        repeats[id] = nil
        deferred.removeAll { $0.id == id }
        return true
    }

    func isWaiting(_ id: CallID) -> Bool { deadlines[id] != nil }

    // MARK: What waits to be sent

    /// Whether a call of this lane waits to be sent, or to be sent again.
    func occupies(_ lane: Lane) -> Bool {
        deferred.contains { $0.call.lane == lane } || repeats.values.contains { $0.message.request?.lane == lane }
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

    /// A creation's outcome is unknown: it is asked for again.
    mutating func repeatLater(_ creation: Creation, _ id: CallID, due: Duration) {
        guard deadlines[id] != nil else { return }
        var creation = creation
        creation.isRepeated = true
        repeats[id] = Repetition(message: creation.message(for: id), due: due, outcomeUnknown: true, error: nil)
    }

    /// The server found it too fast, and did nothing: it is asked for again when the server said.
    mutating func pace(_ message: Outgoing, _ id: CallID, _ error: PresenceError, at uptime: Duration) {
        guard deadlines[id] != nil else { return }
        lastPaced = max(uptime + error.delay, lastPaced + Self.pace)
        repeats[id] = Repetition(message: message, due: lastPaced, outcomeUnknown: false, error: error)
    }

    /// The calls that are paced: without a connection they do not wait.
    mutating func takePaced() -> [CallID] {
        let paced = repeats.filter { !$0.value.outcomeUnknown }.keys.sorted()
        for id in paced { repeats[id] = nil }
        return paced
    }

    /// What to ask for again now.
    mutating func takeRepeats(at uptime: Duration) -> [Outgoing] {
        let due = repeats.filter { $0.value.due <= uptime }.sorted { $0.key < $1.key }
        for (id, _) in due { repeats[id] = nil }
        return due.map { $0.value.message }
    }

    // MARK: Time

    /// The calls whose time is up.
    func late(at uptime: Duration) -> [CallID] {
        deadlines.filter { $0.value <= uptime }.keys.sorted()
    }

    /// Why a call whose time is up was not answered.
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
