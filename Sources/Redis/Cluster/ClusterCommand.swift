/// A command on its way to the master of its slot, with all that is needed to send it again elsewhere.
final class ClusterCommand {
    enum Work {
        case words([RedisArgument])
        case script(RedisScript, keys: [RedisArgument], arguments: [RedisArgument])
    }

    let work: Work
    /// Answered only after replicas have its changes.
    let isAcknowledged: Bool
    /// Its approximate length in bytes.
    let size: Int
    /// The position in the order of submission.
    let number: UInt64
    /// When it was submitted, in ms on the loop's clock.
    let since: Int64
    let reply: RedisConnection.Reply
    /// How often it was sent to another node.
    var redirections = 0
    /// The reason why it was not run the last time.
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

    /// `isAsking`: the connection's node is still importing the slot; `ASKING` makes it accept this one command.
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
/// As long as the slot's master accepts the commands, they are sent immediately. When one is redirected, the queue
/// holds the others until the pending ones are answered, and then sends one at a time. So all commands of a slot run in
/// order while it moves.
final class SlotQueue {
    var underWay = 0
    var isHeld = false
    /// Whether a pause between two attempts is in progress: the slot's keys are moving.
    var isPaused = false
    /// In order: first redirected commands, then later ones.
    var waiting: [ClusterCommand] = []
    /// The node for the next command only (`ASK`).
    var asked: ClusterNode?
    /// The slot's new master; the map does not contain the move yet.
    var moved: ClusterNode?

    var isIdle: Bool { underWay == 0 && !isHeld && waiting.isEmpty && moved == nil }

    func putBack(_ command: ClusterCommand) {
        let index = waiting.firstIndex { $0.number > command.number } ?? waiting.endIndex
        waiting.insert(command, at: index)
    }
}
