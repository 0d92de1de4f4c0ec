import Expectations
import Installation
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

@Suite struct ConfigurationTests {
    /// One changed value, and the key at fault.
    struct Change: CustomTestStringConvertible {
        let key: String
        let apply: @Sendable (inout ServerConfiguration) -> Void

        init(_ key: String, _ apply: @escaping @Sendable (inout ServerConfiguration) -> Void) {
            self.key = key
            self.apply = apply
        }

        var testDescription: String { key }
    }

    /// Errors that appear only when files and names are checked.
    @Test(arguments: [
        Change("tls.keyFile") { $0.tls.certificateFile = "f" },
        Change("tls.certificateFile") { $0.tls.keyFile = "f" },
        Change("tls.certificateFile") { $0.tls = .init(certificateFile: "/nonexistent", keyFile: "/nonexistent") },
        Change("host") { $0.host = "0.0.0.0" }, Change("host") { $0.host = "::" },
        Change("host") { $0.host = "192.0.2.1" },
        Change("api.host") {
            $0.api.host = "0.0.0.0"
            $0.api.port = 1
        },
    ])
    func `an invalid listening setting is rejected with its key`(change: Change) throws {
        var configuration = ServerConfiguration()
        change.apply(&configuration)
        try configuration.validate()
        let error = #expect(throws: InvalidConfiguration.self) { try configuration.validateListening() }
        expect(error?.key, equals: change.key)
    }

