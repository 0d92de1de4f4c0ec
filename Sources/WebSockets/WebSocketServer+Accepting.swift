import CLibWebSockets
import EventLoops
import Glibc

/// From listening sockets to connections.
extension WebSocketServer {
    /// Accepts from `socket` from now on, and keeps it.
    public func listen(on socket: ListeningSocket, as kind: ListenerKind = ListenerKind()) {
        precondition(!kind.isSecure || identityPlace.pointee != nil, "TLS needs a certificate")
        let watcher = ReadableWatcher(loop, descriptor: socket.descriptor) { [unowned self] in
            accept(from: socket, as: kind)
        }
        listeners.append((socket, watcher))
        if acceptsPaused { watcher.cancel() }
    }

    /// Accepts no more connections; those that are there stay.
    public func stopListening() {
        for listener in listeners { listener.watcher.cancel() }
        listeners = []
        acceptRetry?.cancel()
        roomRetry?.cancel()
    }

    /// So many at once, then everything else has its turn.
    private static let acceptsATurn = 64

    private func accept(from socket: ListeningSocket, as kind: ListenerKind) {
        for _ in 0..<Self.acceptsATurn {
            guard table.count < configuration.maxConnections + configuration.reservedConnections else {
                // They wait in the kernel until a connection goes.
                return pauseAccepting()
            }
            guard table.unsettledCount < configuration.maxHandshakes || makeRoom() else {
                roomRetry?.set(after: Self.roomDelay)
                return pauseAccepting()
            }
            var address = sockaddr_storage()
            let descriptor = clws_accept(socket.descriptor, &address)
            if descriptor >= 0 {
                welcome(descriptor, from: PeerAddress(address), as: kind)
                continue
            }
            switch -descriptor {
            case EAGAIN: return
            // The client gave up, or a firewall did; the next one may be fine.
            case EINTR, ECONNABORTED, EPROTO, EPERM, ENETDOWN, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH, ENONET: continue
            default:
                // Out of descriptors or memory. The listening socket stays readable, so trying at once would spin.
                counters.acceptFailures += 1
                if !acceptsPaused { delegate.acceptingFailed(String(cString: strerror(-descriptor))) }
                pauseAccepting()
                acceptRetry?.set(after: 200)
                return
            }
        }
    }

    /// libwebsockets gets a connection when its first bytes are there, so that they can be looked at before.
    private func welcome(_ descriptor: Int32, from peer: PeerAddress, as kind: ListenerKind) {
        counters.accepted += 1
        let socket = table.add(from: peer, over: kind, now: loop.now)
        handshakes.add(socket, now: loop.now)
        armDeadlines()
        guard let wait = take(descriptor, socket), let index = table.index(socket) else { return }
        let watcher = ReadableWatcher(loop, descriptor: descriptor) { [unowned self] in arrived(socket) }
        table[index].extras?.arrival = Arrival(descriptor: descriptor, watcher: watcher)
        if wait == .piece { arrived(socket) }
    }

    /// How long, in ms, the rest of a request line is waited for before it is looked at again.
    private static let pieceDelay: Int64 = 5

    private func arrived(_ socket: SocketID) {
        guard let index = table.index(socket), let arrival = table[index].extras?.arrival else { return }
        arrival.watcher.cancel()
        table[index].extras?.arrival = nil
        guard let wait = take(arrival.descriptor, socket) else { return }
        table[index].extras?.arrival = arrival
        guard wait == .piece else { return arrival.watcher.resume() }
        arrival.again = arrival.again ?? LoopTimer(loop) { [unowned self] in arrived(socket) }
        arrival.again?.set(after: Self.pieceDelay)
    }

    enum Wait { case nothing, piece }

    /// Deals with the connection, or says what it has to wait for.
    private func take(_ descriptor: Int32, _ socket: SocketID) -> Wait? {
        guard let index = table.index(socket) else { return nil }
        if table[index].isSecure { return takeSecure(descriptor, socket, index) }
        switch RequestTarget.glance(descriptor) {
        case .nothing: return .nothing
        case .piece: return .piece
        case .gone:
            Glibc.close(descriptor)
            forget(index)
        case .line(let target?) where !RequestTarget.isWellFormed(target):
            let response = configuration.errorResponse(400, "the path has a malformed escape")
            RequestTarget.refuse(descriptor, with: response.encoded(keepAlive: false))
            forget(index)
        case .line(let target):
            table[index].extras?.target = target
            adopt(descriptor, socket)
        }
        return nil
    }

    func forget(_ index: Int) {
        table.remove(index)
        resumeAccepting()
    }

    /// Ends one that sent nothing.
    func discardArrival(_ index: Int) {
        guard let arrival = table[index].extras?.arrival else { return }
        arrival.watcher.cancel()
        arrival.again?.cancel()
        Glibc.close(arrival.descriptor)
        forget(index)
    }

    func adopt(_ descriptor: Int32, _ socket: SocketID) {
        guard let context else { return _ = Glibc.close(descriptor) }
        var description = lws_adopt_desc_t()
        description.vh = lws_get_vhost_by_name(context.raw, "default")
        let isSecure = table.index(socket).map { table[$0].isSecure } ?? false
        description.type = lws_adoption_type(
            LWS_ADOPT_SOCKET.rawValue | LWS_ADOPT_HTTP.rawValue | (isSecure ? LWS_ADOPT_ALLOW_SSL.rawValue : 0))
        description.fd.sockfd = descriptor
        description.opaque = Self.opaque(socket)
        // On failure it closes the descriptor.
        guard let wsi = lws_adopt_descriptor_vhost_via_info(&description) else {
            if let index = table.index(socket) { forget(index) }
            if isSecure { counters.tlsFailures += 1 }
            return
        }
        guard let index = table.index(socket) else { return }
        table[index].wsi = wsi
        // libwebsockets' own timer for it would stand in a sorted list; ours is in a queue.
        lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0)
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

    /// What libwebsockets keeps for us with each connection: the socket's id in the bits of a pointer, never NULL.
    private static func opaque(_ socket: SocketID) -> UnsafeMutableRawPointer? {
        UnsafeMutableRawPointer(bitPattern: UInt(socket.generation) << 32 | UInt(socket.index) + 1)
    }

    /// The index of the connection that `opaque` made known, nil if it is none of ours (any more).
    func index(of wsi: OpaquePointer) -> Int? {
        let bits = UInt(bitPattern: lws_get_opaque_user_data(wsi))
        guard bits != 0 else { return nil }
        return table.index(SocketID(index: UInt32(bits & 0xffff_ffff) - 1, generation: UInt32(bits >> 32)))
    }
}
