import CEpoll
import Glibc

/// From the socket to the scenario.
extension Engine {
    func finishConnect(_ id: ConnectionID, _ scenario: some Scenario) {
        var status: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(connections[Int(id.slot)].descriptor, SOL_SOCKET, SO_ERROR, &status, &size)
        guard status == 0 else {
            let url = endpoints[connections[Int(id.slot)].server].url
            return end(id, .refused("no server answers at \(url): \(Failure.reason(status))"), scenario)
        }
        connections[Int(id.slot)].phase = .upgrading
        watch(connections[Int(id.slot)].descriptor, EPOLLIN.rawValue, EPOLL_CTL_MOD, data: id.packed)
        write(upgrades[connections[Int(id.slot)].server].request, on: id)
    }

    func receive(_ id: ConnectionID, _ scenario: some Scenario) {
        let slot = Int(id.slot)
        let begun = connections[slot].inbox.count
        if begun > 0 {
            connections[slot].inbox.withUnsafeBytes { scratch.copyMemory(from: $0) }
            connections[slot].inbox = []
        }
        let count = recv(connections[slot].descriptor, scratch.baseAddress! + begun, scratch.count - begun, 0)
        let at = Instant.now()
        guard count > 0 else {
            if count < 0, errno == EAGAIN || errno == EINTR {
                connections[slot].inbox = [UInt8](scratch[..<begun])
                return
            }
            return end(id, .lost(count == 0 ? "the server hung up" : Failure.reason()), scenario)
        }
        reads += 1
        let bytes = UnsafeRawBufferPointer(rebasing: scratch[..<(begun + count)])
        var used = 0
        if connections[slot].phase == .upgrading {
            switch upgrades[connections[slot].server].judge(bytes) {
            case .incomplete: break
            case .refused(let why): return end(id, .refused(why), scenario)
            case .accepted(let length):
                used = length
                connections[slot].phase = .open
                scenario.opened(id, tag: connections[slot].tag)
            }
        }
        used = receiveTexts(bytes, from: used, id, at, scenario)
        while isCurrent(id), connections[slot].phase == .open || connections[slot].phase == .closing {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[used...])
            guard let length = receiveFrame(rest, id, at, scenario) else { break }
            used = receiveTexts(bytes, from: used + length, id, at, scenario)
        }
        if isCurrent(id), used < bytes.count { connections[slot].inbox = [UInt8](bytes[used...]) }
    }

    /// Handles whole text messages of less than 64 KiB in one frame, from `start` on; nearly all messages are such.
    /// Returns the position of the first other frame.
    private func receiveTexts(
        _ bytes: UnsafeRawBufferPointer, from start: Int, _ id: ConnectionID, _ at: Instant, _ scenario: some Scenario
    ) -> Int {
        guard isCurrent(id), connections[Int(id.slot)].phase == .open, fragments[id.slot] == nil else { return start }
        let tag = connections[Int(id.slot)].tag
        var used = start
        while used + 4 <= bytes.count, bytes[used] == 0x81 {
            var head = 2
            var length = Int(bytes[used + 1])
            if length == 126 {
                head = 4
                length = Int(bytes[used + 2]) << 8 | Int(bytes[used + 3])
            } else if length > 126 {
                break
            }
            let end = used + head + length
            guard end <= bytes.count else { break }
            scenario.received(
                UnsafeRawBufferPointer(rebasing: bytes[(used + head)..<end]), on: id, tag: tag, at: at)
            used = end
            guard isCurrent(id), connections[Int(id.slot)].phase == .open else { break }
        }
        return used
    }

    /// Handles the frame at the beginning of `bytes` and returns its length; `nil` if it is incomplete.
    private func receiveFrame(
        _ bytes: UnsafeRawBufferPointer, _ id: ConnectionID, _ at: Instant, _ scenario: some Scenario
    ) -> Int? {
        let header: FrameHeader
        switch FrameHeader.parse(bytes) {
        case .incomplete: return nil
        case .violation(let what):
            end(id, .violation(what), scenario)
            return nil
        case .header(let parsed): header = parsed
        }
        let length = header.length + header.payloadLength
        guard bytes.count >= length else { return nil }
        let payload = UnsafeRawBufferPointer(rebasing: bytes[header.length..<length])
        switch header.opcode {
        case .ping: transmit(.pong, payload, on: id)
        case .pong: break
        case .close: receiveClose(payload, id, scenario)
        case .binary: end(id, .violation("a binary message"), scenario)
        case .text, .continuation: receiveText(payload, header, id, at, scenario)
        }
        return length
    }

    private func receiveText(
        _ payload: UnsafeRawBufferPointer, _ header: FrameHeader, _ id: ConnectionID, _ at: Instant,
        _ scenario: some Scenario
    ) {
        guard (fragments[id.slot] != nil) == (header.opcode == .continuation) else {
            return end(id, .violation("a fragment out of order"), scenario)
        }
        if header.isFinal, header.opcode == .text { return deliver(payload, id, at, scenario) }
        fragments[id.slot, default: []].append(contentsOf: payload)
        guard fragments[id.slot]!.count <= FrameHeader.longestPayload else {
            return end(id, .violation("an endless message"), scenario)
        }
        guard header.isFinal, let whole = fragments.removeValue(forKey: id.slot) else { return }
        whole.withUnsafeBytes { deliver($0, id, at, scenario) }
    }

    private func deliver(
        _ message: UnsafeRawBufferPointer, _ id: ConnectionID, _ at: Instant, _ scenario: some Scenario
    ) {
        // Messages on a connection that the scenario has closed are ignored.
        guard connections[Int(id.slot)].phase == .open else { return }
        scenario.received(message, on: id, tag: connections[Int(id.slot)].tag, at: at)
    }

    private func receiveClose(_ payload: UnsafeRawBufferPointer, _ id: ConnectionID, _ scenario: some Scenario) {
        let code = payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : nil
        let reason = String(decoding: payload.dropFirst(2), as: UTF8.self)
        if connections[Int(id.slot)].phase == .open { transmit(.close, payload.prefix(2), on: id) }
        end(id, .closed(code: code, reason: reason), scenario)
    }
}
