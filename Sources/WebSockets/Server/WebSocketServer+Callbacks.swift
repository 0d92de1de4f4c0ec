import CLibWebSockets
import EventLoops

/// The one entry from C: libwebsockets calls it on the loop's thread for all events of connections over TLS.
let serverCallback: LibWebSockets.Callback = { wsi, reason, host, input, length in
    switch reason {
    case LWS_CALLBACK_RECEIVE, LWS_CALLBACK_RECEIVE_PONG, LWS_CALLBACK_SERVER_WRITEABLE, LWS_CALLBACK_ESTABLISHED,
        LWS_CALLBACK_CLOSED, LWS_CALLBACK_WSI_DESTROY, LWS_CALLBACK_WS_PEER_INITIATED_CLOSE,
        LWS_CALLBACK_WS_SERVER_DROP_PROTOCOL,
        LWS_CALLBACK_HTTP_CONFIRM_UPGRADE, LWS_CALLBACK_ADD_HEADERS, LWS_CALLBACK_HTTP:
        guard let wsi, let user = lws_context_user(lws_get_context(wsi)) else { return 0 }
        // Unretained: the server outlives its context, see `init`.
        let server = Unmanaged<WebSocketServer>.fromOpaque(user).takeUnretainedValue()
        guard let index = server.index(of: wsi) else { return 0 }
        if reason == LWS_CALLBACK_ADD_HEADERS { return server.respondToUpgrade(index, input) }
        return server.handle(reason, wsi, index, UnsafeRawBufferPointer(start: input, count: input == nil ? 0 : length))
    case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED:
        guard let wsi, let user = lws_context_user(lws_get_context(wsi)) else { return 0 }
        let server = Unmanaged<WebSocketServer>.fromOpaque(user).takeUnretainedValue()
        server.beginAdoption(of: wsi)
        return 0
    case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS:
        // Called while the context is made: `wsi` is not a connection, but has the context, and the third argument is
        // the SSL_CTX.
        guard let wsi, let host, let user = lws_context_user(lws_get_context(wsi)) else { return -1 }
        let server = Unmanaged<WebSocketServer>.fromOpaque(user).takeUnretainedValue()
        clws_tls_prepare(OpaquePointer(host), server.identityPlace)
        return 0
    case LWS_CALLBACK_RAW_ADOPT, LWS_CALLBACK_RAW_RX:
        // CONNECT makes a raw connection, which the server does not support.
        return -1
    default:
        return 0
    }
}

extension WebSocketServer {
    /// Returns 0 to continue, -1 to end the connection.
    func handle(
        _ reason: lws_callback_reasons, _ wsi: OpaquePointer, _ index: Int, _ input: UnsafeRawBufferPointer
    ) -> Int32 {
        depth += 1
        defer { depth -= 1 }
        switch reason {
        case LWS_CALLBACK_RECEIVE:
            receive(index, wsi, input)
        case LWS_CALLBACK_SERVER_WRITEABLE:
            writeable(index, wsi)
        case LWS_CALLBACK_RECEIVE_PONG:
            heard(index)
        case LWS_CALLBACK_ESTABLISHED:
            established(index)
        case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
            if peerCloses(index, input) { return -1 }
        case LWS_CALLBACK_WS_SERVER_DROP_PROTOCOL:
            closingBegins(index)
        case LWS_CALLBACK_CLOSED:
            ended(index)
        case LWS_CALLBACK_WSI_DESTROY:
            destroyed(index)
        case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
            return upgrading?.socket == table.id(index) ? 0 : -1
        case LWS_CALLBACK_HTTP:
            // The server answers requests itself, before libwebsockets sees them.
            return -1
        default:
            break
        }
        return 0
    }

    private func established(_ index: Int) {
        guard let upgrading, upgrading.socket == table.id(index) else { return doom(index) }
        self.upgrading = nil
        open(index, upgrading)
    }

    private func heard(_ index: Int) {
        if table[index].state == .open { delegate.heard(table.id(index)) }
    }

