import EventLoops

/// Commands to a cluster: a connection to each master, and each command to the one that serves its key's slot.
///
/// Commands with the same keys run in the order in which they were given, also while their slot moves. (One that a
/// moving slot refuses can be overtaken by one with other keys that was under way already.) A redirection (`MOVED`,
/// `ASK`) is followed, and what cannot run for the moment (`TRYAGAIN`, `CLUSTERDOWN`, `LOADING`) is tried again until
/// it has waited for `commandTimeout`. None of these had run. A command whose answer was lost is never repeated.
///
///     down ──every slot has a master, each connected and given the scripts──▶ up
///       ▲── a master's connection breaks, a master was replaced, a command waited too long ──┘
///
/// In `down` commands fail at once; what was held fails as not sent. A slot that moves from one master to another
/// breaks nothing.
///
/// Confined to the loop's thread. Its owner closes it before letting go of it.
public final class ClusterLane {
    public enum State: Hashable, Sendable {
        case up
        case down(reason: String)
    }

    public private(set) var state = State.down(reason: "not connected yet")
    /// Called after each change of `state`.
    public var onState: (State) -> Void = { _ in }
    public var onRoundTrip: ((_ microseconds: Int64) -> Void)?
    /// How many commands have no answer yet.
    public private(set) var pending = 0

    private let loop: EventLoop
    private let directory: ClusterDirectory
    private let name: String
    private let options: RedisOptions
    private let scripts: [RedisScript]
    private var map: SlotMap?
    private var nodes: [ClusterNode: Node] = [:]
    private var queues: [Int: SlotQueue] = [:]
    private var lastNumber: UInt64 = 0
    /// Grows with every fall: what was given before it is not sent again after it.
    private var era = 0
    private var isClosed = false
    private var refused: [(reply: RedisConnection.Reply, failure: RedisFailure)] = []
    private lazy var refusing = LoopTimer(loop) { [unowned self] in answerRefused() }
    private lazy var housekeeping = LoopTimer(loop) { [unowned self] in keepHouse() }

    /// Between two tries of what cannot run for the moment.
    private static let pause: Int64 = 25
    /// Redirections of one command that are followed without a pause.
    private static let hastyRedirections = 4

    private final class Node {
        let connection: RedisConnection
        var isReady = false
        init(_ connection: RedisConnection) { self.connection = connection }
    }

    public init(
        loop: EventLoop, directory: ClusterDirectory, name: String, scripts: [RedisScript],
        options: RedisOptions = RedisOptions()
    ) {
        self.loop = loop
        self.directory = directory
        self.name = name
        self.scripts = scripts
        self.options = options
    }

    public func close() {
        isClosed = true
        state = .down(reason: "closed")
        era += 1
        let abandoned = takeWaiting()
        nodes.values.forEach { $0.connection.close() }
        for command in abandoned { finish(command, .failure(.disconnected(sent: false))) }
        answerRefused()
        refusing.cancel()
        housekeeping.cancel()
    }

    /// Breaks off all connections, as after a break.
    public func reconnect(reason: String) {
        for node in nodes.values { node.connection.reconnect(reason: reason) }
        fall(reason)
    }

    // MARK: - Commands

    /// Sends a command whose key is `key`.
    public func send(_ words: [RedisArgument], key: String, reply: @escaping RedisConnection.Reply) {
        submit(.words(words), slot: HashSlot.of(key), reply)
    }

