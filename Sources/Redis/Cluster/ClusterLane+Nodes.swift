import EventLoops

/// The connections of a lane: which exist, when all of them are up, and how commands fail when one is not.
extension ClusterLane {
    /// One master, with the connections to it.
    final class Node {
        let connection: RedisConnection
        /// `nil` if no replicas are required.
        let waits: ReplicaWaits?
        /// Whether it has been ready; false again when its connection breaks.
        var wasReady = false
        var isReady: Bool { connection.state == .ready }
        var canConfirm: Bool { waits?.isReady ?? true }
        var isIdle: Bool { connection.pending == 0 && waits?.pending ?? 0 == 0 }

        init(_ connection: RedisConnection, _ waits: ReplicaWaits?) {
            self.connection = connection
            self.waits = waits
        }

        func close() {
            connection.close()
            waits?.close()
        }
    }

    /// The directory's map has changed.
    public func apply(_ map: SlotMap, before: SlotMap?) {
        guard !isClosed else { return }
        self.map = map
        for master in map.masters { connect(master) }
        if let before, map.hasLost(aMasterOf: before) { fall("a master was replaced") }
        for (slot, queue) in queues where before?[slot] != map[slot] {
            // Commands that are pending at the old master must run first.
            if queue.underWay > 0 { queue.isHeld = true }
            queue.moved = nil
            if queue.isHeld, queue.underWay == 0, !queue.isPaused { pause(queue) }
        }
        housekeeping.set(after: Self.pause)
        becomeUpIfReady()
    }

    @discardableResult
    func connect(_ master: ClusterNode) -> Node? {
        if let node = nodes[master] { return node }
        guard !isClosed else { return nil }
        let endpoint = directory.endpoint(of: master)
        let connection = RedisConnection(loop: loop, endpoint: endpoint, name: name, options: options)
        let node = Node(connection, replicas > 0 ? waits(of: connection, at: endpoint) : nil)
        nodes[master] = node
        connection.onRoundTrip = onRoundTrip
        connection.onState = { [unowned self] in handle(master, $0) }
        connection.connect()
        node.waits?.connect()
        return node
    }

    private func waits(of connection: RedisConnection, at endpoint: RedisEndpoint) -> ReplicaWaits {
        let own = RedisConnection(loop: loop, endpoint: endpoint, name: name + ":replicas", options: options)
        let waits = ReplicaWaits(
            loop: loop, of: connection, on: own, replicas: replicas, patience: options.commandTimeout / 2)
        waits.onFewReplicas = { [unowned self] in onFewReplicas($0) }
        waits.onState = { [unowned self] state in
            switch state {
            case .connecting, .closed: break
            case .ready: becomeUpIfReady()
            case .disconnected(let reason): if self.state != .up { onState(.down(reason: reason)) }
            }
        }
        return waits
    }

    private func handle(_ master: ClusterNode, _ state: RedisConnection.State) {
        switch state {
        case .connecting, .closed: break
        case .ready:
            nodes[master]?.wasReady = true
            becomeUpIfReady()
        case .disconnected(let reason):
            let wasReady = nodes[master]?.wasReady == true
            nodes[master]?.wasReady = false
            directory.refresh()
            if self.state != .up {
                onState(.down(reason: reason))
            } else if wasReady, map?.masters.contains(master) == true {
                fall(reason)
            }
        }
    }

    private func becomeUpIfReady() {
        guard state != .up, !isClosed, let map, map.isComplete,
            map.masters.allSatisfy({ nodes[$0]?.isReady == true && nodes[$0]?.canConfirm == true })
        else { return }
        state = .up
        onState(.up)
    }

    func fall(_ reason: String) {
        guard state == .up else { return }
        state = .down(reason: reason)
        era += 1
        for command in takeWaiting() { finish(command, .failure(.disconnected(sent: false))) }
        directory.refresh()
        housekeeping.set(after: Self.pause)
        onState(state)
    }

    func takeWaiting() -> [ClusterCommand] {
        let waiting = queues.values.flatMap(\.waiting).sorted { $0.number < $1.number }
        queues.values.forEach { $0.waiting = [] }
        queues = [:]
        return waiting
    }

    func pause(_ queue: SlotQueue) {
        queue.isPaused = true
        if !housekeeping.isSet { housekeeping.set(after: Self.pause) }
    }

    func closeIdle() {
        for (master, node) in nodes where map?.masters.contains(master) == false {
            guard node.isIdle, !queues.values.contains(where: { $0.moved == master }) else { continue }
            node.close()
            nodes[master] = nil
        }
        let era = era
        for (slot, queue) in queues where queue.isPaused && era == self.era {
            queue.isPaused = false
            if queue.underWay == 0 { advance(slot, queue) }
        }
        becomeUpIfReady()
    }
}
