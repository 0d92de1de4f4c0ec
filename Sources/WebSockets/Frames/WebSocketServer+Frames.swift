import CLibEV
import CLibWebSockets
import Glibc

/// Open connections without TLS.
///
/// libwebsockets does not handle them. It reads 256 bytes at a time, parses them one by one, and needs another turn of
/// the loop after each. For each connection that ends, it searches the whole table of descriptors, which has as many
/// entries as the process may have open files (4.1.6, `sanity_assert_no_sockfd_traces`).
extension WebSocketServer {
    /// The least that one read takes: some twenty messages. So a peer that sends without pause delays the others only
    /// by the time for these messages; the kernel wakes the loop for further ones in the next turn.
    private static let frameReadSize = 4 * 1024
    /// The most reads after a peer's last frame. Their bytes are discarded before the connection ends.
    private static let drainedAtEnd = 16

    // MARK: - Beginning and end

    /// Starts reading the connection: first `early`, the bytes that arrived with the request.
    func beginReading(_ socket: SocketID, _ early: [UInt8]) {
        guard let index = table.index(socket), let source = table[index].source else { return }
        guard !early.isEmpty else { return source.pointee.watch(loop) }
        notifyHeard(index)
        var early = early
        early.withUnsafeMutableBytes { receive($0, socket) }
        watch(socket)
    }

    func dropSource(_ index: Int) {
        guard let source = table[index].source else { return }
        table[index].source = nil
        letGo(source.pointee.rest.count, of: table[index].block)
        FrameSource.free(source, loop)
    }

    private func watch(_ socket: SocketID) {
        guard let index = table.index(socket) else { return }
        table[index].source?.pointee.watch(loop)
    }

    /// Ends the connection when the kernel has accepted everything, or at the deadline.
    private func endOnceWritten(_ index: Int) {
        guard let source = table[index].source, !source.pointee.unsent.isEmpty else { return doom(index) }
        source.pointee.hangsUp = true
        closings.add(table.id(index), now: loop.now)
        armDeadlines()
    }

    /// Called before the connection ends. If bytes were left unread, the kernel would send a reset, and discard those
    /// of our bytes that the peer has not read yet.
    func finishReading(_ index: Int) {
        // If the peer has shut down its side, there are no more bytes.
        guard let source = table[index].source, !source.pointee.isAtEnd else { return }
        Glibc.shutdown(table[index].descriptor, Int32(SHUT_WR))
        guard table[index].state == .closing else { return }
        for _ in 0..<Self.drainedAtEnd {
            guard receive(index, atMost: frameScratch.count) == frameScratch.count else { return }
        }
    }

    // MARK: - Bytes

    private func receive(_ index: Int, atMost room: Int) -> Int {
        recv(table[index].descriptor, frameScratch.baseAddress, room, Int32(MSG_DONTWAIT))
    }

    /// Called with the events for which the connection was watched.
    func ready(_ socket: SocketID, _ events: Int32) {
        depth += 1
        defer { depth -= 1 }
        // Reads first: the close frame of a disconnected peer is still there.
        if events & Int32(EV_READ) != 0 { readFrames(socket) }
        if events & Int32(EV_WRITE) != 0 { writeRest(socket) }
    }

    private func readFrames(_ socket: SocketID) {
        guard let index = table.index(socket), let source = table[index].source, !table[index].isDoomed else { return }
        // More bytes may be read at once if they belong to one long frame.
        let room = min(max(Self.frameReadSize, source.pointee.reader.payloadLeft), frameScratch.count)
        let count = receive(index, atMost: room)
        if count > 0 {
            notifyHeard(index)
            receive(UnsafeMutableRawBufferPointer(rebasing: frameScratch[..<count]), socket)
            return watch(socket)
        }
        guard count < 0 else {
            source.pointee.isAtEnd = true
            source.pointee.watch(loop)
            // Later calls for this connection do nothing.
            table[index].state = .closing
            return endOnceWritten(index)
        }
        if errno != EAGAIN && errno != EINTR { doom(index) }
    }

