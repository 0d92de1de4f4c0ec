import CLibWebSockets
import EventLoops
import Glibc

/// Connections over TLS, from the client's hello to the end of the handshake.
extension WebSocketServer {
    /// The header of a record of TLS: content type, version, length.
    private static let recordHeader = 5
    /// The content type "handshake" (RFC 8446, 5.1).
    private static let handshakeRecord: UInt8 = 22

    /// The libwebsockets context for TLS.
    ///
    /// - Throws: `WebSocketError`.
    func makeContext() throws -> LibWebSockets.Context {
        try LibWebSockets.Context(
            on: loop,
            LibWebSockets.ContextSetting(
                subprotocols: configuration.subprotocols,
                receiveBuffer: 256,
                // libwebsockets sees no head except `clws_upgrade_head`.
                maxHeaderBytes: 1024,
                headerPool: UInt32(configuration.maxConnections + configuration.reservedConnections),
                timeoutSeconds: configuration.httpTimeout,
                tls: .serves,
                // Unretained: the context is destroyed in `shutdown`, which must precede the server's release.
                user: Unmanaged.passUnretained(self).toOpaque(),
                callback: serverCallback))
    }

    /// Waits for the whole hello, because a connection costs no TLS session until then. Returns whether there is more
    /// to do now.
    func greet(_ index: Int, _ http: HTTPConnection) -> Bool {
        let descriptor = http.descriptor
        let count = recv(descriptor, scratch.baseAddress, scratch.count, Int32(MSG_PEEK | MSG_DONTWAIT))
        if count < 0, errno == EAGAIN || errno == EINTR {
            awaitInput(index, http)
            return false
        }
        guard count > 0 else {
            discard(index)
            return false
        }
        http.hasGreeted = true
        guard scratch[0] == Self.handshakeRecord else {
            counters.tlsFailures += 1
            // The answer is not encrypted.
            table[index].isSecure = false
            return refuse(
                index, http, configuration.errorResponse(400, "this port accepts only TLS: https:// and wss://"))
        }
        var needed = Self.recordHeader
        if count >= needed { needed += Int(scratch[3]) << 8 | Int(scratch[4]) }
        guard count >= min(needed, scratch.count) else {
            // The kernel wakes the loop for the rest and for the end, but not for each byte.
            guard clws_has_ended(descriptor) == 0 else {
                discard(index)
                return false
            }
            clws_wake_at(descriptor, Int32(min(needed, scratch.count)))
            awaitInput(index, http)
            return false
        }
        clws_wake_at(descriptor, 1)
        return beginTLS(index, http)
    }

    /// Passes the connection to libwebsockets, which makes a TLS session for it and sends the server's answer.
    ///
    /// libwebsockets gets all of its head except the last byte (see `upgrade`): bytes can be passed on as already read
    /// only now, and the last byte of the client's own head is the same. If libwebsockets had bytes that it may read,
    /// it would retry forever; so its reading is paused until it can continue (see `beginAdoption`).
    private func beginTLS(_ index: Int, _ http: HTTPConnection) -> Bool {
        guard let host = context?.host else { return false }
        let socket = table.id(index)
        http.pauseInput()
        http.stage = .shaking
        adopt(http.descriptor, socket, host)
        // The connection may have ended and been removed already.
        guard let index = table.index(socket) else { return false }
        guard table[index].wsi != nil else {
            counters.tlsFailures += 1
            forget(index)
            return false
        }
        return true
    }

    /// Continues the handshake in place of libwebsockets. Returns whether there is more to do now.
    func shakeHands(_ index: Int, _ http: HTTPConnection) -> Bool {
        guard let wsi = table[index].wsi else { return false }
        switch Int(clws_tls_handshake(wsi)) {
        case clws_tls_ended:
            doom(index)
            return false
        case clws_tls_wants_read:
            awaitInput(index, http)
            return false
        case clws_tls_wants_write:
            http.pauseInput()
            let socket = table.id(index)
            http.awaitRoom(loop) { [unowned self] in advance(socket) }
            return false
        default:
            return readOwnHead(index, http, wsi)
        }
    }

    /// Lets libwebsockets notice that the handshake is done, and read the head that it was given, but no bytes of the
    /// client.
    private func readOwnHead(_ index: Int, _ http: HTTPConnection, _ wsi: OpaquePointer) -> Bool {
        let socket = table.id(index)
        lws_rx_flow_control(wsi, 1)
        for _ in 0..<2 where lws_hdr_total_length(wsi, WSI_TOKEN_HOST) == 0 {
            guard clws_service(wsi) == 0, let index = table.index(socket), table[index].wsi == wsi else { return false }
        }
        guard lws_hdr_total_length(wsi, WSI_TOKEN_HOST) > 0 else {
            doom(index)
            return false
        }
        lws_rx_flow_control(wsi, 0)
        // libwebsockets' own timer for this is in a sorted list; ours is in a queue.
        lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0)
        http.stage = .head
        return true
    }
}
