/// Deadlines that all lie equally far in the future when they are set: a queue, so that each costs O(1).
///
/// (libwebsockets' own timers stand in one sorted list, which makes each handshake slower the more connections wait.)
/// A stale entry is not removed; the code that takes it checks whether it still means something.
struct DeadlineQueue {
    private var entries: [(due: Int64, socket: SocketID)] = []
    private var head = 0
    private let delay: Int64

    /// - Parameter delay: in milliseconds.
    init(delay: Int64) {
        self.delay = delay
    }

    /// When the first one falls due, in monotonic milliseconds.
    var next: Int64? { head < entries.count ? entries[head].due : nil }

    mutating func add(_ socket: SocketID, now: Int64) {
        entries.append((now + delay, socket))
    }

    /// One that falls due earlier than one that is added now: takes as long as there are later ones.
    mutating func add(_ socket: SocketID, due: Int64) {
        var place = entries.count
        while place > head, entries[place - 1].due > due { place -= 1 }
        entries.insert((due, socket), at: place)
    }

    /// How many there are.
    var count: Int { entries.count - head }

    /// Takes one that is due, nil if none is.
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