    private func notifyHeard(_ index: Int) {
        if table[index].state == .open { delegate.heard(table.id(index)) }
    }

    /// Processes the frames that have arrived, until the connection is paused or must end.
    private func receive(_ bytes: UnsafeMutableRawBufferPointer, _ socket: SocketID) {
        var place = 0
        defer { reportIdle(socket) }
        while let index = table.index(socket), let source = table[index].source, !table[index].isDoomed {
            guard !source.pointee.isPaused else { return keep(bytes[place...], index) }
            let event = source.pointee.reader.next(in: bytes, at: &place, limit: mostMessageBytes(index))
            switch event {
            case .control(let control, let piece, let isLast):
                if isLast { countIdle(index) }
                receive(control, UnsafeRawBufferPointer(rebasing: bytes[piece]), isLast: isLast, index, source)
            case .text(let piece, let isLast):
                sendPongs(index)
                guard table[index].state == .open else { continue }
                counters.bytesReceived += piece.count
                if !isLast, source.pointee.reader.payloadLeft == 0 { countIdle(index) }
                collect(UnsafeRawBufferPointer(rebasing: bytes[piece]), isLast: isLast, index)
            case .refused(let refusal):
                sendPongs(index)
                refuse(refusal, index)
            case .fault(let fault):
                sendPongs(index)
                fail(fault, index)
            case .needsMore:
                return sendPongs(index)
            }
        }
        pongs.removeAll(keepingCapacity: true)
    }

    private func refuse(_ refusal: FrameReader.Refusal, _ index: Int) {
        guard table[index].state == .open else { return }
        switch refusal {
        case .binary: refuseBinary(index)
        case .tooLong: refuseLength(index)
        }
    }

    /// The peer's bytes after the violation have no meaning, not even a close frame. So our side is shut down
    /// immediately.
    private func fail(_ fault: FrameReader.Fault, _ index: Int) {
        guard table[index].state == .open else { return }
        beginClosing(index, code: 1002, reason: fault.rawValue)
        guard table[index].source?.pointee.unsent.isEmpty == true else { return }
        Glibc.shutdown(table[index].descriptor, Int32(SHUT_WR))
    }

    // MARK: - Pausing

    /// Keeps bytes that were read but must not be processed yet.
    private func keep(_ rest: Slice<UnsafeMutableRawBufferPointer>, _ index: Int) {
        sendPongs(index)
        guard !rest.isEmpty, let source = table[index].source else { return }
        guard hold(rest.count, for: table[index].block) else {
            // The position of the next frame is now unknown.
            source.pointee.reader.stop()
            return beginClosing(index, code: 1013, reason: delegate.reasonWhenFull())
        }
        source.pointee.rest = Array(rest)
    }

    func pauseSource(_ source: UnsafeMutablePointer<FrameSource>) {
        source.pointee.isPaused = true
        source.pointee.watch(loop)
    }

    /// Resumes reading, beginning with the kept bytes. This happens at the end of the turn, since the delegate is in
    /// the middle of a call.
    func resumeSource(_ source: UnsafeMutablePointer<FrameSource>, _ socket: SocketID) {
        guard source.pointee.isPaused else { return }
        source.pointee.isPaused = false
        guard !source.pointee.rest.isEmpty else { return source.pointee.watch(loop) }
        resumed.append(socket)
        loop.execute {}
    }

    /// Processes the kept bytes, at the end of the turn.
    func receiveRest(_ socket: SocketID) {
        guard let index = table.index(socket), let source = table[index].source, !source.pointee.isPaused else {
            return
        }
        var rest = source.pointee.rest
        source.pointee.rest = []
        letGo(rest.count, of: table[index].block)
        rest.withUnsafeMutableBytes { receive($0, socket) }
        watch(socket)
    }

    // MARK: - Control frames

    private func receive(
        _ control: FrameReader.Control, _ piece: UnsafeRawBufferPointer, isLast: Bool, _ index: Int,
        _ source: UnsafeMutablePointer<FrameSource>
    ) {
        // A payload that arrives whole is not copied.
        if isLast && source.pointee.control.isEmpty { return receive(control, piece, index, source) }
        source.pointee.control += piece
        guard isLast else { return }
        let whole = source.pointee.control
        source.pointee.control = []
        whole.withUnsafeBytes { receive(control, $0, index, source) }
    }

