import CLibWebSockets
import EventLoops
import Glibc

/// Ends connections.
///
/// The server writes the close frame, discards further input, and ends the connection when the peer's close frame
/// arrives or the deadline passes. It does so over TLS too, since libwebsockets' own closing handshake keeps a timer
/// for each connection in a sorted list and waits up to 5 s to flush a slow connection. But a close frame that the peer
/// sends first is answered by libwebsockets over TLS.
extension WebSocketServer {
    /// Sends a close frame, waits `closeTimeout` for the peer's, and ends the connection. Then `closed` is called,
    /// never from inside this call.
    ///
    /// - Parameter reason: at most 123 bytes; longer ones are truncated.
    public func close(_ socket: SocketID, code: UInt16, reason: String = "") {
        guard let index = table.index(socket), table[index].state == .open, !table[index].isDoomed else { return }
        beginClosing(index, code: code, reason: reason)
    }

    /// Ends the connection without a close frame at the end of this turn; then `closed` is called.
    public func abort(_ socket: SocketID) {
        guard let index = table.index(socket), table[index].state == .open || table[index].state == .closing else {
            return
        }
        doom(index)
    }

    func beginClosing(_ index: Int, code: UInt16, reason: String) {
        table[index].state = .closing
        table[index].ownCode = code
        dropMessage(index)
        dropBacklog(index)
        // The peer's answer to the close frame must be read.
        if let source = table[index].source {
            resumeSource(source, table.id(index))
        } else {
            lws_rx_flow_control(table[index].wsi, 1)
        }
        WebSocketFrame.close(code: code, reason: reason).withUnsafeBytes { _ = send($0, index) }
        guard !table[index].isDoomed else { return }
        closings.add(table.id(index), now: loop.now)
        armDeadlines()
    }

    func doom(_ index: Int) {
        guard !table[index].isDoomed else { return }
        table[index].isDoomed = true
        doomed.append(table.id(index))
        // If the turn is already ending, this causes one more pass.
        loop.execute {}
    }

    /// Ends the doomed connections at the end of the turn, outside all callbacks.
    func reap() {
        while !doomed.isEmpty {
            let batch = doomed
            doomed = []
            for socket in batch {
                guard let index = table.index(socket) else { continue }
                kill(index)
            }
        }
    }

    /// Ends the connection immediately. Must not be called inside one of its callbacks.
    func kill(_ index: Int) {
        if let wsi = table[index].wsi {
            clws_kill(wsi, table[index].isSettled)
        } else if table[index].source != nil {
            hangUp(index)
        } else {
            discard(index)
        }
    }

    /// Ends a WebSocket without TLS.
    private func hangUp(_ index: Int) {
        let descriptor = table[index].descriptor
        finishReading(index)
        // Before the descriptor's number can belong to another connection.
        dropSource(index)
        table[index].descriptor = -1
        Glibc.close(descriptor)
        depth += 1
        defer { depth -= 1 }
        ended(index)
        forget(index)
    }

    // MARK: - Deadlines

    /// Computed for each connection, so it makes no array.
    private var nextDeadline: Int64? {
        let opening = min(handshakes.next ?? .max, transfers.next ?? .max)
        let next = min(opening, min(closings.next ?? .max, idles.next ?? .max))
        return next < .max ? next : nil
    }

    func armDeadlines() {
        guard let timer = deadlineTimer, let next = nextDeadline else { return }
        if let due = timer.due, due <= next { return }
        timer.set(at: max(next, excusedUntil))
    }

    /// In ms. Deadlines are met later than this only if the loop was suspended (SIGSTOP, a stalled machine). Deadlines
    /// are then put off by the pause, so that input that arrived meanwhile is read first.
    private static let standstill: Int64 = 1_000

    func meetDeadlines() {
        if excusedUntil < loop.now - Self.standstill, let next = nextDeadline, next < loop.now - Self.standstill {
            excusedUntil = loop.now + Self.standstill
            return armDeadlines()
        }
        while let socket = handshakes.take(now: loop.now) {
            guard let index = table.index(socket), isShakingHands(index) else { continue }
            counters.handshakeTimeouts += 1
            doom(index)
        }
        while let socket = closings.take(now: loop.now) {
            guard let index = table.index(socket) else { continue }
            if table[index].state == .closing || table[index].state == .draining { doom(index) }
        }
        while let socket = idles.take(now: loop.now) { checkIdle(socket) }
        while let socket = transfers.take(now: loop.now) { checkTransfer(socket) }
        armDeadlines()
    }