    /// libwebsockets calls this when a congested socket has accepted everything, and also after it answered a ping,
    /// which it reports in no other way.
    private func writeable(_ index: Int, _ wsi: OpaquePointer) {
        guard table[index].state == .open else { return }
        if table[index].unsent == .nothing { return heard(index) }
        guard lws_partial_buffered(wsi) == 0 else { return }
        let wasCongested = table[index].unsent == .writes
        table[index].unsent = .nothing
        if wasCongested { delegate.writable(table.id(index)) }
    }

    /// A piece of a message of at most `rx_buffer_size` bytes; the last one may be empty.
    private func receive(_ index: Int, _ wsi: OpaquePointer, _ piece: UnsafeRawBufferPointer) {
        guard table[index].state == .open else { return }
        heard(index)
        // The delegate may just have closed it.
        guard table[index].state == .open else { return }
        counters.bytesReceived += piece.count
        if lws_frame_is_binary(wsi) != 0 { return refuseBinary(index) }
        // Counts the whole frame that the header announces.
        let announced = table[index].message.count + piece.count + lws_remaining_packet_payload(wsi)
        if announced > mostMessageBytes(index) { return refuseLength(index) }
        let (socket, isLast) = (table.id(index), lws_is_final_fragment(wsi) != 0)
        if !isLast, lws_remaining_packet_payload(wsi) == 0 { countIdle(index) }
        collect(piece, isLast: isLast, index)
        reportIdle(socket)
    }

    func countIdle(_ index: Int) { table[index].idleFrames &+= 1 }

    /// The delegate charges the client for such frames: without a limit they would use up a core without counting as
    /// messages.
    func reportIdle(_ socket: SocketID) {
        guard let index = table.index(socket), table[index].state == .open, table[index].idleFrames >= 100 else {
            return
        }
        let hundreds = table[index].idleFrames / 100
        table[index].idleFrames %= 100
        delegate.idled(socket, hundreds: Int(hundreds))
    }

    func mostMessageBytes(_ index: Int) -> Int {
        let most = configuration.maxMessageBytes
        return table[index].mayBeLong ? most : min(most, configuration.maxFirstMessageBytes)
    }

    /// Allows messages of up to `maxMessageBytes` on this connection: its client is authenticated.
    public func allowLongMessages(_ socket: SocketID) {
        if let index = table.index(socket) { table[index].mayBeLong = true }
    }

    func refuseBinary(_ index: Int) { beginClosing(index, code: 1003, reason: "text messages only") }

    func refuseLength(_ index: Int) {
        beginClosing(index, code: 1009, reason: "at most \(mostMessageBytes(index)) bytes")
    }

    /// Adds a piece to a text message that is not too long.
    func collect(_ piece: UnsafeRawBufferPointer, isLast: Bool, _ index: Int) {
        if table[index].message.isEmpty && isLast {
            return deliver(piece, index)
        }
        guard hold(piece.count, for: table[index].block) else {
            return beginClosing(index, code: 1013, reason: delegate.reasonWhenFull())
        }
        table[index].message.append(contentsOf: piece)
        guard isLast else { return }
        let message = table[index].message
        dropMessage(index)
        message.withUnsafeBytes { deliver($0, index) }
    }

    /// Releases the fragments of a message.
    func dropMessage(_ index: Int) {
        letGo(table[index].message.count, of: table[index].block)
        table[index].message = []
    }

    private func deliver(_ message: UnsafeRawBufferPointer, _ index: Int) {
        guard message.isValidUTF8 else {
            return beginClosing(index, code: 1007, reason: "not UTF-8")
        }
        if keepIfPaused(message, index) { return }
        counters.messagesReceived += 1
        delegate.received(message, on: table.id(index))
    }
}

extension UnsafeRawBufferPointer {
    /// The server checks whole messages itself: libwebsockets would close with a handshake of its own that can hang for
    /// 5 s.
    var isValidUTF8: Bool {
        withMemoryRebound(to: UInt8.self) { bytes in
            (try? UTF8Span(validating: bytes.span)) != nil
        }
    }
}
