import Installation
public import Logging
public import PresenceProtocol
import Tokens

/// All settings of a server, with their defaults.
///
/// Durations are milliseconds. A property's path is its key in the configuration file (`heartbeat.interval`), under which
/// `coreSettings` has its range and its description; config/presenced.yaml explains each with its reason. `nil` values are
/// chosen by the server at its start.
public struct ServerConfiguration: Sendable, Equatable {
    public var host = "127.0.0.1"
    public var port = 4040
    public var sharePort = false
    public var tls = TLS()
    public var allowPlain = false
    public var allowedOrigins: [String] = []
    public var trustedProxies: [String] = []
    public var api = API()
    public var shards: Int?
    public var dataDirectory: String?
    public var partitions = 128

    public var heartbeat = Heartbeat()
    public var linger: Milliseconds = 10_000
    public var lease = Lease()
    public var connectTimeout: Milliseconds = 10_000
    public var handshakeTimeout: Milliseconds = 10_000
    public var tokenExpiringNotice: Milliseconds = 60_000
    public var slowConsumer = SlowConsumer()

    public var commandTimeout: Milliseconds = 5_000
    public var staleAfter: Milliseconds = 2_500
    public var redis = Redis()

    public var limits = Limits()
    public var auth = AuthenticationSettings()
    public var drain = Drain()
    public var disabledFeatures: [String] = []
    var featureValues = FeatureValues()
    public var logLevel = Logger.Level.info

    public init() {}

    /// The server's certificate; without one it uses `ws` and `http`.
    public struct TLS: Sendable, Equatable {
        public var certificateFile: String?
        public var keyFile: String?
    }

    /// Where `/metrics` and the calls of backends are served.
    public struct API: Sendable, Equatable {
        public var host = "127.0.0.1"
        public var port: Int?
    }

    /// When a silent connection counts as dead: `interval + timeout` after the last byte from it.
    public struct Heartbeat: Sendable, Equatable {
        public var interval: Milliseconds = 20_000
        public var timeout: Milliseconds = 10_000
    }

    /// A shard's claim on the sessions that it has written.
    public struct Lease: Sendable, Equatable {
        public var duration: Milliseconds = 10_000
        public var renewal: Milliseconds = 2_000
        public var sweep: Milliseconds = 1_000
    }

    public struct SlowConsumer: Sendable, Equatable {
        public var timeout: Milliseconds = 30_000
    }

    /// The Redis to use, and how it stores data.
    public struct Redis: Sendable, Equatable {
        public var url: String?
        public var prefix = ""
        public var appendfsync = RedisServerProcess.AppendFsync.everySecond
        public var wait = 0
        public var interests = false
        public var tls = TLS()

        /// Authentication over TLS (`rediss://`), of Redis and of the server.
        public struct TLS: Sendable, Equatable {
            public var caFile: String?
            public var certificateFile: String?
            public var keyFile: String?
            public var serverName: String?
        }
    }

    /// All limits.
    public struct Limits: Sendable, Equatable {
        public var maxMessageBytes = 262_144
        public var maxServerMessageBytes = 262_144
        public var subscriptions = 10_000
        public var subscribeBatch = 1_000
        public var maxConnections: Int?
        public var handshakes = 1_000
        public var pendingRequests = 64
        public var badRequests = 10
        public var requestsPerSecond = 100
        public var requestBurst = 1_500
        public var userRequestsPerSecond = 200
        public var userRequestBurst = 3_000
        public var rateLimited = 1_000
        public var connectionsPerAddress = 2_000
        public var limitLoopback = false
        public var connectionsPerUser = 100
        public var failedTokensPerSecond = 10
        public var failedTokenBurst = 500
        /// The number of rejected `refresh` at which a connection is closed (4001).
        static let failedRefreshes = 10
        public var outboxBytes = 268_435_456
        public var inboxBytes = 134_217_728
        public var uploads = 32
        public var uploadsPerAddress = 8
        public var downloads = 256
        public var downloadsPerAddress = 64
        public var redisBytes = 33_554_432
    }

    public struct Drain: Sendable, Equatable {
        public var duration: Milliseconds = 0
        /// How long a stop waits for clients to answer the close, and then for jobs off the loops.
        package static let timeout: Milliseconds = 5_000
    }
}
