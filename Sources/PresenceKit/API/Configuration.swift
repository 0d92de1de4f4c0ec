import Foundation

extension PresenceClient {
    /// Timeouts and limits of a client. The defaults suit most apps.
    public struct Configuration: Hashable, Sendable {
        /// Timeout of one connection attempt, from dialling to the server's `connected`.
        public var connectTimeout: Duration = .seconds(10)
        /// Timeout of a call, including any wait that the server's rate limit imposes.
        public var requestTimeout: Duration = .seconds(15)
        /// How long a call waits for the client's first connection. After that, or once an attempt has failed, calls no
        /// longer wait: they return cached values, are queued, or fail. A read whose users are all cached waits for at most
        /// 0.3 s.
        public var patience: Duration = .seconds(3)
        /// Timeout of the token provider. When it passes, the connection attempt fails, the provider's task is
        /// cancelled, and the next attempt calls the provider again.
        public var tokenTimeout: Duration = .seconds(60)
        /// The upper bound of the delay before the first reconnect; the bound doubles with each further attempt. The
        /// delay itself is random between zero and that bound, so that many clients do not reconnect at the same
        /// moment.
        ///
        /// Until the server's `linger` (10 s by default) has passed since the connection was lost, the bound is at most
        /// a quarter of `linger`. So the client usually reconnects before other users see it go offline.
        public var reconnectBase: Duration = .milliseconds(500)
        /// The maximum that the bound reaches, once `linger` has passed.
        public var reconnectCap: Duration = .seconds(30)
        /// How long a topic stays subscribed after its last observer ended, so that a screen that returns at once needs
        /// no new subscription.
        public var unsubscribeGrace: Duration = .seconds(1)
        /// How often the client renews a typing indicator. The server ends an indicator that is not renewed within 6 s.
        public var typingInterval: Duration = .seconds(3)
        /// Whether the client observes the app's scenes and the device's network by itself. Supported on Apple
        /// platforms; elsewhere the app calls ``PresenceClient/enterBackground()`` and the related methods.
        public var followsSystem = true
        #if canImport(Darwin)
            /// Configuration of the WebSocket's `URLSession`: proxies, headers, pinned certificates. `nil` uses an
            /// ephemeral one.
            public var urlSession: URLSessionConfiguration?
        #endif

        /// The defaults.
        public init() {}
    }
}
