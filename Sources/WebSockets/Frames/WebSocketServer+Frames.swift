import CLibEV
import CLibWebSockets
import Glibc

/// Open connections without TLS.
///
/// libwebsockets does not know of them: it reads 256 bytes at a time, goes through them one by one, has the loop turn
/// once more after each, and with each connection that ends it looks through the whole table of descriptors, which has as
/// many entries as the process may have files open (4.1.6, `sanity_assert_no_sockfd_traces`).
extension WebSocketServer {
    /// What one read takes at least: some twenty messages. So one who sends without end keeps the others waiting for no
    /// longer than these take; the kernel wakes us for more in the next turn.
    private static let frameReadSize = 4 * 1024
    /// So many reads of what a peer sent after its last frame are thrown away before the connection ends.
    private static let drainedAtEnd = 16

    // MARK: - Beginning and end

    /// Reads the connection from now on: `early` first, which came with the request.
    func beginReading(_ socket: SocketID, _ early: [UInt8]) {
        guard let index = table.index(socket), let source = table[index].source else { return }
        guard !early.isEmpty else { return source.pointee.watch(loop) }
        hear(index)
        var early = early
        early.withUnsafeMutableBytes { take($0, socket) }
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

    /// Ends it as soon as everything is with the kernel, or at the deadline.
    private func endOnceWritten(_ index: Int) {
        guard let source = table[index].source, !source.pointee.unsent.isEmpty else { return doom(index) }
        source.pointee.hangsUp = true
        closings.add(table.id(index), now: loop.now)
        armDeadlines()
    }

    /// Before the connection ends: bytes that nobody has read would make the kernel send a reset, and throw away what
    /// the peer has not read of ours.
    func finishReading(_ index: Int) {
        // There is nothing more if the peer has shut its side.
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

    /// What the connection was watched for has come.
    func ready(_ socket: SocketID, _ events: Int32) {
        depth += 1
        defer { depth -= 1 }
        // Reading goes first: of a peer that has gone, its close frame is still there.
        if events & Int32(EV_READ) != 0 { readFrames(socket) }
        if events & Int32(EV_WRITE) != 0 { writeRest(socket) }
    }

    private func readFrames(_ socket: SocketID) {
        guard let index = table.index(socket), let source = table[index].source, !table[index].isDoomed else { return }
        // Of one long frame more may be taken at once.
        let room = min(max(Self.frameReadSize, source.pointee.reader.payloadLeft), frameScratch.count)
        let count = receive(index, atMost: room)
        if count > 0 {
            hear(index)
            take(UnsafeMutableRawBufferPointer(rebasing: frameScratch[..<count]), socket)
            return watch(socket)
        }
        guard count < 0 else {
            source.pointee.isAtEnd = true
            source.pointee.watch(loop)
            // Whatever is called on it from now on does nothing.
            table[index].state = .closing
            return endOnceWritten(index)
        }
        if errno != EAGAIN && errno != EINTR { doom(index) }
    }

    private func hear(_ index: Int) {
        if table[index].state == .open { delegate.heard(table.id(index)) }
    }

    /// Takes the frames that have come, until the connection is paused or to be ended.
    private func take(_ bytes: UnsafeMutableRawBufferPointer, _ socket: SocketID) {
        var place = 0
        defer { tellIdle(socket) }
        while let index = table.index(socket), let source = table[index].source, !table[index].isDoomed {
            guard !source.pointee.isPaused else { return keep(bytes[place...], index) }
            let event = source.pointee.reader.next(in: bytes, at: &place, limit: mostMessageBytes(index))
            switch event {
            case .control(let control, let piece, let isLast):
                if isLast { noteIdle(index) }
                take(control, UnsafeRawBufferPointer(rebasing: bytes[piece]), isLast: isLast, index, source)
            case .text(let piece, let isLast):
                sendPongs(index)
                guard table[index].state == .open else { continue }
                counters.bytesReceived += piece.count
                if !isLast, source.pointee.reader.payloadLeft == 0 { noteIdle(index) }
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

    /// What comes behind it means nothing, not even a close frame. So the peer is shown the end at once.
    private func fail(_ fault: FrameReader.Fault, _ index: Int) {
        guard table[index].state == .open else { return }
        beginClosing(index, code: 1002, reason: fault.rawValue)
        guard table[index].source?.pointee.unsent.isEmpty == true else { return }
        Glibc.shutdown(table[index].descriptor, Int32(SHUT_WR))
    }

    // MARK: - Pausing

    /// Keeps what was read and is not to be taken yet.
    private func keep(_ rest: Slice<UnsafeMutableRawBufferPointer>, _ index: Int) {
        sendPongs(index)
        guard !rest.isEmpty, let source = table[index].source else { return }
        guard hold(rest.count, for: table[index].block) else {
            // Where the next frame begins is not known any more.
            source.pointee.reader.stop()
            return beginClosing(index, code: 1013, reason: delegate.reasonWhenFull())
        }
        source.pointee.rest = Array(rest)
    }

    func pauseSource(_ source: UnsafeMutablePointer<FrameSource>) {
        source.pointee.isPaused = true
        source.pointee.watch(loop)
    }

    /// Goes on, with what was kept first: at the end of the turn, since the delegate is in the middle of something.
    func resumeSource(_ source: UnsafeMutablePointer<FrameSource>, _ socket: SocketID) {
        guard source.pointee.isPaused else { return }
        source.pointee.isPaused = false
        guard !source.pointee.rest.isEmpty else { return source.pointee.watch(loop) }
        resumed.append(socket)
        loop.execute {}
    }

    /// At the end of the turn.
    func takeRest(_ socket: SocketID) {
        guard let index = table.index(socket), let source = table[index].source, !source.pointee.isPaused else {
            return
        }
        var rest = source.pointee.rest
        source.pointee.rest = []
        letGo(rest.count, of: table[index].block)
        rest.withUnsafeMutableBytes { take($0, socket) }
        watch(socket)
    }

    // MARK: - Control frames

    private func take(
        _ control: FrameReader.Control, _ piece: UnsafeRawBufferPointer, isLast: Bool, _ index: Int,
        _ source: UnsafeMutablePointer<FrameSource>
    ) {
        // What is whole at once is not copied.
        if isLast && source.pointee.control.isEmpty { return take(control, piece, index, source) }
        source.pointee.control += piece
        guard isLast else { return }
        let whole = source.pointee.control
        source.pointee.control = []
        whole.withUnsafeBytes { take(control, $0, index, source) }
    }

    private func take(
        _ control: FrameReader.Control, _ payload: UnsafeRawBufferPointer, _ index: Int,
        _ source: UnsafeMutablePointer<FrameSource>
    ) {
        switch control {
        case .pong: break
        case .ping:
            guard table[index].state == .open else { return }
            guard source.pointee.pong.isEmpty, source.pointee.unsent.isEmpty else {
                // The latest is answered once there is room (RFC 6455, 5.5.3).
                source.pointee.pong.removeAll()
                WebSocketFrame.appendPong(payload, to: &source.pointee.pong)
                return
            }
            WebSocketFrame.appendPong(payload, to: &pongs)
        case .close:
            sendPongs(index)
            if !peerCloses(index, payload) { answerClose(payload, index) }
            endOnceWritten(index)
        }
    }

    /// Says the same as the peer's close frame.
    private func answerClose(_ payload: UnsafeRawBufferPointer, _ index: Int) {
        ([0x88, UInt8(payload.count)] + payload).withUnsafeBytes { _ = send($0, index) }
    }

    /// Answers the pings that came with one read, in one write.
    private func sendPongs(_ index: Int) {
        guard !pongs.isEmpty else { return }
        pongs.withUnsafeBytes { answerPings($0, index) }
        pongs.removeAll(keepingCapacity: true)
    }

    /// Not `write`: the delegate does not wait for it to be taken, and learns of a full socket when it writes itself.
    private func answerPings(_ frames: UnsafeRawBufferPointer, _ index: Int) {
        guard table[index].state == .open, !table[index].isDoomed else { return }
        _ = sendDirectly(frames, index)
    }

    // MARK: - Writing

    /// Sends to a connection without TLS, and keeps what the kernel does not take. `false` if it broke; then it is ended at
    /// the end of the turn.
    func sendDirectly(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> Bool {
        guard let source = table[index].source else { return false }
        guard source.pointee.unsent.isEmpty else {
            source.pointee.keep(bytes[...], loop)
            return true
        }
        let sent = Glibc.send(table[index].descriptor, bytes.baseAddress, bytes.count, Self.sendFlags)
        return sent == bytes.count || keepUnsent(bytes, sent, index)
    }

    /// What `send` has just answered for `bytes` is not their number: keeps the rest. As above.
    func keepUnsent(_ bytes: UnsafeRawBufferPointer, _ sent: Int, _ index: Int) -> Bool {
        guard sent >= 0 || errno == EAGAIN || errno == EINTR, let source = table[index].source else {
            doom(index)
            return false
        }
        source.pointee.keep(bytes[max(0, sent)...], loop)
        table[index].unsent = .answers
        return true
    }

    /// There is room in the kernel's buffer.
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
            pong.withUnsafeBytes { answerPings($0, index) }
            guard !table[index].isDoomed else { return }
            guard source.pointee.unsent.isEmpty else {
                // It is called again.
                if wasCongested { table[index].unsent = .writes }
                return
            }
        }
        if wasCongested { delegate.writable(table.id(index)) }
    }
}
