import PresenceProtocol

extension ServerConfiguration {
    /// The core's settings, in the order of config/presenced.yaml; features have their own in their plans.
    package static let coreSettings = networkSettings + redisSettings + timingSettings + limitSettings + otherSettings

    private static let networkSettings: [any AnySetting] = [
        Setting("host", \.host, about: "The address to listen on."),
        Setting(
            "port", \.port, in: 0...65_535,
            about:
                "The TCP port for WebSocket, HTTP and metrics (unless api.port is set), 0 to 65535. 0 picks a free port "
                + "and prints it on standard output."),
        Setting(
            "sharePort", \.sharePort,
            about: "Whether another server may listen on the same port (SO_REUSEPORT); the kernel then distributes "
                + "connections over both."),
        Setting("tls.certificateFile", \.tls.certificateFile, about: "The server's certificate chain in PEM"),
        Setting("tls.keyFile", \.tls.keyFile, about: "Its private key in PEM, without a passphrase."),
        Setting(
            "allowPlain", \.allowPlain,
            about: "Whether the server may listen without TLS on an address that other machines can reach."),
        Setting("allowedOrigins", \.allowedOrigins, about: "Origins from which browsers may connect"),
        Setting("trustedProxies", \.trustedProxies, about: "Proxies whose X-Forwarded-For header is trusted"),
        Setting("api.host", \.api.host, about: "The address of the separate port for /metrics and the backend API."),
        Setting("api.port", \.api.port, in: 1...65_535, about: "The separate port"),
        Setting(
            "shards", \.shards, in: 1...1_024,
            about: "Threads (shards), each with its own event loop, connections and links to Redis."),
        Setting(
            "dataDirectory", \.dataDirectory,
            about: "The directory for the secret that signs tokens, and for the data of the built-in Redis."),
        Setting(
            "partitions", \.partitions, in: 1...16_384,
            about: "Number of partitions into which users and conversations are hashed"),
    ]

    private static let redisSettings: [any AnySetting] = [
        Setting("redis.url", \.redis.url, about: "The Redis that holds the state."),
        Setting("redis.prefix", \.redis.prefix, about: "The name of this installation, if several share a Redis"),
        Setting(
            "redis.appendfsync", \.redis.appendfsync, about: "When the log of the built-in Redis is synced to disk"),
        Setting(
            "redis.wait", \.redis.wait, in: 0...100,
            about: "Replicas that must have a change before it is acknowledged"),
        Setting(
            "redis.interests", \.redis.interests,
            about:
                "false: every shard gets every change, which costs Redis some 2 µs and each shard 3.5 µs."
        ),
        Setting(
            "redis.tls.caFile", \.redis.tls.caFile,
            about: "The trusted authorities for Redis' certificates, in PEM."),
        Setting(
            "redis.tls.certificateFile", \.redis.tls.certificateFile,
            about: "The server's client certificate in PEM, for a Redis that requires one"),
        Setting("redis.tls.keyFile", \.redis.tls.keyFile, about: "Its private key in PEM, without a passphrase."),
        Setting(
            "redis.tls.serverName", \.redis.tls.serverName, about: "The name that every Redis certificate must have."),
    ]

    private static let timingSettings: [any AnySetting] = [
        Setting("heartbeat.interval", \.heartbeat.interval, about: "Time between two pings of a connection."),
        Setting(
            "heartbeat.timeout", \.heartbeat.timeout,
            about: "Time after a ping within which anything at all must arrive."),
        Setting("linger", \.linger, about: "How long a lost (not closed) connection still counts as online"),
        Setting("lease.duration", \.lease.duration, about: "How long a killed server's users stay online"),
        Setting("lease.renewal", \.lease.renewal, about: "Time between two renewals of a shard's lease"),
        Setting("lease.sweep", \.lease.sweep, about: "Time between two checks for expired leases, by any server."),
        Setting(
            "handshakeTimeout", \.handshakeTimeout,
            about: "Time for a new connection's TLS handshake and its first request with all headers and body."),
        Setting(
            "connectTimeout", \.connectTimeout,
            about: "Time for a new connection to authenticate before it is closed (4003)."),
        Setting(
            "tokenExpiringNotice", \.tokenExpiringNotice, in: 0...longestDuration,
            about: "How long before its token expires a client is notified, so that it can get a new one."),
        Setting(
            "slowConsumer.timeout", \.slowConsumer.timeout,
            about: "How long a connection may read nothing of its pending data before it is closed (4005)."),
        Setting(
            "commandTimeout", \.commandTimeout,
            about: "How long a Redis command may go unanswered before its connection counts as broken and is reopened."),
        Setting(
            "staleAfter", \.staleAfter,
            about:
                "How long lease renewals or events may be missing before clients are notified that data may be stale."),
        Setting(
            "drain.duration", \.drain.duration, in: 0...longestDuration,
            about: "Time over which clients are disconnected at shutdown."),
    ]

