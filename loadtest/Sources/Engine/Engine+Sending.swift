import CEpoll
import Glibc

/// From the scenario to the socket.
extension Engine {
    func transmit(_ opcode: FrameHeader.Opcode, _ payload: some Collection<UInt8>, on id: ConnectionID) {
        outgoing.removeAll(keepingCapacity: true)
        writer.append(opcode, payload, to: &outgoing)
        write(outgoing, on: id)
    }

    func transmit(_ opcode: FrameHeader.Opcode, _ payloads: [[UInt8]], on id: ConnectionID) {
        outgoing.removeAll(keepingCapacity: true)
        for payload in payloads { writer.append(opcode, payload, to: &outgoing) }
        write(outgoing, on: id)
    }

    /// Writes as much as the socket accepts and keeps the rest. The next read handles an error, since it gets it too.
    func write(_ bytes: [UInt8], on id: ConnectionID) {
        let slot = Int(id.slot)
        guard connections[slot].outbox.isEmpty else { return connections[slot].outbox.append(contentsOf: bytes) }
        let count = bytes.withUnsafeBytes {
            Glibc.send(connections[slot].descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count < bytes.count, count >= 0 || errno == EAGAIN else { return }
        connections[slot].outbox = [UInt8](bytes[max(0, count)...])
        watch(connections[slot].descriptor, interest(id) | EPOLLOUT.rawValue, EPOLL_CTL_MOD, data: id.packed)
    }

    private func interest(_ id: ConnectionID) -> UInt32 {
        connections[Int(id.slot)].isPaused ? 0 : EPOLLIN.rawValue
    }

    func flush(_ id: ConnectionID) {
        let waiting = connections[Int(id.slot)].outbox
        connections[Int(id.slot)].outbox = []
        watch(connections[Int(id.slot)].descriptor, interest(id), EPOLL_CTL_MOD, data: id.packed)
        if !waiting.isEmpty { write(waiting, on: id) }
    }
}
