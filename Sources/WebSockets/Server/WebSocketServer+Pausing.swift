import CLibWebSockets
import EventLoops

/// Pauses reading from connections.
///
/// Over TLS, reading must not be paused while libwebsockets reads: if it may not deliver the rest of a record, it
/// retries forever inside one call (4.1.6, `rops_handle_POLLIN_ws`). So the messages that it reads in this turn, at
/// most a record of 16 KiB, wait here, and its reading is paused at the end of the turn.
extension WebSocketServer {
    /// Pauses reading until `resumeReading`, so that the peer's sends are slowed down. (Messages on their way through
    /// libwebsockets may still arrive.) A disconnection is noticed only after `resumeReading`.
    public func pauseReading(_ socket: SocketID) {
        guard let index = table.index(socket), table[index].state == .open else { return }
        if let source = table[index].source { return pauseSource(source) }
        guard paused.updateValue(false, forKey: socket) == nil else { return }
        // If the turn is already ending, this causes one more pass.
        loop.execute {}
    }

    public func resumeReading(_ socket: SocketID) {
        guard let index = table.index(socket), table[index].state == .open else { return }
        if let source = table[index].source { return resumeSource(source, socket) }
        guard let isHeldBack = paused.removeValue(forKey: socket) else { return }
        guard backlogs[socket] == nil else {
            // At the end of the turn, because the delegate is in the middle of a call.
            if isHeldBack { heldBack.insert(socket) }
            resumed.append(socket)
            return loop.execute {}
        }
        if isHeldBack { lws_rx_flow_control(table[index].wsi, 1) }
    }

    /// Keeps a message that arrives while the connection is paused, or while earlier messages are kept. Returns false
    /// otherwise.
    func keepIfPaused(_ message: UnsafeRawBufferPointer, _ index: Int) -> Bool {
        guard !paused.isEmpty || !backlogs.isEmpty else { return false }
        let socket = table.id(index)
        guard paused[socket] != nil || backlogs[socket] != nil else { return false }
        guard hold(message.count, for: table[index].block) else {
            beginClosing(index, code: 1013, reason: delegate.reasonWhenFull())
            return true
        }
        backlogs[socket, default: []].append(Array(message))
        return true
    }

    /// Delivers kept messages at the end of the turn, outside all callbacks.
    func deliverBacklogs() {
        guard !resumed.isEmpty else { return }
        let sockets = resumed
        resumed = []
        for socket in sockets { deliverBacklog(of: socket) }
        // The writes that they cause are sent at the end of a turn.
        loop.execute {}
    }

    private func deliverBacklog(of socket: SocketID) {
        if let index = table.index(socket), table[index].source != nil { return receiveRest(socket) }
        while paused[socket] == nil, let index = table.index(socket), table[index].state == .open,
            let message = backlogs[socket]?.first
        {
            letGo(message.count, of: table[index].block)
            backlogs[socket]?.removeFirst()
            if backlogs[socket]?.isEmpty == true { backlogs[socket] = nil }
            counters.messagesReceived += 1
            message.withUnsafeBytes { delegate.received($0, on: socket) }
        }
        guard backlogs[socket] == nil, heldBack.remove(socket) != nil else { return }
        guard paused[socket] == nil else {
            // It was paused again meanwhile, and libwebsockets' reading is still paused.
            paused[socket] = true
            return
        }
        if let index = table.index(socket), table[index].state == .open { lws_rx_flow_control(table[index].wsi, 1) }
    }

    /// Pauses libwebsockets' reading at the end of the turn, outside all callbacks.
    func holdBackPaused() {
        for (socket, isHeldBack) in paused where !isHeldBack {
            guard let index = table.index(socket), table[index].state == .open else { continue }
            lws_rx_flow_control(table[index].wsi, 0)
            paused[socket] = true
        }
    }

    /// Drops the kept messages of an ending connection.
    func dropBacklog(_ index: Int) {
        guard !paused.isEmpty || !backlogs.isEmpty else { return }
        let socket = table.id(index)
        paused[socket] = nil
        heldBack.remove(socket)
        letGo(backlogs.removeValue(forKey: socket)?.reduce(0) { $0 + $1.count } ?? 0, of: table[index].block)
    }
}
