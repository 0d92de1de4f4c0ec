#if os(Linux)
    import EventLoops
    import Foundation
    import PresenceTransport
    import WebSockets

    /// Makes connections with libwebsockets, all of them on one thread for the whole process.
    struct LoopDialler: Dialler {
        /// Told of libwebsockets' own errors, which are the process': the logger of its newest client that has one.
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
    /// The one loop, begun with the first connection and never ended.
    final class ClientLoop: @unchecked Sendable {
        static let shared = Result { try ClientLoop() }

        let loop: EventLoop
        private var plain: WebSocketClientContext?
        private var secure: WebSocketClientContext?

        private init() throws {
            loop = try EventLoop(name: "presence-client")
            loop.start()
        }

        /// The context for `wss` or `ws`, made when first needed: the former reads the system's certificates.
        func context(isSecure: Bool) throws -> WebSocketClientContext {
            precondition(loop.isCurrent, "the loop's contexts belong to its thread")
            if let context = isSecure ? secure : plain { return context }
            let context = try WebSocketClientContext(loop: loop, tls: isSecure)
            if isSecure { secure = context } else { plain = context }
            return context
        }
    }
#endif
