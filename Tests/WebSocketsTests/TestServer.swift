import EventLoops

@testable import WebSockets

/// A real server on a loop and a free port, which records its events. By default it echoes messages.
final class TestServer: Sendable {
    enum Event: Sendable {
        case opened(SocketID, UpgradeRequest)
        case received(SocketID, [UInt8])
        case heard(SocketID)
        case writable(SocketID)
        case closed(SocketID, Closure)
        case request(HTTPExchangeID, HTTPRequest)
        /// The delegate returned `later` for this request.
        case asked(HTTPExchangeID)
        case failing(String)
    }

    let loop: EventLoop
    let port: Int
    let log = EventLog<Event>()
    private let inner: OnLoop

    /// @unchecked: made before the loop runs, used on it, emptied after it ended.
    final class OnLoop: @unchecked Sendable {
        var server: WebSocketServer!
        var delegate: Recorder!
    }

    init(
        host: String = "127.0.0.1", port: Int = 0, identity: TLSIdentity? = nil,
        _ configure: (inout WebSocketServerConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = WebSocketServerConfiguration()
        configuration.subprotocols = ["test.v1"]
        configuration.servesTLS = identity != nil
        configure(&configuration)
        loop = try EventLoop(name: "server")
        let inner = OnLoop()
        self.inner = inner
        inner.delegate = Recorder(log)
        inner.server = try WebSocketServer(loop: loop, configuration: configuration, delegate: inner.delegate)
        inner.delegate.server = inner.server
        let socket = try ListeningSocket.single(host: host, port: port)
        self.port = socket.port
        if let identity { inner.server.use(identity) }
        inner.server.listen(on: socket, as: ListenerKind(isSecure: identity != nil))
        loop.start()
    }

    /// Ends it and waits until nothing of it is left.
    func stop() {
        loop.execute { [inner] in
            inner.server.shutdown()
            inner.delegate.server = nil
            inner.server = nil
        }
        loop.stop()
        loop.join()
    }

    /// Runs `work` on the loop.
    func on<T: Sendable>(_ work: @escaping @Sendable (WebSocketServer, Recorder) -> T) async -> T {
        await withCheckedContinuation { continuation in
            loop.execute { [inner] in continuation.resume(returning: work(inner.server, inner.delegate)) }
        }
    }

    /// Runs an action on the loop late in a window of time, in ms, and checks when that window is over, but not yet a
    /// second one that began then. `nil` if this machine was late, so there is no result.
    func crossEnd<T: Sendable>(
        of window: Int64, since begin: @escaping @Sendable () -> Int64,
        _ work: @escaping @Sendable (WebSocketServer) -> Void, look: @escaping @Sendable (WebSocketServer) -> T
    ) async throws -> T? {
        var worked: Int64?
        while worked == nil {
            try await Task.sleep(for: .milliseconds(5))
            worked = await on { server, _ in
                guard server.loop.now >= begin() + window * 4 / 5 else { return nil }
                work(server)
                return server.loop.now
            }
        }
        let end = await on { _, _ in begin() } + window
        guard let worked, worked < end else { return nil }
        while await on({ server, _ in server.loop.now }) < end + window / 10 {
            try await Task.sleep(for: .milliseconds(5))
        }
        return await on { server, _ in server.loop.now < worked + window ? look(server) : nil }
    }

    func opened() async -> SocketID {
        guard case .opened(let socket, _) = await log.first(where: { if case .opened = $0 { true } else { false } })
        else { fatalError() }
        return socket
    }

    /// The `count`th request for which the delegate returned `later`.
    func asked(_ count: Int) async -> HTTPExchangeID {
        await log.count(count) { if case .asked = $0 { true } else { false } }
        let asked = log.all.compactMap { if case .asked(let exchange) = $0 { exchange } else { nil } }
        return asked[count - 1]
    }

    func closed(_ socket: SocketID) async -> Closure {
        let event = await log.first { if case .closed(let other, _) = $0 { other == socket } else { false } }
        guard case .closed(_, let closure) = event else { fatalError() }
        return closure
    }

    var messages: [String] {
        log.all.compactMap {
            if case .received(_, let bytes) = $0 { String(decoding: bytes, as: UTF8.self) } else { nil }
        }
    }

    /// The delegate: confined to the loop; tests can replace its functions.
    final class Recorder: WebSocketServerDelegate {
        let log: EventLog<Event>
        weak var server: WebSocketServer?
        var decide: (UpgradeRequest) -> UpgradeDecision = {
            $0.path == "/ws" ? .accept : .refuse(.text(404, "nothing"))
        }
        var onMessage: (WebSocketServer, [UInt8], SocketID) -> Void = { server, message, socket in
            _ = WebSocketFrame.text(message).withUnsafeBytes { server.write($0, to: socket) }
        }
        var onOpen: (WebSocketServer, SocketID) -> Void = { _, _ in }
        var onWritable: (WebSocketServer, SocketID) -> Void = { _, _ in }
        var onClosed: (WebSocketServer?, SocketID) -> Void = { _, _ in }
        var onRequest: (WebSocketServer, HTTPExchangeID, HTTPRequest) -> Void = { server, exchange, request in
            server.respond(
                exchange,
                HTTPResponse(status: 200, body: Array("\(request.method) \(request.path) ".utf8) + request.body))
        }

        var onBody: (inout HTTPRequest) -> BodyAdmission = { _ in .granted }

        init(_ log: EventLog<Event>) { self.log = log }

        func admission(of request: inout HTTPRequest, _ exchange: HTTPExchangeID) -> BodyAdmission {
            let admission = onBody(&request)
            if case .later = admission { log.append(.asked(exchange)) }
            return admission
        }

        func shouldUpgrade(_ request: UpgradeRequest) -> UpgradeDecision { decide(request) }
        func opened(_ socket: SocketID, request: UpgradeRequest) {
            log.append(.opened(socket, request))
            onOpen(server!, socket)
        }
        func received(_ message: UnsafeRawBufferPointer, on socket: SocketID) {
            log.append(.received(socket, Array(message)))
            onMessage(server!, Array(message), socket)
        }
        func heard(_ socket: SocketID) { log.append(.heard(socket)) }
        func writable(_ socket: SocketID) {
            log.append(.writable(socket))
            onWritable(server!, socket)
        }
        func closed(_ socket: SocketID, _ closure: Closure) {
            log.append(.closed(socket, closure))
            onClosed(server, socket)
        }
        func request(_ exchange: HTTPExchangeID, _ request: HTTPRequest) {
            log.append(.request(exchange, request))
            onRequest(server!, exchange, request)
        }
        func reasonWhenFull() -> String { "{\"reconnectAfter\":1}" }
        func acceptingFailed(_ description: String) { log.append(.failing(description)) }
    }
}

/// Runs `body` against a server that is stopped afterwards, whatever happens.
func withServer(
    _ configure: (inout WebSocketServerConfiguration) -> Void = { _ in }, _ body: (TestServer) async throws -> Void
) async throws {
    let server = try TestServer(configure)
    defer { server.stop() }
    try await body(server)
}