    /// Runs a script; all of `keys`, of which there is at least one, belong to one slot. `replicas`: how many must have
    /// its changes before it is answered.
    public func run(
        _ script: RedisScript, keys: [String], arguments: [RedisArgument], replicas: Int = 0,
        reply: @escaping RedisConnection.Reply
    ) {
        submit(
            .script(script, keys: keys.map(RedisArgument.string), arguments: arguments, replicas: replicas),
            slot: HashSlot.of(keys[0]), reply)
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

    private func submit(_ work: ClusterCommand.Work, slot: Int, _ reply: @escaping RedisConnection.Reply) {
        guard state == .up else { return refuse(.disconnected(sent: false), reply) }
        guard pending < options.maximumPending else { return refuse(.overloaded, reply) }
        lastNumber += 1
        pending += 1
        let command = ClusterCommand(work, number: lastNumber, since: loop.now, reply: reply)
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
        queue.underWay += 1
        let patience = options.commandTimeout / 2
        command.send(on: node.connection, isAsking: asked != nil, patience: patience) { [unowned self, era] result in
            queue.underWay -= 1
            guard era == self.era, case .failure(let failure) = result, failure.isPassing else {
                finish(command, result)
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

    /// It did not run there: it will be the first to be sent once all that is under way is answered.
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
            if code == "MOVED" { queue.moved = node }
            if code == "ASK" { queue.asked = node }
        }
        if !isHasty { return pause(queue) }
        if queue.underWay == 0, !queue.isPaused { advance(slot, queue) }
    }

    /// Sends the next of a slot's held commands, or all of them once nothing is in the way.
    private func advance(_ slot: Int, _ queue: SlotQueue) {
        guard let head = queue.waiting.first else {
            queue.isHeld = queue.moved != nil
            if queue.isIdle { queues[slot] = nil }
            return
        }
        guard loop.now - head.since < options.commandTimeout else { return giveUp(head, slot) }
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

    private func giveUp(_ command: ClusterCommand, _ slot: Int) {
        let reason = command.refusal.map { "\($0)" } ?? "its master is out of reach"
        fall("slot \(slot): \(reason)")
    }

    private func finish(_ command: ClusterCommand, _ result: Result<RedisValue, RedisFailure>) {
        pending -= 1
        command.reply(result)
    }

    private func refuse(_ failure: RedisFailure, _ reply: @escaping RedisConnection.Reply) {
        refused.append((reply, failure))
        if !refusing.isSet, !isClosed { refusing.set(after: 0) }
    }

    private func answerRefused() {
        let refused = self.refused
        self.refused = []
        for (reply, failure) in refused { reply(.failure(failure)) }
    }

    // MARK: - Up and down

    /// The directory's map has changed.
    public func follow(_ map: SlotMap, before: SlotMap?) {
        guard !isClosed else { return }
        self.map = map
        for master in map.masters { connect(master) }
        if let before, map.hasLost(aMasterOf: before) { fall("a master was replaced") }
        for (slot, queue) in queues where before?[slot] != map[slot] {
            // What is under way at the old master comes first.
            if queue.underWay > 0 { queue.isHeld = true }
            queue.moved = nil
            if queue.isHeld, queue.underWay == 0, !queue.isPaused { pause(queue) }
        }
        housekeeping.set(after: Self.pause)
        settle()
    }

    @discardableResult
    private func connect(_ master: ClusterNode) -> Node? {
        if let node = nodes[master] { return node }
        guard !isClosed else { return nil }
        let connection = RedisConnection(
            loop: loop, endpoint: directory.endpoint(of: master), name: name, options: options)
        let node = Node(connection)
        nodes[master] = node
        connection.onRoundTrip = onRoundTrip
        connection.onState = { [unowned self, unowned node] in follow(master, node, $0) }
        connection.connect()
        return node
    }

    private func follow(_ master: ClusterNode, _ node: Node, _ state: RedisConnection.State) {
        switch state {
        case .connecting, .closed: break
        case .ready where scripts.isEmpty:
            node.isReady = true
            settle()
        case .ready:
            node.connection.load(scripts) { [unowned self, unowned node] result in
                switch result {
                case .success:
                    node.isReady = true
                    settle()
                case .failure(let failure):
                    node.connection.reconnect(reason: "loading the scripts failed: \(failure)")
                }
            }
        case .disconnected(let reason):
            let wasReady = node.isReady
            node.isReady = false
            directory.refresh()
            if self.state != .up {
                onState(.down(reason: reason))
            } else if wasReady, map?.masters.contains(master) == true {
                fall(reason)
            }
        }
    }

    private func settle() {
        guard state != .up, !isClosed, let map, map.isComplete,
            map.masters.allSatisfy({ nodes[$0]?.isReady == true })
        else { return }
        state = .up
        onState(.up)
    }

    private func fall(_ reason: String) {
        guard state == .up else { return }
        state = .down(reason: reason)
        era += 1
        for command in takeWaiting() { finish(command, .failure(.disconnected(sent: false))) }
        directory.refresh()
        housekeeping.set(after: Self.pause)
        onState(state)
    }

    private func takeWaiting() -> [ClusterCommand] {
        let waiting = queues.values.flatMap(\.waiting).sorted { $0.number < $1.number }
        queues.values.forEach { $0.waiting = [] }
        queues = [:]
        return waiting
    }

    private func pause(_ queue: SlotQueue) {
        queue.isPaused = true
        if !housekeeping.isSet { housekeeping.set(after: Self.pause) }
    }

    private func keepHouse() {
        for (master, node) in nodes where map?.masters.contains(master) == false {
            guard node.connection.pending == 0, !queues.values.contains(where: { $0.moved == master }) else { continue }
            node.connection.close()
            nodes[master] = nil
        }
        let era = era
        for (slot, queue) in queues where queue.isPaused && era == self.era {
            queue.isPaused = false
            if queue.underWay == 0 { advance(slot, queue) }
        }
        settle()
    }
}
