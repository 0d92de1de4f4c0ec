import Installation
public import Logging
public import PresenceProtocol
import Tokens

/// Everything about a server that can be set, with the defaults that it has when nothing is.
///
/// Durations are milliseconds. A property's path is its key in the configuration file (`heartbeat.interval`);
/// config/presenced.yaml explains each with its reason. What is `nil` is chosen by the server at its start.
public struct ServerConfiguration: Sendable, Equatable {
    /// The address to listen on: an IPv4 or IPv6 address, or a name that resolves to one.
    public var host = "127.0.0.1"
    /// The TCP port; 0 picks a free one.
    public var port = 4040
    /// Lets another server listen on the same port, the kernel then spreading the connections over both.
    public var sharePort = false
    public var tls = TLS()
    /// Listens without TLS also where other machines can connect, for a proxy that speaks TLS before it.
    public var allowPlain = false
    /// From which origins browsers may connect; empty: from the host that they connect to.
    public var allowedOrigins: [String] = []
    /// Trusted for their `X-Forwarded-For`: addresses, and ranges such as `10.0.0.0/8`.
    public var trustedProxies: [String] = []
    /// A port of its own for operators and backends.
    public var api = API()
    /// Loops, each on a thread of its own; `nil`: one for each core.
    public var shards: Int?
    /// Where the secret, and the data of a Redis of the server's own, are kept; `nil`: ``DataDirectory/standardPath(environment:)``.
    public var dataDirectory: String?
    /// Parts into which users and conversations are hashed. Written into Redis at the first start, fixed from then on.
    public var partitions = 128

    public var heartbeat = Heartbeat()
    /// How long a session that was lost goes on before its user is seen to go.
    public var linger: Milliseconds = 10_000
    public var lease = Lease()
    /// How long a new connection may take to say `connect`.
    public var connectTimeout: Milliseconds = 10_000
    /// How long a new connection may take for TLS, and for its first request with its body.
    public var handshakeTimeout: Milliseconds = 10_000
    /// How long before its token expires a client is told so.
    public var tokenExpiringNotice: Milliseconds = 60_000
    public var slowConsumer = SlowConsumer()

    /// How long a Redis command may go unanswered before its connection counts as broken.
    public var commandTimeout: Milliseconds = 5_000
    /// How long lease or subscription may be silent before clients are told `stale`.
    public var staleAfter: Milliseconds = 2_500
    public var redis = Redis()

    public var limits = Limits()
    public var auth = AuthenticationSettings()
    public var drain = Drain()
    /// The names of features that are switched off: they cost nothing, and their requests are not known.
    public var disabledFeatures: [String] = []
    /// What features can be told, by their keys (`FeatureSetting`), where it is not what it is by default.
    var featureValues: [String: Int64] = [:]
    /// The same of texts.
    var featureTexts: [String: String] = [:]
    /// The same of lists.
    var featureRows: [String: [String]] = [:]
    /// The least severe level that is logged.
    public var logLevel = Logger.Level.info

    public init() {}

    /// The certificate by which the server makes itself known; without one it speaks `ws` and `http`.
    public struct TLS: Sendable, Equatable {
        /// PEM: the server's own certificate, then those between it and an authority.
        public var certificateFile: String?
        /// PEM: its private key, without a passphrase.
        public var keyFile: String?
    }

    /// Where `/metrics` and the calls of backends are answered.
    public struct API: Sendable, Equatable {
        public var host = "127.0.0.1"
        /// `nil`: on the public port.
        public var port: Int?
    }

    /// When a silent connection counts as dead: `interval + timeout` after the last byte from it.
    public struct Heartbeat: Sendable, Equatable {
        /// Between two pings of one connection.
        public var interval: Milliseconds = 20_000
        /// How long after a ping something must have come.
        public var timeout: Milliseconds = 10_000
    }

    /// A shard's claim on the sessions that it has written.
    public struct Lease: Sendable, Equatable {
        /// How long a shard that renews no more is believed to be there. Never shorter than linger.
        public var duration: Milliseconds = 10_000
        /// Between two renewals.
        public var renewal: Milliseconds = 2_000
        /// Between two looks, of any shard, for leases that have run out.
        public var sweep: Milliseconds = 1_000
    }

    public struct SlowConsumer: Sendable, Equatable {
        /// How long a connection may take nothing at all before it is closed with 4005.
        public var timeout: Milliseconds = 30_000
    }