    @Test(arguments: ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
    func `a server that listens on loopback only needs no further settings`(host: String) throws {
        var configuration = ServerConfiguration()
        configuration.host = host
        try configuration.validateListening()
        configuration.host = "0.0.0.0"
        configuration.allowPlain = true
        try configuration.validateListening()
    }

    @Test func `the defaults are valid`() throws {
        try ServerConfiguration().validate()
    }

    /// Each case has one invalid value and the key that the error must name.
    @Test(arguments: [
        Change("heartbeat.interval") { $0.heartbeat.interval = 0 },
        Change("heartbeat.timeout") { $0.heartbeat.timeout = -1 },
        Change("linger") { $0.linger = 0 },
        Change("lease.duration") { $0.linger = $0.lease.duration + 1 },
        Change("lease.renewal") { $0.lease.renewal = $0.lease.duration / 2 + 1 },
        Change("lease.sweep") { $0.lease.sweep = 0 },
        Change("typing.expiry") { $0[Typing.expiry] = ServerConfiguration.longestDuration + 1 },
        Change("connectTimeout") { $0.connectTimeout = 0 },
        Change("tokenExpiringNotice") { $0.tokenExpiringNotice = -1 },
        Change("slowConsumer.timeout") { $0.slowConsumer.timeout = 0 },
        Change("commandTimeout") { $0.commandTimeout = 0 },
        Change("staleAfter") { $0.staleAfter = 3_001 },
        Change("host") { $0.host = "" },
        Change("port") { $0.port = 65_536 },
        Change("port") { $0.port = -1 },
        Change("shards") { $0.shards = 0 },
        Change("partitions") { $0.partitions = 0 },
        Change("partitions") { $0.partitions = 16_385 },
        Change("redis.url") { $0.redis.url = "http://localhost" },
        Change("redis.wait") { $0.redis.wait = -1 },
        Change("redis.tls.caFile") { $0.redis.tls.caFile = "f" },
        Change("redis.tls.serverName") { ($0.redis.url, $0.redis.tls.serverName) = ("redis://h", "h") },
        Change("redis.tls.keyFile") { ($0.redis.url, $0.redis.tls.certificateFile) = ("rediss://h", "f") },
        Change("redis.tls.certificateFile") { ($0.redis.url, $0.redis.tls.keyFile) = ("rediss+cluster://h", "f") },
        Change("limits.contacts") { $0[VisibilityRequests.mostContacts] = 990_001 },
        Change("limits.contacts") { $0[VisibilityRequests.mostBlocks] = 990_001 },
        Change("limits.contacts") {
            ($0[VisibilityRequests.mostContacts], $0[VisibilityRequests.mostBlocks]) = (500_001, 500_000)
        },
        Change("limits.redisBytes") { $0.limits.redisBytes = -1 },
        Change("limits.maxMessageBytes") { $0.limits.maxMessageBytes = 4_095 },
        Change("limits.maxServerMessageBytes") { $0.limits.maxServerMessageBytes = 1_048_577 },
        Change("limits.subscriptions") { $0.limits.subscriptions = 0 },
        Change("limits.subscribeBatch") { $0.limits.subscribeBatch = $0.limits.subscriptions + 1 },
        Change("limits.participants") { $0[Conversations.mostParticipants] = 1 },
        Change("limits.conversationsPerUser") { $0[Conversations.mostCreated] = 0 },
        Change("limits.maxConnections") { $0.limits.maxConnections = 0 },
        Change("limits.pendingRequests") { $0.limits.pendingRequests = 0 },
        Change("limits.badRequests") { $0.limits.badRequests = 0 },
        Change("limits.requestsPerSecond") { $0.limits.requestsPerSecond = -1 },
        Change("limits.requestBurst") { $0.limits.requestBurst = 0 },
        Change("limits.userRequestsPerSecond") { $0.limits.userRequestsPerSecond = 1_000_001 },
        Change("limits.userRequestBurst") { $0.limits.userRequestBurst = 1_000_001 },
        Change("limits.rateLimited") { $0.limits.rateLimited = 0 },
        Change("limits.connectionsPerAddress") { $0.limits.connectionsPerAddress = -1 },
        Change("limits.connectionsPerUser") { $0.limits.connectionsPerUser = -1 },
        Change("limits.uploadsPerAddress") { $0.limits.uploadsPerAddress = -1 },
        Change("limits.downloadsPerAddress") { $0.limits.downloadsPerAddress = 100_001 },
        Change("limits.outboxBytes") { $0.limits.outboxBytes = -1 },
        Change("limits.inboxBytes") { $0.limits.inboxBytes = -1 },
        Change("auth.keyCheck") { $0.auth.keyCheck = -1 },
        Change("drain.duration") { $0.drain.duration = -1 },
        Change("handshakeTimeout") { $0.handshakeTimeout = 0 },
        Change("limits.handshakes") { $0.limits.handshakes = 15 },
        Change("allowedOrigins") { $0.allowedOrigins = ["https://example.org", "example.org"] },
        Change("allowedOrigins") { $0.allowedOrigins = ["https://example.org/"] },
        Change("allowedOrigins") { $0.allowedOrigins = [""] },
        Change("trustedProxies") { $0.trustedProxies = ["10.0.0.1", "10.0.0.1/8"] },
        Change("trustedProxies") { $0.trustedProxies = ["localhost"] },
        Change("api.host") { $0.api.host = "" },
        Change("api.port") { $0.api.port = 65_536 },
        Change("api.port") { $0.api.port = $0.port },
        Change("auth.keys") { $0.auth.keys = [.init(kid: "a", alg: "HS256", file: "f")] },
        Change("auth.keys") { $0.auth.keys = [.init(kid: "", alg: "ES256", file: "f")] },
        Change("auth.keys") { $0.auth.keys = [.init(kid: "a", alg: "ES256", file: "")] },
        Change("auth.keys") { $0.auth.keys = Array(repeating: .init(kid: "a", alg: "ES256", file: "f"), count: 2) },
        Change("redis.interests") {
            $0.redis.interests = true
            $0.redis.url = "redis+cluster://a,b"
        },
    ])
    func `an invalid value is rejected with its key`(change: Change) {
        var configuration = ServerConfiguration()
        change.apply(&configuration)
        #expect { try configuration.validate() } throws: { ($0 as? InvalidConfiguration)?.key == change.key }
    }

    @Test(arguments: [
        Change("lease.duration") { $0.linger = $0.lease.duration },
        Change("lease.renewal") {
            ($0.lease.renewal, $0.linger, $0.lease.duration, $0.staleAfter) = (4_000, 8_000, 8_000, 1_000)
        },
        Change("staleAfter") { $0.staleAfter = 3_000 },
        Change("port") { $0.port = 0 },
        Change("port") { $0.port = 65_535 },
        Change("redis.url") { $0.redis.url = "unix:///run/redis.sock" },
        Change("redis.url") { $0.redis.url = "redis://user:secret@host:6379/1" },
        Change("limits.subscribeBatch") { $0.limits.subscribeBatch = $0.limits.subscriptions },
        Change("limits.participants") { $0[Conversations.mostParticipants] = 2 },
        Change("shards") { $0.shards = 1_024 },
        Change("limits.requestsPerSecond") { $0.limits.requestsPerSecond = 0 },
        Change("limits.userRequestsPerSecond") { $0.limits.userRequestsPerSecond = 1_000_000 },
        Change("limits.connectionsPerAddress") { $0.limits.connectionsPerAddress = 0 },
        Change("limits.connectionsPerUser") { $0.limits.connectionsPerUser = 0 },
        Change("limits.uploadsPerAddress") { $0.limits.uploadsPerAddress = 0 },
        Change("limits.downloadsPerAddress") { $0.limits.downloadsPerAddress = 0 },
        Change("limits.outboxBytes") { $0.limits.outboxBytes = 0 },
        Change("limits.inboxBytes") { $0.limits.inboxBytes = 0 },
        Change("limits.redisBytes") { $0.limits.redisBytes = 0 },
        Change("limits.blocks") {
            ($0[VisibilityRequests.mostContacts], $0[VisibilityRequests.mostBlocks]) = (500_000, 500_000)
        },
        Change("redis.url") { $0.redis.url = "rediss+sentinel://user:secret@host/people" },
        Change("redis.interests") {
            $0.redis.interests = true
            $0.redis.url = "redis+sentinel://a,b/people"
        },
        Change("redis.tls") {
            $0.redis.url = "rediss://host"
            $0.redis.tls = .init(caFile: "a", certificateFile: "c", keyFile: "k", serverName: "n")
        },
        Change("auth.keyCheck") { $0.auth.keyCheck = 0 },
        Change("heartbeat") {
            $0.heartbeat.interval = 1
            $0.heartbeat.timeout = 1
            $0.linger = 1
            $0.lease.duration = 2
            $0.lease.renewal = 1
            $0.lease.sweep = 1
        },
    ])
    func `a value at its limit is accepted`(change: Change) throws {
        var configuration = ServerConfiguration()
        change.apply(&configuration)
        try configuration.validate()
    }

    @Test func `the error about an invalid Redis address hides its password`() {
        var configuration = ServerConfiguration()
        configuration.redis.url = "redis://user:very-secret@host:port"
        #expect { try configuration.validate() } throws: { !"\($0)".contains("very-secret") }
    }
}
