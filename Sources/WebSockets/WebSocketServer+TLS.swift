import CLibWebSockets
import EventLoops
import Glibc

/// Connections over TLS, from their first bytes to their first request.
extension WebSocketServer {
    /// A TLS connection begins in libwebsockets at once; its first request is looked at in `unseal`.
    func takeSecure(_ descriptor: Int32, _ socket: SocketID, _ index: Int) -> Wait? {
        switch Seal.glance(descriptor) {
        case .nothing: return .nothing
        case .gone:
            Glibc.close(descriptor)
            forget(index)
        case .plain:
            counters.tlsFailures += 1
            let response = configuration.errorResponse(400, "this port speaks TLS only: https:// and wss://")
            RequestTarget.refuse(descriptor, with: response.encoded(keepAlive: false))
            forget(index)
        case .hello:
            adopt(descriptor, socket)
            // It may have ended already.
            guard let index = table.index(socket), table[index].wsi != nil else { return nil }
            let watcher = ReadableWatcher(loop, descriptor: descriptor, isFirst: true) { [unowned self] in
                unseal(socket)
            }
            table[index].extras?.seal = Seal(watcher: watcher)
        }
        return nil
    }

    /// Something has come over TLS that libwebsockets has not read yet.
    private func unseal(_ socket: SocketID) {
        guard let index = table.index(socket), let wsi = table[index].wsi, let seal = table[index].extras?.seal else {
            return
        }
        switch seal.look(wsi) {
        case .shaking: return
        case .nothing:
            // What arrives between our look and libwebsockets' reading must not be read unseen: it has its turn in the
            // next turn.
            lws_rx_flow_control(wsi, 0)
            held.append(socket)
        case .open(let target):
            counters.tlsHandshakes += 1
            breakSeal(index)
            // libwebsockets' timer for what comes after the handshake; ours is in a queue.
            lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0)
            table[index].extras?.target = target
            guard let target, !RequestTarget.isWellFormed(target) else { return }
            clws_tls_drain(wsi)
            let response = configuration.errorResponse(400, "the path has a malformed escape")
            _ = response.encoded(keepAlive: false).withUnsafeBytes { send($0, index) }
            doom(index)
        case .ended: breakSeal(index)
        }
    }

    /// At the end of the turn.
    func release() {
        for socket in held {
            if let index = table.index(socket), let wsi = table[index].wsi { lws_rx_flow_control(wsi, 1) }
        }
        held.removeAll(keepingCapacity: true)
    }

    /// Looks no more. Before its descriptor's number can be another connection's.
    func breakSeal(_ index: Int) {
        table[index].extras?.seal?.watcher.cancel()
        table[index].extras?.seal = nil
    }
}