    private func receive(
        _ control: FrameReader.Control, _ payload: UnsafeRawBufferPointer, _ index: Int,
        _ source: UnsafeMutablePointer<FrameSource>
    ) {
        switch control {
        case .pong: break
        case .ping:
            guard table[index].state == .open else { return }
            guard source.pointee.pong.isEmpty, source.pointee.unsent.isEmpty else {
                // Only the latest ping is answered, once there is room (RFC 6455, 5.5.3).
                source.pointee.pong.removeAll()
                WebSocketFrame.appendPong(payload, to: &source.pointee.pong)
                return
            }
            WebSocketFrame.appendPong(payload, to: &pongs)
        case .close:
            sendPongs(index)
            if !peerCloses(index, payload) { echoClose(payload, index) }
            endOnceWritten(index)
        }
    }

    /// Echoes the peer's close frame.
    private func echoClose(_ payload: UnsafeRawBufferPointer, _ index: Int) {
        ([0x88, UInt8(payload.count)] + payload).withUnsafeBytes { _ = send($0, index) }
    }

    /// Answers the pings of one read, in one write.
    private func sendPongs(_ index: Int) {
        guard !pongs.isEmpty else { return }
        pongs.withUnsafeBytes { writePongs($0, index) }
        pongs.removeAll(keepingCapacity: true)
    }

    /// Does not use `write`: the delegate does not wait for these bytes, and notices a full socket when it writes
    /// itself.
    private func writePongs(_ frames: UnsafeRawBufferPointer, _ index: Int) {
        guard table[index].state == .open, !table[index].isDoomed else { return }
        _ = sendDirectly(frames, index)
    }

    // MARK: - Writing

    /// Sends to a connection without TLS, and keeps bytes that the kernel does not accept. `false` if the connection
    /// broke; it is then ended at the end of the turn.
    func sendDirectly(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> Bool {
        guard let source = table[index].source else { return false }
        guard source.pointee.unsent.isEmpty else {
            source.pointee.keep(bytes[...], loop)
            return true
        }
        let sent = Glibc.send(table[index].descriptor, bytes.baseAddress, bytes.count, Self.sendFlags)
        return sent == bytes.count || keepUnsent(bytes, sent, index)
    }

    /// Called if `send` accepted less than all of `bytes`: keeps the rest. The result is as above.
    func keepUnsent(_ bytes: UnsafeRawBufferPointer, _ sent: Int, _ index: Int) -> Bool {
        guard sent >= 0 || errno == EAGAIN || errno == EINTR, let source = table[index].source else {
            doom(index)
            return false
        }
        source.pointee.keep(bytes[max(0, sent)...], loop)
        table[index].unsent = .answers
        return true
    }

    /// Called when the kernel's buffer has room.
    private func writeRest(_ socket: SocketID) {
        guard let index = table.index(socket), let source = table[index].source, !table[index].isDoomed,
            !source.pointee.unsent.isEmpty
        else { return }
        guard source.pointee.sendRest(loop) else { return doom(index) }
        if source.pointee.unsent.isEmpty { wroteAll(index, source) }
    }

    private func wroteAll(_ index: Int, _ source: UnsafeMutablePointer<FrameSource>) {
        let wasCongested = table[index].unsent == .writes
        table[index].unsent = .nothing
        if source.pointee.hangsUp { return doom(index) }
        guard table[index].state == .open else { return }
        if !source.pointee.pong.isEmpty {
            let pong = source.pointee.pong
            source.pointee.pong = []
            pong.withUnsafeBytes { writePongs($0, index) }
            guard !table[index].isDoomed else { return }
            guard source.pointee.unsent.isEmpty else {
                // `writable` is called again.
                if wasCongested { table[index].unsent = .writes }
                return
            }
        }
        if wasCongested { delegate.writable(table.id(index)) }
    }
}