    /// Which Redis, and how it keeps what it was told.
    public struct Redis: Sendable, Equatable {
        /// The Redis that all servers share; `nil`: the server starts one of its own.
        public var url: String?
        /// What the names of all keys and channels begin with, apart from other installations in the same Redis.
        public var prefix = ""
        /// When the server's own Redis forces its log to the disk.
        public var appendfsync = RedisServerProcess.AppendFsync.everySecond
        /// Replicas that must have a change before it is answered; 0 asks for none.
        public var wait = 0
        /// Whether changes go only to shards where they are watched. The same for all servers.
        public var interests = false
        public var tls = TLS()

        /// How the Redis makes itself known over TLS (`rediss://`), and how we do.
        public struct TLS: Sendable, Equatable {
            /// PEM: the authorities that are trusted; `nil`: the system's.
            public var caFile: String?
            /// PEM: our certificate, for a Redis that asks for one.
            public var certificateFile: String?
            /// PEM: its private key, without a passphrase.
            public var keyFile: String?
            /// The name that each server's certificate has to be for; `nil`: the host by which it is reached.
            public var serverName: String?
        }
    }

    /// The most of everything.
    public struct Limits: Sendable, Equatable {
        /// Bytes in one message from a client.
        public var maxMessageBytes = 262_144
        /// Bytes in one message to a client; a longer reply is split. Features bound what cannot be split.
        public var maxServerMessageBytes = 262_144
        /// People and conversations that one connection watches.
        public var subscriptions = 10_000
        /// Ids in one request.
        public var subscribeBatch = 1_000
        /// People in one conversation.
        public var participants = 10
        /// Conversations that one user makes.
        public var conversationsPerUser = 1_000
        /// Contacts that one user lists.
        public var contacts = 10_000
        /// People that one user blocks.
        public var blocks = 10_000
        /// Connections of the whole process; `nil`: as many as the limit of open files has room for.
        public var maxConnections: Int?
        /// Connections of the whole process that are no WebSockets: handshakes that are under way, and HTTP.
        public var handshakes = 1_000
        /// Requests of one connection that wait for Redis before the server stops reading from it.
        public var pendingRequests = 64
        /// The `bad_request` that closes its connection.
        public var badRequests = 10
        /// Requests a second that one connection may make for long; 0: any number.
        public var requestsPerSecond = 100
        /// Requests that one connection may make at once.
        public var requestBurst = 1_500
        /// Requests a second that one user may make for long, on one shard; 0: any number.
        public var userRequestsPerSecond = 200
        /// Requests that one user may make at once, on one shard.
        public var userRequestBurst = 3_000
        /// The `rate_limited` within 10 s that closes its connection.
        public var rateLimited = 1_000
        /// WebSockets from one address, unupgraded connections included; 0: any number.
        public var connectionsPerAddress = 2_000
        /// Whether addresses of this machine are limited too.
        public var limitLoopback = false
        /// Connections of one user, over all servers; 0: any number.
        public var connectionsPerUser = 100
        /// Tokens a second from one address that may turn out to be worthless, for long; 0: any number.
        public var failedTokensPerSecond = 10
        /// The same at once.
        public var failedTokenBurst = 500
        /// The refused `refresh` that closes its connection.
        public var failedRefreshes = 10
        /// Bytes that wait for all connections of the process that do not take them; 0: any number.
        public var outboxBytes = 268_435_456
        /// Bytes held of requests and messages of the process that have not come whole; 0: any number.
        public var inboxBytes = 134_217_728
        /// Uploads of the whole process at a time; one user has one.
        public var uploads = 32
        /// Those from one address; 0: any number.
        public var uploadsPerAddress = 8
        /// Files of more than 64 KiB that the whole process sends at a time.
        public var downloads = 256
        /// Those to one address; 0: any number.
        public var downloadsPerAddress = 64
        /// Bytes of commands of the whole process that wait for Redis before requests are refused; 0: any number.
        public var redisBytes = 33_554_432
    }

    public struct Drain: Sendable, Equatable {
        /// Over how long a stop sends its clients away; 0 for all at once.
        public var duration: Milliseconds = 0
        /// The longest that a stop waits for clients to have taken their close.
        public var timeout: Milliseconds = 5_000
    }
}
