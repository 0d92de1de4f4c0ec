import EventLoops
import Foundation
import WebSockets

@testable import PresenceTesting

/// The same server on a real socket, for clients in other processes.
final class SocketMessageServer: Sendable {
    let port: Int
    private let loop: EventLoop
    private let onLoop = OnLoop()

    var url: URL { URL(string: "ws://127.0.0.1:\(port)/v1/ws")! }

    init(_ server: InMemoryServer) throws {
        loop = try EventLoop(name: "message-server")
        var configuration = WebSocketServerConfiguration()
        configuration.subprotocols = ["presence.v1"]
        onLoop.delegate = Delegate(server, loop, onLoop)
        onLoop.server = try WebSocketServer(loop: loop, configuration: configuration, delegate: onLoop.delegate)
        let socket = try ListeningSocket.single(host: "127.0.0.1", port: 0)
        port = socket.port
        onLoop.server.listen(on: socket)
        loop.start()
    }

    func stop() {
        loop.execute { [onLoop] in
            onLoop.server.shutdown()
            onLoop.server = nil
            onLoop.delegate = nil
        }
        loop.stop()
        loop.join()
    }

    /// @unchecked: filled before the loop runs, used on it, emptied at its end.
    private final class OnLoop: @unchecked Sendable {
        var server: WebSocketServer!
        var delegate: Delegate!
    }

    /// Confined to the loop.
    private final class Delegate: WebSocketServerDelegate {
        private let server: InMemoryServer
        private let loop: EventLoop
        private let onLoop: OnLoop
        private var peers: [SocketID: Int] = [:]
        /// Data for sockets that cannot be written to now.
        private var outboxes: [SocketID: [UInt8]] = [:]

        init(_ server: InMemoryServer, _ loop: EventLoop, _ onLoop: OnLoop) {
            (self.server, self.loop, self.onLoop) = (server, loop, onLoop)
        }

        private func send(_ bytes: [UInt8], to socket: SocketID) {
            guard let sockets = onLoop.server, peers[socket] != nil else { return }
            guard outboxes[socket] == nil else { return outboxes[socket]! += bytes }
            if case .congested = bytes.withUnsafeBytes({ sockets.write($0, to: socket) }) { outboxes[socket] = [] }
        }

        func shouldUpgrade(_ request: UpgradeRequest) -> UpgradeDecision { .accept }
        func opened(_ socket: SocketID, request: UpgradeRequest) {
            peers[socket] = server.join(
                InMemoryServer.Peer(
                    say: { [loop, onLoop] text in
                        loop.execute { onLoop.delegate?.send(WebSocketFrame.text(text), to: socket) }
                    },
                    cut: { [loop, onLoop] in loop.execute { onLoop.server?.abort(socket) } }))
        }
        func received(_ message: UnsafeRawBufferPointer, on socket: SocketID) {
            if let peer = peers[socket] { server.receive(Array(message), from: peer) }
        }
        func heard(_ socket: SocketID) {}
        func writable(_ socket: SocketID) {
            guard let waiting = outboxes.removeValue(forKey: socket), !waiting.isEmpty else { return }
            send(waiting, to: socket)
        }
        func closed(_ socket: SocketID, _ closure: Closure) {
            if let peer = peers.removeValue(forKey: socket) { server.leave(peer) }
            outboxes[socket] = nil
        }
        func request(_ exchange: HTTPExchangeID, _ request: HTTPRequest) {}
    }
}
