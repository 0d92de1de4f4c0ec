import EventLoops

/// Commands to a cluster, with a connection to each master. Each command is sent to the master of its key's slot.
///
/// Commands with the same keys run in the order of submission, also while their slot moves. (A command that a moving
/// slot rejects can be overtaken by a command with other keys that was already pending.) The lane follows redirections
/// (`MOVED`, `ASK`), and retries commands that cannot run at the moment (`TRYAGAIN`, `CLUSTERDOWN`, `LOADING`) until
/// they have waited for `commandTimeout`. Redis has run none of these commands. A command whose answer was lost is
/// never repeated.
///
/// down ──every slot has a master, each connected──▶ up
///       ▲── a master's connection breaks, a master was replaced, a command waited too long ──┘
///
/// In `down` commands fail immediately; held commands fail as not sent. A slot that moves from one master to another
/// breaks nothing.
///
/// Confined to the loop's thread. Its owner closes it before releasing it.
public final class ClusterLane {
    public enum State: Hashable, Sendable {
        case up
        case down(reason: String)
    }

    public internal(set) var state = State.down(reason: "not connected yet")
    /// Called after each change of `state`.
    public var onState: (State) -> Void = { _ in }
    public var onRoundTrip: ((_ microseconds: Int64) -> Void)?
    /// See ``ReplicaWaits/onFewReplicas``: called for any master.
    public var onFewReplicas: (Int) -> Void = { _ in }
    /// The number of commands without an answer.
    public private(set) var pending = 0
    /// Their approximate length in bytes.
    public private(set) var pendingBytes = 0

    let loop: EventLoop
    let directory: ClusterDirectory
    let name: String
    let options: RedisOptions
    /// Replicas that must have an acknowledged change; 0 requires none.
    let replicas: Int
    var map: SlotMap?
    var nodes: [ClusterNode: Node] = [:]
    var queues: [Int: SlotQueue] = [:]
    private var lastNumber: UInt64 = 0
    /// Grows with every fall to `down`: commands from before a fall are not sent after it.
    var era = 0
    var isClosed = false
    private var refused: [(reply: RedisConnection.Reply, failure: RedisFailure)] = []
    private lazy var refusing = LoopTimer(loop) { [unowned self] in failRefused() }
    lazy var housekeeping = LoopTimer(loop) { [unowned self] in closeIdle() }

    /// Time between two attempts of a command that cannot run at the moment.
    static let pause: Int64 = 25
    /// Redirections of one command that are followed without a pause.
    private static let hastyRedirections = 4

    public init(
        loop: EventLoop, directory: ClusterDirectory, name: String, replicas: Int = 0,
        options: RedisOptions = RedisOptions()
    ) {
        self.loop = loop
        self.directory = directory
        self.name = name
        self.replicas = replicas
        self.options = options
    }

    public func close() {
        isClosed = true
        state = .down(reason: "closed")
        era += 1
        let abandoned = takeWaiting()
        nodes.values.forEach { $0.close() }
        for command in abandoned { finish(command, .failure(.disconnected(sent: false))) }
        failRefused()
        refusing.cancel()
        housekeeping.cancel()
    }

    /// Drops all connections, as after a break.
    public func reconnect(reason: String) {
        for node in nodes.values {
            node.connection.reconnect(reason: reason)
            node.waits?.reconnect(reason: reason)
        }
        fall(reason)
    }

    // MARK: - Commands

    /// Sends a command whose key is `key`.
    public func send(_ words: [RedisArgument], key: String, reply: @escaping RedisConnection.Reply) {
        submit(.words(words), isAcknowledged: false, slot: HashSlot.of(key), reply)
    }

    /// Runs a script; there is at least one key, and all keys belong to one slot. `isAcknowledged`: the script is
    /// answered only after the lane's `replicas` have its changes.
    public func run(
        _ script: RedisScript, keys: [String], arguments: [RedisArgument], isAcknowledged: Bool = false,
        reply: @escaping RedisConnection.Reply
    ) {
        submit(
            .script(script, keys: keys.map(RedisArgument.string), arguments: arguments),
            isAcknowledged: isAcknowledged, slot: HashSlot.of(keys[0]), reply)
    }

    /// Sends each master a command without a key; `done` gets all answers.
    public func everywhere(
        _ words: (ClusterNode) -> [RedisArgument], done: @escaping ([Result<RedisValue, RedisFailure>]) -> Void
    ) {
        let masters = map?.masters.filter { nodes[$0]?.isReady == true } ?? []
        guard state == .up, !masters.isEmpty else { return refuse(.disconnected(sent: false)) { done([$0]) } }
        var answers: [Result<RedisValue, RedisFailure>] = []
        for master in masters {
            nodes[master]?.connection.send(words(master)) {
                answers.append($0)
                if answers.count == masters.count { done(answers) }
            }
        }
    }

