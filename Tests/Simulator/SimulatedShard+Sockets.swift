import PresenceProtocol
import WebSockets

@testable import PresenceCore
@testable import PresenceServer

/// Ids of sockets like the real ones: an index is reused with another generation.
struct SimulatedSocketIDs {
    private var generations: [UInt32] = []
    private var free: [UInt32] = []

    mutating func reserve() -> SocketID {
        if let index = free.popLast() {
            generations[Int(index)] += 1
            return SocketID(index: index, generation: generations[Int(index)])
        }
        generations.append(1)
        return SocketID(index: UInt32(generations.count - 1), generation: 1)
    }

    mutating func release(_ socket: SocketID) { free.append(socket.index) }
}

extension SimulatedShard: Sockets {
    func accept(_ client: SimulatedClient) -> SocketID {
        let socket = sockets.reserve()
        clients[socket] = client
        input { $0.opened(socket, headerToken: nil) }
        return socket
    }

    func deliver(_ message: [UInt8], from socket: SocketID) {
        input { logic in message.withUnsafeBytes { logic.received($0, on: socket) } }
    }

    func hangUp(_ socket: SocketID, code: UInt16?) {
        guard clients.removeValue(forKey: socket) != nil else { return }
        ended(socket, code: code, hadCloseFrame: code != nil || world.misbehaviour.contains(.takesLossForGoodbye))
    }

    private func ended(_ socket: SocketID, code: UInt16?, hadCloseFrame: Bool) {
        input { [unowned self] logic in
            logic.closed(socket, code: code, hadCloseFrame: hadCloseFrame)
            sockets.release(socket)
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, to socket: SocketID) -> WriteResult {
        guard let client = clients[socket] else { return .refused }
        return client.receive(Array(bytes))
    }

    func drained(_ socket: SocketID) { input { $0.writable(socket) } }

    func ping(_ socket: SocketID) {
        guard let client = clients[socket], client.answersPings else { return }
        world.after(world.wayThrough()) { [weak self] in self?.input { $0.heard(socket) } }
    }

    func close(_ socket: SocketID, code: CloseCode, reason: String) {
        guard let client = clients.removeValue(forKey: socket) else { return }
        client.closed(by: code, reason: reason)
        world.after(1) { [weak self] in self?.ended(socket, code: code.rawValue, hadCloseFrame: true) }
    }

    func silence(of socket: SocketID) -> Milliseconds? { nil }
    /// Input that arrived while a loop was suspended waits for it in order.
    func hasHungUp(_ socket: SocketID) -> Bool { clients[socket] == nil }
    func pauseReading(_ socket: SocketID) {}
    func resumeReading(_ socket: SocketID) {}

    func reserveInbox(_ bytes: Int, of address: AddressBlock) -> Bool {
        guard inboxBytes + bytes <= maxInboxBytes else { return false }
        inboxBytes += bytes
        return true
    }

    func releaseInbox(_ bytes: Int, of address: AddressBlock) { inboxBytes -= bytes }
    func allowLongMessages(_ socket: SocketID) {}
}