    /// A connection in HTTP has had its time since the last check, though possibly not for its current step.
    private func checkIdle(_ socket: SocketID) {
        guard let index = table.index(socket), let http = table[index].extras?.http, http.isTimed else { return }
        http.isTimed = false
        guard table[index].state == .http, http.transfer == nil, let since = table[index].extras?.since else { return }
        let due = since + Int64(configuration.httpTimeout) * 1_000
        guard due <= loop.now else {
            http.isTimed = true
            return idles.add(socket, due: due)
        }
        guard http.stage == .judging || http.stage == .answering else { return doom(index) }
        // The server is late, not the client: the client gets an error, and may repeat the request.
        counters.lateAnswers += 1
        let response = configuration.errorResponse(503, "no answer in time: the request may still take effect")
        if refuse(index, http, response) { advance(socket) }
    }

    /// Whether it has sent neither an upgrade nor a first complete request.
    private func isShakingHands(_ index: Int) -> Bool { table[index].extras?.http?.isShakingHands ?? false }

    // MARK: - Events from the peer and libwebsockets

    /// Handles the peer's close frame. Returns whether to disconnect immediately, instead of echoing it (RFC 6455,
    /// 5.5.1, 7.4 and 8.1).
    func peerCloses(_ index: Int, _ payload: UnsafeRawBufferPointer) -> Bool {
        if table[index].state == .closing { return true }
        guard let frame = CloseFrame(payload) else { return violated(index, 1002, "a close frame has a code") }
        if let code = frame.code, !CloseFrame.mayBeSent(code) {
            return violated(index, 1002, "no endpoint may send this code")
        }
        guard let reason = frame.reason else { return violated(index, 1007, "the reason is not UTF-8") }
        extras(index).closure = .byPeer(code: frame.code, reason: reason)
        // Nothing may be written after the answer. If it does not fit into the socket, the deadline ends the
        // connection.
        table[index].state = .closing
        dropMessage(index)
        closings.add(table.id(index), now: loop.now)
        armDeadlines()
        return false
    }

    /// Answers an invalid close frame with one of our own; returns `true`, which disconnects.
    private func violated(_ index: Int, _ code: UInt16, _ reason: String) -> Bool {
        table[index].state = .closing
        table[index].ownCode = code
        dropMessage(index)
        WebSocketFrame.close(code: code, reason: reason).withUnsafeBytes { _ = send($0, index) }
        return true
    }

    private func extras(_ index: Int) -> ConnectionTable.Extras {
        let extras = table[index].extras ?? .init()
        table[index].extras = extras
        return extras
    }

    /// libwebsockets begins to close: at the end of every connection, and after a violation of the protocol. After a
    /// violation it sends a close frame itself, after which nothing may be written, and would wait 5 s for the peer.
    func closingBegins(_ index: Int) {
        guard table[index].state == .open else { return }
        table[index].state = .closing
        closings.add(table.id(index), now: loop.now)
        armDeadlines()
    }

    /// The WebSocket has ended.
    func ended(_ index: Int) {
        guard table[index].isAnnounced else { return }
        table[index].isAnnounced = false
        openCount -= 1
        let socket = table.id(index)
        let closure: Closure
        if table[index].ownCode != 0 {
            closure = .byServer(code: table[index].ownCode)
        } else if let byPeer = table[index].extras?.closure {
            closure = byPeer
        } else if let wsi = table[index].wsi, lws_get_close_length(wsi) >= 2, let payload = lws_get_close_payload(wsi) {
            // libwebsockets found a violation of the protocol and closed by itself.
            closure = .byServer(code: UInt16(payload[0]) << 8 | UInt16(payload[1]))
        } else {
            closure = .lost
        }
        // Later calls for this connection do nothing.
        table[index].state = .closing
        delegate.closed(socket, closure)
    }

    /// libwebsockets has released the connection.
    func destroyed(_ index: Int) {
        if let http = table[index].extras?.http, table[index].isSecure, !http.hasSpoken { counters.tlsFailures += 1 }
        if table[index].isAnnounced {
            table[index].isAnnounced = false
            openCount -= 1
            delegate.closed(table.id(index), .lost)
        }
        forget(index)
    }
}