    private func submit(
        _ work: ClusterCommand.Work, isAcknowledged: Bool, slot: Int, _ reply: @escaping RedisConnection.Reply
    ) {
        guard state == .up else { return refuse(.disconnected(sent: false), reply) }
        guard pending < options.maximumPending else { return refuse(.overloaded, reply) }
        lastNumber += 1
        let command = ClusterCommand(
            work, isAcknowledged: isAcknowledged, number: lastNumber, since: loop.now, reply: reply)
        pending += 1
        pendingBytes += command.size
        let queue = queues[slot] ?? SlotQueue()
        queues[slot] = queue
        guard queue.isHeld else { return transmit(command, slot, queue) }
        queue.waiting.append(command)
        if queue.underWay == 0, !queue.isPaused { advance(slot, queue) }
    }

    private func transmit(_ command: ClusterCommand, _ slot: Int, _ queue: SlotQueue) {
        let asked = queue.asked.take()
        guard let target = asked ?? queue.moved ?? map?[slot], let node = connect(target), node.isReady else {
            queue.isHeld = true
            queue.asked = asked
            queue.putBack(command)
            return pause(queue)
        }
        var ticket: ReplicaWaits.Ticket?
        if command.isAcknowledged, let waits = node.waits {
            ticket = waits.begin()
            guard ticket != nil else {
                account(for: command)
                refuse(.disconnected(sent: false), command.reply)
                // The command's answer would have caused the next command to be sent, but there will be no answer.
                if queue.isHeld { pause(queue) }
                return
            }
        }
        queue.underWay += 1
        command.send(on: node.connection, isAsking: asked != nil) { [unowned self, era] result in
            queue.underWay -= 1
            guard era == self.era, case .failure(let failure) = result, failure.isPassing else {
                if let ticket, let waits = node.waits {
                    // The slot's next command does not wait for replicas.
                    waits.confirm(result, ticket) { [unowned self] in finish(command, $0) }
                } else {
                    finish(command, result)
                }
                if era == self.era { answered(slot, queue) }
                return
            }
            redirect(command, failure, from: target, slot, queue)
        }
    }

    private func answered(_ slot: Int, _ queue: SlotQueue) {
        if queue.isHeld {
            if queue.underWay == 0, !queue.isPaused { advance(slot, queue) }
        } else if queue.isIdle {
            queues[slot] = nil
        }
    }

    /// The command did not run at that node. It will be the first to be sent after all pending ones are answered.
    private func redirect(
        _ command: ClusterCommand, _ failure: RedisFailure, from sayer: ClusterNode, _ slot: Int, _ queue: SlotQueue
    ) {
        queue.isHeld = true
        queue.putBack(command)
        command.redirections += 1
        command.refusal = failure
        directory.refresh()
        var isHasty = false
        if case .server(let code, let line) = failure, let place = line.split(separator: " ").dropFirst(2).first,
            let node = ClusterNode(redirection: place, from: sayer)
        {
            isHasty = command.redirections <= Self.hastyRedirections
            // If the map contains the move already, the next command need not be held.
            if code == "MOVED" { queue.moved = map?[slot] == node ? nil : node }
            if code == "ASK" { queue.asked = node }
        }
        if !isHasty { return pause(queue) }
        if queue.underWay == 0, !queue.isPaused { advance(slot, queue) }
    }

    /// Sends the next of a slot's held commands, or all of them once the slot is stable.
    func advance(_ slot: Int, _ queue: SlotQueue) {
        guard let head = queue.waiting.first else {
            queue.isHeld = queue.moved != nil
            if queue.isIdle { queues[slot] = nil }
            return
        }
        guard loop.now - head.since < options.commandTimeout else { return fail(head, slot) }
        guard queue.asked == nil, queue.moved == nil, head.redirections == 0 else {
            queue.waiting.removeFirst()
            return transmit(head, slot, queue)
        }
        let all = queue.waiting
        queue.waiting = []
        queue.isHeld = false
        for command in all {
            if queue.isHeld { queue.putBack(command) } else { transmit(command, slot, queue) }
        }
    }

    private func fail(_ command: ClusterCommand, _ slot: Int) {
        let reason = command.refusal.map { "\($0)" } ?? "its master is out of reach"
        fall("slot \(slot): \(reason)")
    }

    func finish(_ command: ClusterCommand, _ result: Result<RedisValue, RedisFailure>) {
        account(for: command)
        command.reply(result)
    }

    private func account(for command: ClusterCommand) {
        pending -= 1
        pendingBytes -= command.size
    }

    func refuse(_ failure: RedisFailure, _ reply: @escaping RedisConnection.Reply) {
        refused.append((reply, failure))
        if !refusing.isSet, !isClosed { refusing.set(after: 0) }
    }

    private func failRefused() {
        let refused = self.refused
        self.refused = []
        for (reply, failure) in refused { reply(.failure(failure)) }
    }
}
