/// The commands that wait for their answers, in the order in which they were sent, which is the order of Redis'
/// answers.
struct PendingCommands {
    typealias Reply = (Result<RedisValue, RedisFailure>) -> Void

    struct Command {
        let reply: Reply
        /// The offset of its first byte in the connection's output: if only bytes before this offset are written, the
        /// command was not sent.
        let start: UInt64
        /// Its length in bytes.
        let size: Int
        /// When it was submitted, on the loop's clock, in ms.
        let since: Int64
        /// When it was submitted, in µs, read once for all commands of a turn.
        let sentAt: Int64
    }

    /// A removed command leaves a hole, so no other one moves; holes are dropped when they are more than half.
    private var slots: [Command?] = []
    private var head = 0

    var count: Int { slots.count - head }
    /// The length of all commands together, in bytes.
    private(set) var bytes = 0
    var isEmpty: Bool { count == 0 }
    var oldest: Command? { head < slots.count ? slots[head] : nil }

    mutating func append(_ command: Command) {
        slots.append(command)
        bytes += command.size
    }

    mutating func takeFirst() -> Command? {
        guard head < slots.count else { return nil }
        let command = slots[head].take()
        head += 1
        bytes -= command?.size ?? 0
        if head == slots.count {
            slots.removeAll(keepingCapacity: slots.count <= 4_096)
            head = 0
        } else if head >= 1_024, head * 2 >= slots.count {
            slots.removeFirst(head)
            head = 0
        }
        return command
    }

    /// Empties the queue.
    mutating func takeAll() -> [Command] {
        defer { self = PendingCommands() }
        return slots[head...].compactMap(\.self)
    }
}
