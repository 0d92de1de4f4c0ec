#if os(Linux)
    import EventLoops
    import Foundation
    import WebSockets

    /// Makes connections with libwebsockets, all on one thread of the process.
    struct LoopDialler: Dialler {
        /// Receives the errors of libwebsockets, which concern the whole process: the logger of the newest client that
        /// has one.
        let logger: PresenceLogger?

        init(logger: PresenceLogger? = nil) {
            self.logger = logger
            if let logger { LibWebSockets.onError { logger.log(.error, "libwebsockets: \($0)") } }
        }

        func dial(
            _ url: URL, subprotocol: String, report: @escaping @Sendable (TransportEvent) -> Void
        ) -> any Transport {
            LoopTransport(url.absoluteString, subprotocol: subprotocol, report: report)
        }
    }

    // @unchecked: the contexts are confined to the loop's thread.
    /// The process's only loop, started by the first connection and never stopped.
    final class ClientLoop: @unchecked Sendable {
        static let shared = Result { try ClientLoop() }

        let loop: EventLoop
        private var plain: WebSocketClientContext?
        private var secure: WebSocketClientContext?

        private init() throws {
            loop = try EventLoop(name: "presence-client")
            loop.start()
        }

        /// The context for `wss` or `ws`, created on first use. The `wss` context reads the system's certificates.
        func context(isSecure: Bool) throws -> WebSocketClientContext {
            precondition(loop.isCurrent, "the loop's contexts belong to its thread")
            if let context = isSecure ? secure : plain { return context }
            let context = try WebSocketClientContext(loop: loop, tls: isSecure)
            if isSecure { secure = context } else { plain = context }
            return context
        }
    }
#endif
