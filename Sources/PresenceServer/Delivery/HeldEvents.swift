import PresenceProtocol

/// The events that a queue has taken and not settled: of each subject one is being sent, and the later ones wait behind it.
struct HeldEvents {
    /// Bytes of those that are sent or wait.
    private(set) var bytes = 0
    private var ids: Set<String> = []
    /// By subject of which an event is being sent: the events behind it.
    private var behind: [String: [LeasedEvent]] = [:]
    /// By subject: how many of its events are on their way back to Redis. A later one must not pass them.
    private var returning: [String: Int] = [:]

    /// With so many events a subject gets no more: those of a call that hangs must not fill the room of all.
    static let mostOfSubject = 8

    var count: Int { ids.count }
    var calls: Int { behind.count }
    /// Subjects of which no further events can be used.
    var closed: [String] {
        behind.filter { $0.value.count + 1 >= Self.mostOfSubject }.map(\.key) + returning.keys
    }

    func contains(_ id: String) -> Bool { ids.contains(id) }
    /// Whether nothing of a subject is held.
    func isFree(_ subject: String) -> Bool { behind[subject] == nil && returning[subject] == nil }

    enum Place { case first, behind, returned }

    /// - Parameter isOpen: Whether events are still sent.
    /// - Returns: Whether the event is to be sent now, waits behind others, or must be returned to the queue.
    mutating func add(_ taken: LeasedEvent, isOpen: Bool) -> Place {
        let subject = taken.event.subject
        ids.insert(taken.event.id)
        guard isOpen, returning[subject] == nil else { return .returned }
        bytes += taken.event.body.count
        guard behind[subject] == nil else {
            behind[subject]?.append(taken)
            return .behind
        }
        behind[subject] = []
        return .first
    }

    /// An entry that is no event.
    mutating func add(damaged id: String) { ids.insert(id) }

    /// The event of a subject after this one; `nil` if there is none.
    mutating func next(after taken: LeasedEvent) -> LeasedEvent? {
        let subject = taken.event.subject
        bytes -= taken.event.body.count
        guard behind[subject]?.isEmpty == false else {
            behind[subject] = nil
            return nil
        }
        return behind[subject]?.removeFirst()
    }

    /// Takes all that are not being sent.
    mutating func takeWaiting() -> [LeasedEvent] {
        let waiting = behind.values.flatMap(\.self)
        for subject in behind.keys { behind[subject] = [] }
        bytes -= waiting.reduce(0) { $0 + $1.event.body.count }
        return waiting
    }

    mutating func giveBack(_ taken: LeasedEvent) { returning[taken.event.subject, default: 0] += 1 }

    /// Whether an earlier event of a subject is on its way back.
    func isReturning(_ subject: String) -> Bool { returning[subject] != nil }

    /// Redis has these outcomes, or never gets them.
    mutating func remove(_ settled: [QueueSettlement]) {
        for settlement in settled {
            ids.remove(settlement.id)
            guard let count = settlement.returned.flatMap({ returning[$0] }) else { continue }
            returning[settlement.returned!] = count > 1 ? count - 1 : nil
        }
    }
}
