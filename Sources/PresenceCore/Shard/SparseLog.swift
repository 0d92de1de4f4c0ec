import PresenceProtocol

/// Events that clients can cause at will: at most one line a second for each kind, with the number of events. Otherwise
/// a client could fill a disk.
package struct SparseLog {
    /// By the event's name: the number of events since the last line, and when the next line may be written.
    private var events: [String: (count: Int, next: Milliseconds)] = [:]
    private static let pause: Milliseconds = 1_000

    package init() {}

    /// Counts an event.
    ///
    /// - Returns: The number for a line that is due now; `nil` if none is due.
    package mutating func count(_ event: String, at now: Milliseconds) -> Int? {
        let (count, next) = events[event] ?? (0, .min)
        guard now >= next else {
            events[event] = (count + 1, next)
            return nil
        }
        events[event] = (0, now + Self.pause)
        return count + 1
    }
}
