/// Deadlines with the same delay: in a queue, each costs O(1).
///
/// (libwebsockets' own timers are in one sorted list, so more waiting connections make each handshake slower.) Deletion
/// is lazy: the code that takes an entry checks whether it still applies.
struct DeadlineQueue {
    private var entries: [(due: Int64, socket: SocketID)] = []
    private var head = 0
    private let delay: Int64

    /// - Parameter delay: in milliseconds.
    init(delay: Int64) {
        self.delay = delay
    }

    /// The time of the first deadline, in monotonic milliseconds.
    var next: Int64? { head < entries.count ? entries[head].due : nil }

    mutating func add(_ socket: SocketID, now: Int64) {
        entries.append((now + delay, socket))
    }

    /// Adds a deadline that may be earlier than queued ones; the cost grows with the number of later deadlines.
    mutating func add(_ socket: SocketID, due: Int64) {
        var place = entries.count
        while place > head, entries[place - 1].due > due { place -= 1 }
        entries.insert((due, socket), at: place)
    }

    /// The number of deadlines.
    var count: Int { entries.count - head }

    /// Removes and returns the connection of a deadline that is due, nil if none is.
    mutating func take(now: Int64) -> SocketID? {
        guard head < entries.count, entries[head].due <= now else { return nil }
        defer {
            head += 1
            if head > 1024 && head * 2 > entries.count {
                entries.removeFirst(head)
                head = 0
            }
        }
        return entries[head].socket
    }
}
