import Installation
public import Logging
public import PresenceProtocol
import Tokens

/// All settings of a server, with their defaults.
///
/// Durations are milliseconds. A property's path is its key in the configuration file (`heartbeat.interval`);
/// config/presenced.yaml explains each with its reason. `nil` values are chosen by the server at its start.
public struct ServerConfiguration: Sendable, Equatable {
    /// The address to listen on: an IPv4 or IPv6 address, or a name that resolves to one.
    public var host = "127.0.0.1"
    /// The TCP port; 0 picks a free one.
    public var port = 4040
    /// Lets another server listen on the same port; the kernel distributes the connections.
    public var sharePort = false
    public var tls = TLS()
    /// Listens without TLS even if other machines can connect, for a proxy that terminates TLS.
    public var allowPlain = false
    /// The origins from which browsers may connect; empty: the host that they connect to.
    public var allowedOrigins: [String] = []
    /// Peers whose `X-Forwarded-For` is trusted: addresses, and ranges such as `10.0.0.0/8`.
    public var trustedProxies: [String] = []
    /// A separate port for operators and backends.
    public var api = API()
    /// Loops, each on a thread of its own; `nil`: one for each core.
    public var shards: Int?
    /// The directory for the secret, and for the data of the server's own Redis; `nil`:
    /// ``DataDirectory/standardPath(environment:)``.
    public var dataDirectory: String?
    /// Parts into which users and conversations are hashed. Stored in Redis at the first start, and fixed from then on.
    public var partitions = 128

    public var heartbeat = Heartbeat()
    /// How long a lost session continues before its user is shown offline.
    public var linger: Milliseconds = 10_000
    public var lease = Lease()
    /// How long a new connection may take to send `connect`.
    public var connectTimeout: Milliseconds = 10_000
    /// How long a new connection may take for TLS, and for its first request with its body.
    public var handshakeTimeout: Milliseconds = 10_000
    /// How long before its token expires a client is notified.
    public var tokenExpiringNotice: Milliseconds = 60_000
    public var slowConsumer = SlowConsumer()

    /// How long a Redis command may take before its connection counts as broken.
    public var commandTimeout: Milliseconds = 5_000
    /// How long lease or subscription may be silent before clients get `stale`.
    public var staleAfter: Milliseconds = 2_500
    public var redis = Redis()

    public var limits = Limits()
    public var auth = AuthenticationSettings()
    public var drain = Drain()
    /// The names of disabled features: they cost nothing, and their requests are unknown.
    public var disabledFeatures: [String] = []
    /// Settings of features by their keys (`FeatureSetting`), where they differ from the default.
    var featureValues: [String: Int64] = [:]
    /// The same for texts.
    var featureTexts: [String: String] = [:]
    /// The same for lists.
    var featureRows: [String: [String]] = [:]
    /// The least severe level that is logged.
    public var logLevel = Logger.Level.info

    public init() {}

    /// The server's certificate; without one it uses `ws` and `http`.
    public struct TLS: Sendable, Equatable {
        /// PEM: the server's own certificate, then intermediate ones.
        public var certificateFile: String?
        /// PEM: its private key, without a passphrase.
        public var keyFile: String?
    }

    /// Where `/metrics` and the calls of backends are served.
    public struct API: Sendable, Equatable {
        public var host = "127.0.0.1"
        /// `nil`: on the public port.
        public var port: Int?
    }

    /// When a silent connection counts as dead: `interval + timeout` after the last byte from it.
    public struct Heartbeat: Sendable, Equatable {
        /// Between two pings of one connection.
        public var interval: Milliseconds = 20_000
        /// How long after a ping something must have been received.
        public var timeout: Milliseconds = 10_000
    }

    /// A shard's claim on the sessions that it has written.
    public struct Lease: Sendable, Equatable {
        /// How long a shard that no longer renews counts as alive. Never shorter than linger.
        public var duration: Milliseconds = 10_000
        /// Between two renewals.
        public var renewal: Milliseconds = 2_000
        /// Between two checks, by any shard, for expired leases.
        public var sweep: Milliseconds = 1_000
    }

    public struct SlowConsumer: Sendable, Equatable {
        /// How long a connection may accept nothing at all before it is closed with 4005.
        public var timeout: Milliseconds = 30_000
    }

