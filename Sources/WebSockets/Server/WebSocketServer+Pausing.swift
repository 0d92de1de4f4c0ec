import CLibWebSockets
import EventLoops

/// Connections from which nothing is taken for a while.
///
/// Over TLS libwebsockets must not be kept from reading while it reads: when it holds bytes of a record that it may not
/// hand over, it tries again without end, inside one call (4.1.6, `rops_handle_POLLIN_ws`). So the messages of what it
/// reads in this turn, at most a record of 16 KiB, wait here, and it is kept from reading when the turn ends.
extension WebSocketServer {
    /// Takes nothing more from this connection, so that the peer feels it in its own sends, until `resumeReading`.
    /// (What is on its way through libwebsockets may still arrive.) That it went away shows only after `resumeReading`.
    public func pauseReading(_ socket: SocketID) {
        guard let index = table.index(socket), table[index].state == .open else { return }
        if let source = table[index].source { return pauseSource(source) }
        guard paused.updateValue(false, forKey: socket) == nil else { return }
        // If the turn is ending already, it has to come round to us once more.
        loop.execute {}
    }

    public func resumeReading(_ socket: SocketID) {
        guard let index = table.index(socket), table[index].state == .open else { return }
        if let source = table[index].source { return resumeSource(source, socket) }
        guard let isHeldBack = paused.removeValue(forKey: socket) else { return }
        guard backlogs[socket] == nil else {
            // At the end of the turn: the delegate is in the middle of something.
            if isHeldBack { heldBack.insert(socket) }
            resumed.append(socket)
            return loop.execute {}
        }
        if isHeldBack { lws_rx_flow_control(table[index].wsi, 1) }
    }

    /// Keeps a message that came while the connection is paused, or behind such a one. False if it is not.
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

    /// At the end of the turn, outside of all callbacks.
    func deliverBacklogs() {
        guard !resumed.isEmpty else { return }
        let sockets = resumed
        resumed = []
        for socket in sockets { deliverBacklog(of: socket) }
        // What follows from them is written at the end of a turn.
        loop.execute {}
    }

    private func deliverBacklog(of socket: SocketID) {
        if let index = table.index(socket), table[index].source != nil { return takeRest(socket) }
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
            // It was paused again meanwhile, and is still kept from reading.
            paused[socket] = true
            return
        }
        if let index = table.index(socket), table[index].state == .open { lws_rx_flow_control(table[index].wsi, 1) }
    }

    /// At the end of the turn, outside of all callbacks.
    func holdBackPaused() {
        for (socket, isHeldBack) in paused where !isHeldBack {
            guard let index = table.index(socket), table[index].state == .open else { continue }
            lws_rx_flow_control(table[index].wsi, 0)
            paused[socket] = true
        }
    }

    /// Nothing more comes from it.
    func dropBacklog(_ index: Int) {
        guard !paused.isEmpty || !backlogs.isEmpty else { return }
        let socket = table.id(index)
        paused[socket] = nil
        heldBack.remove(socket)
        letGo(backlogs.removeValue(forKey: socket)?.reduce(0) { $0 + $1.count } ?? 0, of: table[index].block)
    }
}
