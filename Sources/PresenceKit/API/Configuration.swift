extension PresenceClient {
    /// Times and bounds of a client. The defaults suit an app; each is a property to change where they do not.
    public struct Configuration: Hashable, Sendable {
        /// How long a connection may take, from dialling to the server's `connected`.
        public var connectTimeout: Duration = .seconds(10)
        /// How long a call waits for its answer, and for a connection before that.
        public var requestTimeout: Duration = .seconds(15)
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

        public init() {}
    }
}
