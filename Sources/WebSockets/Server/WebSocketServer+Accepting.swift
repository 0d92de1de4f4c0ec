import CLibWebSockets
import EventLoops
import Glibc

/// Accepts connections from listening sockets.
extension WebSocketServer {
    /// Starts accepting from `socket`, and keeps it.
    public func listen(on socket: ListeningSocket, as kind: ListenerKind = ListenerKind()) {
        precondition(!kind.isSecure || identityPlace.pointee != nil, "TLS needs a certificate")
        let watcher = ReadableWatcher(loop, descriptor: socket.descriptor) { [unowned self] in
            accept(from: socket, as: kind)
        }
        listeners.append((socket, watcher))
        if acceptsPaused { watcher.cancel() }
    }

    /// Stops accepting connections; existing ones stay.
    public func stopListening() {
        isStopping = true
        for listener in listeners { listener.watcher.cancel() }
        listeners = []
        acceptRetry?.cancel()
        roomRetry?.cancel()
    }

    private func accept(from socket: ListeningSocket, as kind: ListenerKind) {
        // An accept that finds no client costs as much as one that finds a client, so the kernel is first asked for the
        // number of clients.
        var waiting = max(1, socket.waiting)
        while waiting > 0, takesTurn() {
            waiting -= 1
            guard table.count < configuration.maxConnections + configuration.reservedConnections else {
                // New clients wait in the kernel until a connection ends.
                return pauseAccepting()
            }
            if table.unsettledCount >= configuration.maxHandshakes {
                // If no client waits, no connection has to make room.
                guard socket.hasClient else { return }
                guard makeRoom() else {
                    roomRetry?.set(after: Self.roomDelay)
                    return pauseAccepting()
                }
            }
            var address = sockaddr_storage()
            let descriptor = clws_accept(socket.descriptor, &address)
            if descriptor >= 0 {
                acceptFails = false
                welcome(descriptor, from: PeerAddress(address), as: kind)
                continue
            }
            switch -descriptor {
            case EAGAIN: return
            // The client or a firewall gave up; the next client may be fine.
            case EINTR, ECONNABORTED, EPROTO, EPERM, ENETDOWN, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH, ENONET: continue
            default:
                // No descriptors or memory are left. The listening socket stays readable, so an immediate retry would
                // spin.
                counters.acceptFailures += 1
                if !acceptFails { delegate.acceptingFailed(String(cString: strerror(-descriptor))) }
                acceptFails = true
                pauseAccepting()
                acceptRetry?.set(after: 200)
                return
            }
        }
    }

    private func welcome(_ descriptor: Int32, from peer: PeerAddress, as kind: ListenerKind) {
        counters.accepted += 1
        let socket = table.add(from: peer, over: kind, now: loop.now)
        guard delegate.accepted(socket, from: peer) else {
            Glibc.close(descriptor)
            return table.remove(Int(socket.index))
        }
        countArrival()
        handshakes.add(socket, now: loop.now)
        armDeadlines()
        table[Int(socket.index)].extras?.http = HTTPConnection(
            descriptor, of: peer, isSecure: kind.isSecure, newReader)
        // Often the first bytes have arrived already.
        advance(socket)
    }

    /// Removes an ended connection, and frees its index.
    func forget(_ index: Int) {
        dropMessage(index)
        dropBacklog(index)
        dropSource(index)
        if let http = table[index].extras?.http {
            http.cancel()
            http.dropStreams()
            letGoAll(of: http)
            http.output = []
            http.written = 0
            countOutput(http)
        }
        let socket = table.id(index)
        table.remove(index)
        delegate.departed(socket)
        countDeparture()
        resumeAccepting()
    }

    /// Ends a connection that libwebsockets does not own.
    func discard(_ index: Int) {
        guard let http = table[index].extras?.http, table[index].wsi == nil else { return }
        http.cancel()
        if table[index].isSecure, http.hasGreeted, !http.hasSpoken { counters.tlsFailures += 1 }
        Glibc.close(http.descriptor)
        forget(index)
    }

    private func pauseAccepting() {
        acceptsPaused = true
        for listener in listeners { listener.watcher.cancel() }
    }

    func resumeAccepting() {
        roomRetry?.cancel()
        guard acceptsPaused, acceptRetry?.isSet != true else { return }
        acceptsPaused = false
        for listener in listeners { listener.watcher.resume() }
    }

    /// libwebsockets' pointer for each connection: the socket's id in its bits, never NULL.
    static func opaque(_ socket: SocketID) -> UnsafeMutableRawPointer? {
        UnsafeMutableRawPointer(bitPattern: UInt(socket.generation) << 32 | UInt(socket.index) + 1)
    }

    /// The index of the connection with this `opaque` pointer, nil if it does not belong to this server (any more).
    func index(of wsi: OpaquePointer) -> Int? {
        let bits = UInt(bitPattern: lws_get_opaque_user_data(wsi))
        guard bits != 0 else { return nil }
        return table.index(SocketID(index: UInt32(bits & 0xffff_ffff) - 1, generation: UInt32(bits >> 32)))
    }
}
