/// The channels that a subscriber follows beside its fixed ones, and which of them Redis has still to be told of.
///
/// Some are under way at a time (`window`), a batch in a command: so neither Redis' nor our buffers grow with their number, and
/// Redis serves others between two commands.
struct FollowedChannels {
    enum Confirmation { case followed, left }

    private enum Order {
        case follow([UInt8])
        case leave([UInt8])
    }

    private var names: Set<[UInt8]> = []
    /// Not sent yet, in order, from `head` on.
    private var waiting: [Order] = []
    private var head = 0
    /// Sent and not confirmed.
    private var sent = 0
    /// Of those that were followed when the connection was made, so many are not confirmed.
    private var unrestored = 0

    static let window = 2_048
    static let batch = 512

    var count: Int { names.count }
    var underWay: Int { sent + waiting.count - head }
    /// What was followed before the connection was made is followed again.
    var isRestored: Bool { unrestored == 0 }

    /// Without a connection nothing waits: the next one begins with all of them.
    mutating func follow(_ name: [UInt8], isConnected: Bool) {
        names.insert(name)
        if isConnected { waiting.append(.follow(name)) }
    }

    mutating func leave(_ name: [UInt8], isConnected: Bool) {
        names.remove(name)
        if isConnected { waiting.append(.leave(name)) }
    }

    /// There is another connection, which knows nothing yet.
    mutating func restart() {
        sent = 0
        head = 0
        waiting = names.map { .follow($0) }
        unrestored = waiting.count
    }

    /// The next command, if there is one and not too many are under way.
    mutating func next() -> [RedisArgument]? {
        guard head < waiting.count, sent + Self.batch <= Self.window else { return nil }
        var words: [RedisArgument] = []
        var isLeaving = false
        while head < waiting.count, words.count < Self.batch {
            switch waiting[head] {
            case .follow(let name):
                guard words.isEmpty || !isLeaving else { return command(words, isLeaving) }
                isLeaving = false
                words.append(.bytes(name))
            case .leave(let name):
                guard words.isEmpty || isLeaving else { return command(words, isLeaving) }
                isLeaving = true
                words.append(.bytes(name))
            }
            head += 1
        }
        if head == waiting.count {
            waiting.removeAll(keepingCapacity: waiting.count <= 4_096)
            head = 0
        }
        return command(words, isLeaving)
    }

    private mutating func command(_ names: [RedisArgument], _ isLeaving: Bool) -> [RedisArgument] {
        sent += names.count
        return [.string(isLeaving ? "UNSUBSCRIBE" : "SUBSCRIBE")] + names
    }

    mutating func confirm(_ what: Confirmation) {
        sent -= 1
        // They are the first that are sent, and nothing is left before it is confirmed.
        if what == .followed, unrestored > 0 { unrestored -= 1 }
    }
}