    /// The Redis to use, and how it stores data.
    public struct Redis: Sendable, Equatable {
        /// The Redis that all servers share; `nil`: the server starts one of its own.
        public var url: String?
        /// The beginning of all keys and channels, which separates installations in the same Redis.
        public var prefix = ""
        /// When the server's own Redis syncs its log to the disk.
        public var appendfsync = RedisServerProcess.AppendFsync.everySecond
        /// Replicas that must have a change before its reply; 0 for none.
        public var wait = 0
        /// Whether changes are sent only to shards where they are watched. The same for all servers.
        public var interests = false
        public var tls = TLS()

        /// Authentication over TLS (`rediss://`), of Redis and of the server.
        public struct TLS: Sendable, Equatable {
            /// PEM: the trusted authorities; `nil`: the system's.
            public var caFile: String?
            /// PEM: the server's certificate, for a Redis that requires one.
            public var certificateFile: String?
            /// PEM: its private key, without a passphrase.
            public var keyFile: String?
            /// The name that each certificate of Redis must have; `nil`: the host of its address.
            public var serverName: String?
        }
    }

    /// All limits.
    public struct Limits: Sendable, Equatable {
        /// Bytes in one message from a client.
        public var maxMessageBytes = 262_144
        /// Bytes in one message to a client; a longer reply is split. Features limit messages that cannot be split.
        public var maxServerMessageBytes = 262_144
        /// People and conversations that one connection watches.
        public var subscriptions = 10_000
        /// Ids in one request.
        public var subscribeBatch = 1_000
        /// People in one conversation.
        public var participants = 10
        /// Conversations that one user creates.
        public var conversationsPerUser = 1_000
        /// Contacts of one user.
        public var contacts = 10_000
        /// People whom one user blocks.
        public var blocks = 10_000
        /// Connections of the whole process; `nil`: as the limit of open files allows.
        public var maxConnections: Int?
        /// Connections of the whole process without a WebSocket: handshakes in progress, and HTTP.
        public var handshakes = 1_000
        /// Requests of one connection that wait for Redis before the server stops reading from it.
        public var pendingRequests = 64
        /// The number of `bad_request` at which a connection is closed.
        public var badRequests = 10
        /// Sustained requests a second of one connection; 0: no limit.
        public var requestsPerSecond = 100
        /// Burst of requests of one connection.
        public var requestBurst = 1_500
        /// Sustained requests a second of one user, on one shard; 0: no limit.
        public var userRequestsPerSecond = 200
        /// Burst of requests of one user, on one shard.
        public var userRequestBurst = 3_000
        /// The number of `rate_limited` within 10 s at which a connection is closed.
        public var rateLimited = 1_000
        /// WebSockets from one address, including connections before the upgrade; 0: no limit.
        public var connectionsPerAddress = 2_000
        /// Whether addresses of this machine are limited too.
        public var limitLoopback = false
        /// Connections of one user, over all servers; 0: no limit.
        public var connectionsPerUser = 100
        /// Sustained failed tokens a second from one address; 0: no limit.
        public var failedTokensPerSecond = 10
        /// Burst of failed tokens.
        public var failedTokenBurst = 500
        /// The number of rejected `refresh` at which a connection is closed.
        public var failedRefreshes = 10
        /// Pending bytes for all connections of the process that do not accept them; 0: no limit.
        public var outboxBytes = 268_435_456
        /// Bytes of incomplete requests and messages of the process; 0: no limit.
        public var inboxBytes = 134_217_728
        /// Concurrent uploads of the whole process; a user has at most one.
        public var uploads = 32
        /// Those from one address; 0: no limit.
        public var uploadsPerAddress = 8
        /// Concurrent downloads of files of more than 64 KiB of the whole process.
        public var downloads = 256
        /// Those to one address; 0: no limit.
        public var downloadsPerAddress = 64
        /// Bytes of commands of the whole process that wait for Redis before requests are rejected; 0: no limit.
        public var redisBytes = 33_554_432
    }

    public struct Drain: Sendable, Equatable {
        /// The time over which a stop distributes the closing of connections; 0 for all at once.
        public var duration: Milliseconds = 0
        /// How long a stop waits for clients to answer the close.
        public var timeout: Milliseconds = 5_000
    }
}
