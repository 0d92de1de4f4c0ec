import EventLoops
import Foundation
import PresenceProtocol
import WebSockets

/// A real server on a free port of this machine, whose messages the test supplies.
final class SocketServer: Sendable {
    enum Event: Sendable {
        case opened(Peer)
        case received(Peer, ClientMessage)
        /// The client answered a ping, or gave another sign of life.
        case heard(Peer)
        case closed(Peer, Closure)
    }

    /// One connection, as the test sees it.
    struct Peer: Hashable, Sendable {
        let socket: SocketID
    }

    let port: Int
    private let loop: EventLoop
    private let onLoop = OnLoop()
    private let events: AsyncStream<Event>

    var url: URL { URL(string: "ws://127.0.0.1:\(port)/v1/ws")! }

    /// - Parameter refuse: the HTTP statuses with which the first upgrades are rejected.
    init(port: Int = 0, refuse: [Int] = []) throws {
        let (events, report) = AsyncStream.makeStream(of: Event.self)
        self.events = events
        loop = try EventLoop(name: "kit-server")
        var configuration = WebSocketServerConfiguration()
        configuration.subprotocols = ["presence.v1"]
        onLoop.delegate = Delegate(report, refuse: refuse)
        onLoop.server = try WebSocketServer(loop: loop, configuration: configuration, delegate: onLoop.delegate)
        let socket = try ListeningSocket.single(host: "127.0.0.1", port: port)
        self.port = socket.port
        onLoop.server.listen(on: socket)
        loop.start()
    }

    /// Stops the server without closing connections properly, and waits until it is released.
    func stop() {
        loop.execute { [onLoop] in
            onLoop.server.shutdown()
            onLoop.server = nil
        }
        loop.stop()
        loop.join()
    }

    // MARK: From clients

    /// The next event. One caller at a time.
    func next() async -> Event {
        for await event in events { return event }
        preconditionFailure("the server is over")
    }

    /// The next message of any client; `nil` when the task is cancelled.
    func messageUnlessCancelled() async -> (peer: Peer, message: ClientMessage)? {
        for await event in events {
            if case .received(let peer, let message) = event { return (peer, message) }
        }
        return nil
    }

    /// The next message of any client.
    func message() async -> (peer: Peer, message: ClientMessage) {
        while true {
            if case .received(let peer, let message) = await next() { return (peer, message) }
        }
    }

    func closed() async -> (peer: Peer, closure: Closure) {
        while true {
            if case .closed(let peer, let closure) = await next() { return (peer, closure) }
        }
    }

    func heard() async {
        while true {
            if case .heard = await next() { return }
        }
    }

    // MARK: To clients

    func send(_ message: ServerMessage, to peer: Peer) {
        send(WebSocketFrame.text(message.encoded()), to: peer)
    }

    func send(_ frame: [UInt8], to peer: Peer) {
        loop.execute { [onLoop] in onLoop.delegate.send(frame, to: peer.socket, of: onLoop.server) }
    }

    func close(_ peer: Peer, code: UInt16, reason: String = "") {
        loop.execute { [onLoop] in onLoop.server.close(peer.socket, code: code, reason: reason) }
    }

    func abort(_ peer: Peer) {
        loop.execute { [onLoop] in onLoop.server.abort(peer.socket) }
    }

    func ping(_ peer: Peer) {
        loop.execute { [onLoop] in onLoop.server.ping(peer.socket) }
    }

    /// Receives the next `connect` and replies to it.
    @discardableResult
    func welcome(user: UserID = "ana", heartbeat: (Milliseconds, Milliseconds) = (20_000, 10_000)) async -> Peer {
        let (peer, message) = await message()
        accept(message, from: peer, user: user, heartbeat: heartbeat)
        return peer
    }

    /// Replies to a `connect`.
    func accept(
        _ message: ClientMessage, from peer: Peer, user: UserID = "ana",
        heartbeat: (Milliseconds, Milliseconds) = (20_000, 10_000)
    ) {
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        send(
            .connected(
                id: message.id,
                .init(
                    user: user, session: "s", serverTime: now, status: OwnStatus(), heartbeatInterval: heartbeat.0,
                    heartbeatTimeout: heartbeat.1, linger: 10_000, limits: ConnectionLimits())),
            to: peer)
    }

    /// Receives the next `subscribe`, replies to it, and returns it.
    @discardableResult
    func subscribe(_ snapshots: UserSnapshot...) async -> ClientMessage.Subscribe? {
        let (peer, message) = await message()
        guard case .subscribe(let subscribe) = message.body else { return nil }
        send(.subscribed(id: message.id, users: snapshots, conversations: [], more: false), to: peer)
        return subscribe
    }

    /// @unchecked: filled before the loop runs, used on it, emptied at its end.
    private final class OnLoop: @unchecked Sendable {
        var server: WebSocketServer!
        var delegate: Delegate!
    }

    /// Confined to the loop.
    private final class Delegate: WebSocketServerDelegate {
        private let report: AsyncStream<Event>.Continuation
        private var refuse: [Int]
        /// Data for sockets that cannot be written to now.
        private var outboxes: [SocketID: [UInt8]] = [:]
        private weak var server: WebSocketServer?

        init(_ report: AsyncStream<Event>.Continuation, refuse: [Int]) {
            self.report = report
            self.refuse = refuse
        }

        func send(_ bytes: [UInt8], to socket: SocketID, of server: WebSocketServer) {
            self.server = server
            guard outboxes[socket] == nil else { return outboxes[socket]! += bytes }
            if case .congested = bytes.withUnsafeBytes({ server.write($0, to: socket) }) { outboxes[socket] = [] }
        }

        func shouldUpgrade(_ request: UpgradeRequest) -> UpgradeDecision {
            guard request.path == "/v1/ws" else { return .refuse(.text(404, "nothing here")) }
            return refuse.isEmpty ? .accept : .refuse(.text(refuse.removeFirst(), "not now"))
        }

        func opened(_ socket: SocketID, request: UpgradeRequest) { report.yield(.opened(Peer(socket: socket))) }
        func received(_ message: UnsafeRawBufferPointer, on socket: SocketID) {
            guard let message = try? ClientMessage.decode(Array(message)) else { return }
            report.yield(.received(Peer(socket: socket), message))
        }
        func heard(_ socket: SocketID) { report.yield(.heard(Peer(socket: socket))) }
        func writable(_ socket: SocketID) {
            guard let waiting = outboxes.removeValue(forKey: socket), !waiting.isEmpty, let server else { return }
            send(waiting, to: socket, of: server)
        }
        func closed(_ socket: SocketID, _ closure: Closure) {
            report.yield(.closed(Peer(socket: socket), closure))
        }
        func request(_ exchange: HTTPExchangeID, _ request: HTTPRequest) {}
    }
}

/// Runs `body` with a server that is stopped afterwards in any case.
func withSocketServer(port: Int = 0, refuse: [Int] = [], _ body: (SocketServer) async throws -> Void) async throws {
    let server = try SocketServer(port: port, refuse: refuse)
    defer { server.stop() }
    try await body(server)
}
