import Foundation

extension PresenceClient {
    /// Times and bounds of a client. The defaults suit an app; each is a property to change where they do not.
    public struct Configuration: Hashable, Sendable {
        /// How long a connection may take, from dialling to the server's `connected`.
        public var connectTimeout: Duration = .seconds(10)
        /// How long a call waits for its answer, the server's rate limit included.
        public var requestTimeout: Duration = .seconds(15)
        /// How long a call waits for the first connection of a client. After it, and once an attempt has failed, calls do
        /// not wait: they are answered from what is held, queued, or fail.
        public var patience: Duration = .seconds(3)
        /// How long the token provider may take. After that the attempt has failed, the provider's task is cancelled, and
        /// the next attempt asks it again.
        public var tokenTimeout: Duration = .seconds(60)
        /// The upper bound of the wait before the first reconnect; it doubles with each further attempt. The wait
        /// itself is anything from nothing to that bound, so that many clients do not come back at one moment.
        ///
        /// As long as the server's `linger` (10 s by default) has not passed since the loss, the bound is at most a
        /// quarter of it, so that a client is back in time wherever that is possible, and nobody sees the user go.
        public var reconnectBase: Duration = .milliseconds(500)
        /// The largest upper bound of that wait, after linger.
        public var reconnectCap: Duration = .seconds(30)
        /// How long somebody stays subscribed after the last loop on them ended, for a screen that comes right back.
        public var unsubscribeGrace: Duration = .seconds(1)
        /// How often typing is repeated; the server lets it end after 6 s without.
        public var typingInterval: Duration = .seconds(3)
        /// Whether the client follows the app's scenes and the device's network by itself, where the system tells of
        /// them (Apple's). Elsewhere the app calls ``PresenceClient/enterBackground()`` and its like.
        public var followsSystem = true
        #if canImport(Darwin)
            /// Proxies, headers, certificates to pin: what the WebSocket's session is made with. `nil`: an ephemeral one.
            public var urlSession: URLSessionConfiguration?
        #endif

        /// The defaults.
        public init() {}
    }
}
