#if os(Linux)
    import EventLoops
    import WebSockets

    // @unchecked: all mutable state is confined to the loop's thread.
    /// One WebSocket connection of libwebsockets.
    final class LoopTransport: Transport, WebSocketClientDelegate, @unchecked Sendable {
        private let loop: EventLoop?
        private let report: @Sendable (TransportEvent) -> Void
        private var client: WebSocketClient?
        /// The client references its delegate weakly, so this reference keeps the delegate alive until the end.
        private var itself: LoopTransport?
        /// When a sign of life was last reported, in the loop's milliseconds.
        private var lastAlive: Int64?

        /// The minimum time between reports. Heartbeats are a matter of seconds, so more frequent reports have no use.
        private static let aliveInterval: Int64 = 500

        init(_ url: String, subprotocol: String, report: @escaping @Sendable (TransportEvent) -> Void) {
            self.report = report
            switch ClientLoop.shared {
            case .success(let shared):
                loop = shared.loop
                shared.loop.execute { [self] in start(url, subprotocol, shared) }
            case .failure(let error):
                loop = nil
                report(.ended(.lost("no event loop: \(error)")))
            }
        }

        private func start(_ url: String, _ subprotocol: String, _ shared: ClientLoop) {
            guard let url = WebSocketURL(url) else {
                return report(.ended(.lost("not a WebSocket URL: \(url)")))
            }
            do {
                let context = try shared.context(isSecure: url.isSecure)
                let client = WebSocketClient(context: context, delegate: self)
                self.client = client
                itself = self
                client.connect(to: url, subprotocol: subprotocol)
            } catch {
                report(.ended(.lost("no WebSocket context: \(error)")))
            }
        }

        // MARK: Transport, from any thread

        func send(_ text: [UInt8]) {
            loop?.execute { [self] in text.withUnsafeBytes { client?.send(text: $0) } }
        }

        /// The server's own pings are noticed, and are frequent enough.
        func ping() {}

        func close() {
            loop?.execute { [self] in client?.close() }
        }

        func abort() {
            loop?.execute { [self] in client?.abort() }
        }

        // MARK: WebSocketClientDelegate, on the loop

        func opened(_ client: WebSocketClient, subprotocol: String?) {
            report(.opened)
        }

        func received(_ message: UnsafeRawBufferPointer, on client: WebSocketClient) {
            report(.received(Array(message)))
        }

        func heard(_ client: WebSocketClient) {
            guard let now = loop?.now, now - (lastAlive ?? .min / 2) >= Self.aliveInterval else { return }
            lastAlive = now
            report(.alive)
        }

        func closed(_ client: WebSocketClient, _ closure: WebSocketClient.Closure) {
            self.client = nil
            itself = nil
            report(.ended(TransportEnd(closure)))
        }
    }

    extension TransportEnd {
        fileprivate init(_ closure: WebSocketClient.Closure) {
            switch closure {
            case .byServer(let code, let reason): self = .closed(code: code ?? 1005, reason: Array(reason.utf8))
            case .byClient(1000, _): self = .lost("closed")
            case .byClient(let code, _): self = .violated("what made this library close with \(code)")
            case .lost: self = .lost("the connection broke")
            case .refused(let status, _): self = .refused(status: status)
            case .failed(let why): self = .lost(why)
            }
        }
    }
#endif
