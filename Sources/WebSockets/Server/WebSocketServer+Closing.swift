import CLibWebSockets
import EventLoops
import Glibc

/// How connections end.
///
/// We write the close frame, throw away what still arrives, and end the connection when the peer's close frame comes or the
/// deadline passes. So it is over TLS too, since libwebsockets' own closing handshake keeps a timer for each connection in
/// a sorted list and waits up to 5 s to flush a slow one; but there it answers a close frame of the peer.
extension WebSocketServer {
    /// Sends a close frame, waits `closeTimeout` for the peer's, and ends the connection. The delegate hears `closed`
    /// then, never from inside this call.
    ///
    /// - Parameter reason: at most 123 bytes; longer ones are cut.
    public func close(_ socket: SocketID, code: UInt16, reason: String = "") {
        guard let index = table.index(socket), table[index].state == .open, !table[index].isDoomed else { return }
        beginClosing(index, code: code, reason: reason)
    }

    /// Ends the connection without a close frame at the end of this turn; then the delegate hears `closed`.
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
        // The answer to our close frame has to be read.
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
        // If the turn is ending already, it has to come round to us once more.
        loop.execute {}
    }

    /// At the end of the turn, outside of all callbacks, connections can be ended at once.
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

    /// Ends the connection at once. Not inside a callback of it.
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
        // Before the number can be another connection's.
        dropSource(index)
        table[index].descriptor = -1
        Glibc.close(descriptor)
        depth += 1
        defer { depth -= 1 }
        ended(index)
        forget(index)
    }

    // MARK: - Deadlines

    /// Asked for with each connection: no array is made of them.
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

    /// ms by which deadlines are met late only if the loop stood still (SIGSTOP, a stalled machine), and for which they are then
    /// put off: what came meanwhile is read first.
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

    /// A connection of HTTP has had its time since it was last looked at, though perhaps not for its present step.
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
        // The server is late, not the client: the client is told, and may ask again.
        counters.lateAnswers += 1
        let response = configuration.errorResponse(503, "no answer in time: it may have been done, or be done yet")
        if refuse(index, http, response) { advance(socket) }
    }

    /// Whether it has not got as far as a WebSocket or a first whole request.
    private func isShakingHands(_ index: Int) -> Bool { table[index].extras?.http?.isShakingHands ?? false }

    // MARK: - What the peer and libwebsockets tell

    /// The peer's close frame. Whether to hang up at once, instead of answering it with what it holds (RFC 6455, 5.5.1, 7.4
    /// and 8.1).
    func peerCloses(_ index: Int, _ payload: UnsafeRawBufferPointer) -> Bool {
        if table[index].state == .closing { return true }
        guard let frame = CloseFrame(payload) else { return violated(index, 1002, "a close frame has a code") }
        if let code = frame.code, !CloseFrame.mayBeSent(code) {
            return violated(index, 1002, "no endpoint may send this code")
        }
        guard let reason = frame.reason else { return violated(index, 1007, "the reason is not UTF-8") }
        extras(index).closure = .byPeer(code: frame.code, reason: reason)
        // Nothing may be written behind the answer. If it does not fit into the socket, our deadline ends the connection.
        table[index].state = .closing
        dropMessage(index)
        closings.add(table.id(index), now: loop.now)
        armDeadlines()
        return false
    }

    /// Answers a close frame that is none with one of our own; `true`, which hangs up.
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

    /// libwebsockets begins to close: at the end of every connection, and when it found the protocol broken. Then it
    /// sends a close frame by itself, behind which nothing may be written, and would wait 5 s for the peer.
    func closingBegins(_ index: Int) {
        guard table[index].state == .open else { return }
        table[index].state = .closing
        closings.add(table.id(index), now: loop.now)
        armDeadlines()
    }

    /// The WebSocket is over.
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
            // libwebsockets found the protocol broken and closed by itself.
            closure = .byServer(code: UInt16(payload[0]) << 8 | UInt16(payload[1]))
        } else {
            closure = .lost
        }
        // Whatever is called on it from now on does nothing.
        table[index].state = .closing
        delegate.closed(socket, closure)
    }

    /// libwebsockets has forgotten the connection.
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
