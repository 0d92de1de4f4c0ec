/// The channels that a subscriber follows in addition to its fixed ones, and the changes that Redis has not confirmed.
///
/// At most `window` changes are pending, sent in batches: so neither Redis' buffers nor ours grow with the number of
/// channels, and Redis serves other clients between two commands.
struct FollowedChannels {
    enum Confirmation { case followed, left }

    private enum Order {
        case follow([UInt8])
        case leave([UInt8])
    }

    private var names: Set<[UInt8]> = []
    /// Changes that are not sent yet, in order, starting at `head`.
    private var waiting: [Order] = []
    private var head = 0
    /// The number of changes that were sent and are not confirmed.
    private var sent = 0
    /// The number of channels that were followed before the connection was made, and are not confirmed on it yet.
    private var unrestored = 0

    static let window = 2_048
    static let batch = 512

    var count: Int { names.count }
    var underWay: Int { sent + waiting.count - head }
    /// Whether all channels that were followed before the connection was made are confirmed on it.
    var isRestored: Bool { unrestored == 0 }

    /// Without a connection no change waits: the next connection begins with all channels.
    mutating func follow(_ name: [UInt8], isConnected: Bool) {
        names.insert(name)
        if isConnected { waiting.append(.follow(name)) }
    }

    mutating func leave(_ name: [UInt8], isConnected: Bool) {
        names.remove(name)
        if isConnected { waiting.append(.leave(name)) }
    }

    /// There is a new connection, without any subscription.
    mutating func restart() {
        sent = 0
        head = 0
        waiting = names.map { .follow($0) }
        unrestored = waiting.count
    }

    /// The next command, if a change waits and not too many are pending.
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
        // Channels from before the connection are sent first, and none of them is left before it is confirmed.
        if what == .followed, unrestored > 0 { unrestored -= 1 }
    }
}
