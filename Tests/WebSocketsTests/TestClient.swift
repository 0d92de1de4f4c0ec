import EventLoops
import Testing
import WebSockets

/// A client on a loop of its own that records its events.
final class TestClient: Sendable {
    enum Event: Sendable {
        case opened(String?)
        case received(String)
        case heard
        case closed(WebSocketClient.Closure)
    }

    let loop: EventLoop
    let log = EventLog<Event>()
    private let inner = OnLoop()

    /// @unchecked: used on the loop only, emptied before it ends.
    final class OnLoop: @unchecked Sendable {
        var context: WebSocketClientContext?
        var client: WebSocketClient?
        var delegate: Recorder?
    }

    final class Recorder: WebSocketClientDelegate {
        let log: EventLog<Event>
        init(_ log: EventLog<Event>) { self.log = log }
        func opened(_ client: WebSocketClient, subprotocol: String?) { log.append(.opened(subprotocol)) }
        func received(_ message: UnsafeRawBufferPointer, on client: WebSocketClient) {
            log.append(.received(String(decoding: message, as: UTF8.self)))
        }
        func heard(_ client: WebSocketClient) { log.append(.heard) }
        func closed(_ client: WebSocketClient, _ closure: WebSocketClient.Closure) { log.append(.closed(closure)) }
    }

    init(tls: Bool = false, authorities: String? = nil) throws {
        loop = try EventLoop(name: "client")
        inner.context = try WebSocketClientContext(loop: loop, tls: tls, authorities: authorities)
        inner.delegate = Recorder(log)
        inner.client = WebSocketClient(context: inner.context!, delegate: inner.delegate!)
        loop.start()
    }

    func stop() {
        loop.execute { [inner] in
            inner.context?.destroy()
            inner.context = nil
            inner.client = nil
        }
        loop.stop()
        loop.join()
    }

    func on<T: Sendable>(_ work: @escaping @Sendable (WebSocketClient) -> T) async -> T {
        await withCheckedContinuation { continuation in
            loop.execute { [inner] in continuation.resume(returning: work(inner.client!)) }
        }
    }

    func connect(
        _ url: String, headers: [(name: String, value: String)] = [], subprotocol: String? = "test.v1",
        handshakeTimeout: Int64 = 10_000
    ) async {
        await on {
            $0.connect(
                to: WebSocketURL(url)!, headers: headers, subprotocol: subprotocol, handshakeTimeout: handshakeTimeout)
        }
    }

    func send(_ text: String) async {
        await on { client in Array(text.utf8).withUnsafeBytes { client.send(text: $0) } }
    }

    func closed() async -> WebSocketClient.Closure {
        guard case .closed(let closure) = await log.first(where: { if case .closed = $0 { true } else { false } })
        else { fatalError() }
        return closure
    }

    func opened() async -> String? {
        let event = await log.first { if case .heard = $0 { false } else { true } }
        guard case .opened(let subprotocol) = event else {
            Issue.record("not opened: \(event)")
            return nil
        }
        return subprotocol
    }

    var messages: [String] { log.all.compactMap { if case .received(let text) = $0 { text } else { nil } } }
}

func withClient(
    tls: Bool = false, authorities: String? = nil, _ body: (TestClient) async throws -> Void
) async throws {
    let client = try TestClient(tls: tls, authorities: authorities)
    defer { client.stop() }
    try await body(client)
}
