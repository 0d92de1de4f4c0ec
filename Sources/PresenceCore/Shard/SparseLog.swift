import PresenceProtocol

/// Events that clients can bring about as often as they ask: at most one line a second of each, which says how many it stands for.
/// Else a client could fill a disk.
package struct SparseLog {
    /// By the event's name: those since the last line, and when the next may be.
    private var events: [String: (count: Int, next: Milliseconds)] = [:]
    private static let pause: Milliseconds = 1_000

    package init() {}

    /// Something has happened.
    ///
    /// - Returns: How many the line that is due now stands for; `nil`: none is due.
    package mutating func note(_ event: String, at now: Milliseconds) -> Int? {
        let (count, next) = events[event] ?? (0, .min)
        guard now >= next else {
            events[event] = (count + 1, next)
            return nil
        }
        events[event] = (0, now + Self.pause)
        return count + 1
    }
}
