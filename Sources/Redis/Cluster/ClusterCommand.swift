/// A command on its way to the master that serves its slot, and what it needs to be sent again elsewhere.
final class ClusterCommand {
    enum Work {
        case words([RedisArgument])
        case script(RedisScript, keys: [RedisArgument], arguments: [RedisArgument])
    }

    let work: Work
    /// Answered only once replicas have what it changed.
    let isAcknowledged: Bool
    /// About how many bytes it has.
    let size: Int
    /// The order in which commands were given.
    let number: UInt64
    /// ms on the loop's clock.
    let since: Int64
    let reply: RedisConnection.Reply
    /// How often it was sent elsewhere.
    var redirections = 0
    /// Why it was not run the last time.
    var refusal: RedisFailure?

    init(
        _ work: Work, isAcknowledged: Bool, number: UInt64, since: Int64, reply: @escaping RedisConnection.Reply
    ) {
        self.work = work
        self.isAcknowledged = isAcknowledged
        size =
            switch work {
            case .words(let words): words.encodedLength
            case .script(_, let keys, let arguments): 64 + keys.encodedLength + arguments.encodedLength
            }
        self.number = number
        self.since = since
        self.reply = reply
    }

    /// `isAsking`: the connection's node does not have the slot yet, and takes what belongs to it for this once.
    func send(on connection: RedisConnection, isAsking: Bool, reply: @escaping RedisConnection.Reply) {
        if isAsking { connection.send(["ASKING"]) { _ in } }
        switch work {
        case .words(let words): connection.send(words, reply: reply)
        case .script(let script, let keys, let arguments) where isAsking:
            connection.evaluate(script, keys: keys, arguments: arguments, reply: reply)
        case .script(let script, let keys, let arguments):
            connection.run(script, keys: keys, arguments: arguments, reply: reply)
        }
    }
}

/// The commands of one slot.
///
/// As long as its master takes them, they are sent as they come. As soon as one is sent elsewhere, the rest is held
/// until those under way are answered, and then goes one by one: so all of a slot's commands run in their order,
/// wherever the slot is by then.
final class SlotQueue {
    var underWay = 0
    var isHeld = false
    /// Until the next look: the slot's keys are on the move.
    var isPaused = false
    /// In their order: what came back, then what came meanwhile.
    var waiting: [ClusterCommand] = []
    /// Takes the next command for this once.
    var asked: ClusterNode?
    /// Has the slot now; the map does not know yet.
    var moved: ClusterNode?

    var isIdle: Bool { underWay == 0 && !isHeld && waiting.isEmpty && moved == nil }

    func putBack(_ command: ClusterCommand) {
        let index = waiting.firstIndex { $0.number > command.number } ?? waiting.endIndex
        waiting.insert(command, at: index)
    }
}