    private static let limitSettings: [any AnySetting] = [
        // The smallest message limits still allow a `connect` with a token, and a register with all its texts.
        Setting(
            "limits.maxMessageBytes", \.limits.maxMessageBytes, in: 4_096...67_108_864,
            about: "Bytes in one message from a client"),
        Setting(
            "limits.maxServerMessageBytes", \.limits.maxServerMessageBytes, in: 16_384...1_048_576,
            about: "Bytes in one message to a client"),
        Setting(
            "limits.subscriptions", \.limits.subscriptions, in: 1...1_000_000,
            about: "Users and conversations that one connection may watch."),
        Setting("limits.subscribeBatch", \.limits.subscribeBatch, in: 1...100_000, about: "Ids in one request."),
        Setting(
            "limits.maxConnections", \.limits.maxConnections, in: 1...10_000_000,
            about: "Connections of the whole process; further ones are closed"),
        Setting(
            "limits.handshakes", \.limits.handshakes, in: 16...1_000_000,
            about: "Connections of the whole process that are not WebSockets"),
        Setting(
            "limits.uploads", \.limits.uploads, in: 1...100_000, about: "Uploads of the whole process at a time"),
        Setting(
            "limits.uploadsPerAddress", \.limits.uploadsPerAddress, in: 0...100_000,
            about: "Uploads from one address, among these"),
        Setting(
            "limits.downloads", \.limits.downloads, in: 1...100_000,
            about: "Files of more than 64 KiB that the whole process sends at a time"),
        Setting(
            "limits.downloadsPerAddress", \.limits.downloadsPerAddress, in: 0...100_000,
            about: "Files sent to one address, among these"),
        Setting(
            "limits.pendingRequests", \.limits.pendingRequests, in: 1...10_000,
            about: "Requests of one connection that may be pending on Redis before the server stops reading from it"),
        Setting(
            "limits.badRequests", \.limits.badRequests, in: 1...1_000_000,
            about: "The number of bad_request errors that closes the connection"),
        Setting(
            "limits.requestsPerSecond", \.limits.requestsPerSecond, in: 0...1_000_000,
            about: "Requests a second that one connection may make continuously"),
        Setting(
            "limits.requestBurst", \.limits.requestBurst, in: 1...1_000_000,
            about: "Requests that one connection may make in a burst"),
        Setting(
            "limits.userRequestsPerSecond", \.limits.userRequestsPerSecond, in: 0...1_000_000,
            about: "The same for one user over all their connections, per shard"),
        Setting(
            "limits.userRequestBurst", \.limits.userRequestBurst, in: 1...1_000_000,
            about: "Requests that one user may make in a burst (1 to 1000000), on each shard."),
        Setting(
            "limits.rateLimited", \.limits.rateLimited, in: 1...1_000_000,
            about: "The number of rate_limited answers within 10 s that closes the connection"),
        Setting(
            "limits.connectionsPerAddress", \.limits.connectionsPerAddress, in: 0...10_000_000,
            about: "WebSockets from one address (an IPv4 address, or the /64 of an IPv6 one) in the whole process"),
        Setting(
            "limits.limitLoopback", \.limits.limitLoopback,
            about: "Whether this and the other limits of an address also apply to this machine's own"),
        Setting(
            "limits.connectionsPerUser", \.limits.connectionsPerUser, in: 0...1_000_000,
            about: "Connections of one user over all servers, lingering ones included"),
        Setting(
            "limits.failedTokensPerSecond", \.limits.failedTokensPerSecond, in: 0...1_000_000,
            about: "Rejected tokens a second from one address (as above), continuously"),
        Setting(
            "limits.failedTokenBurst", \.limits.failedTokenBurst, in: 1...1_000_000, about: "The same in a burst"),
        Setting(
            "limits.outboxBytes", \.limits.outboxBytes, in: 0...1_099_511_627_776,
            about: "Outbound bytes that may be pending in the whole process for slow connections."),
        Setting(
            "limits.inboxBytes", \.limits.inboxBytes, in: 0...1_099_511_627_776,
            about: "Bytes that the whole process may hold of incomplete requests and messages"),
        Setting(
            "limits.redisBytes", \.limits.redisBytes, in: 0...1_099_511_627_776,
            about: "Bytes of commands that may be pending on Redis, in the whole process"),
    ]

    private static let otherSettings: [any AnySetting] = [
        Setting("auth.keys", \.auth.keys, about: "Public keys of the applications that issue tokens"),
        Setting("auth.jwksFile", \.auth.jwksFile, about: "A JSON Web Key Set in a file"),
        Setting(
            "auth.keyCheck", \.auth.keyCheck, in: 0...longestDuration,
            about: "Time between two checks whether one of these files has changed"),
        // Clocks do not explain a token from further in the future; and a token could survive its revocation for this
        // long.
        Setting(
            "auth.leeway", \.auth.leeway, in: 0...600_000,
            about: "How far a token's nbf and iat may be ahead of the server's time"),
        Setting("auth.issuer", \.auth.issuer, about: "The required iss of tokens."),
        Setting("auth.audience", \.auth.audience, about: "The required aud of tokens."),
        Setting(
            "logLevel", \.logLevel,
            about: "The lowest level that is logged, to standard error: trace, debug, info, notice, warning, error or "
                + "critical."),
        Setting("disabledFeatures", \.disabledFeatures, about: "Features that are switched off"),
    ]
}
