import Installation
import PresenceProtocol
import WebSockets

extension ServerConfiguration {
    /// The longest duration that may be set: 30 days. Longer ones are probably in a wrong unit, and sums cannot overflow.
    public static let longestDuration: Milliseconds = 30 * 24 * 3_600_000

    /// Promise 4: within this many ms of losing Redis the server informs its clients.
    static let stalenessPromise: Milliseconds = 5_000

    /// Checks everything, and throws the first fault.
    ///
    /// Besides the range of each value, this checks the relations on which the promises depend.
    package func validate(with features: [any Feature.Type]) throws(InvalidConfiguration) {
        try validateDurations()
        try validateNumbers()
        try validateRelations()
        try redis.validate()
        try validateListeningValues()
        try validateAuth()
        try validate(features)
    }

    private func validate(_ features: [any Feature.Type]) throws(InvalidConfiguration) {
        let optional = features.map { $0.plan }.filter(\.isOptional).map(\.name)
        for name in disabledFeatures where !optional.contains(name) {
            throw InvalidConfiguration(
                key: "disabledFeatures",
                reason: "\(name) is none that can be switched off: " + optional.joined(separator: ", "))
        }
        try validate(features.flatMap { $0.plan.settings })
        for feature in features { try feature.plan.check(self) }
    }

    private func validateDurations() throws(InvalidConfiguration) {
        for (key, duration) in [
            ("heartbeat.interval", heartbeat.interval), ("heartbeat.timeout", heartbeat.timeout), ("linger", linger),
            ("lease.duration", lease.duration), ("lease.renewal", lease.renewal), ("lease.sweep", lease.sweep),
            ("connectTimeout", connectTimeout),
            ("handshakeTimeout", handshakeTimeout),
            ("slowConsumer.timeout", slowConsumer.timeout), ("commandTimeout", commandTimeout),
            ("staleAfter", staleAfter),
        ] {
            try check(key, duration, in: 1...Self.longestDuration, unit: " ms")
        }
        // These may be 0: no notice, no wait, no check.
        try check("tokenExpiringNotice", tokenExpiringNotice, in: 0...Self.longestDuration, unit: " ms")
        try check("drain.duration", drain.duration, in: 0...Self.longestDuration, unit: " ms")
        try check("drain.timeout", drain.timeout, in: 0...Self.longestDuration, unit: " ms")
        try check("auth.keyCheck", auth.keyCheck, in: 0...Self.longestDuration, unit: " ms")
        // A token from further in the future is not explained by clocks; and this is how long a token could survive its
        // revocation.
        try check("auth.leeway", auth.leeway, in: 0...600_000, unit: " ms")
    }

    private func validateNumbers() throws(InvalidConfiguration) {
        guard !host.isEmpty else { throw InvalidConfiguration(key: "host", reason: "is empty") }
        try check("port", port, in: 0...65_535)
        if let shards { try check("shards", shards, in: 1...1_024) }
        try check("partitions", partitions, in: 1...16_384)
        try check("redis.wait", redis.wait, in: 0...100)
        // The smallest message limits still allow a `connect` with a token, and a register with all its texts.
        try check("limits.maxMessageBytes", limits.maxMessageBytes, in: 4_096...67_108_864)
        try check("limits.maxServerMessageBytes", limits.maxServerMessageBytes, in: 16_384...1_048_576)
        try check("limits.subscriptions", limits.subscriptions, in: 1...1_000_000)
        try check("limits.subscribeBatch", limits.subscribeBatch, in: 1...100_000)
        try check("limits.participants", limits.participants, in: 2...1_000)
        try check("limits.conversationsPerUser", limits.conversationsPerUser, in: 1...1_000_000)
        try check("limits.contacts", limits.contacts, in: 1...1_000_000)
        try check("limits.blocks", limits.blocks, in: 1...1_000_000)
        if let most = limits.maxConnections { try check("limits.maxConnections", most, in: 1...10_000_000) }
        try check("limits.handshakes", limits.handshakes, in: 16...1_000_000)
        try check("limits.uploads", limits.uploads, in: 1...100_000)
        try check("limits.uploadsPerAddress", limits.uploadsPerAddress, in: 0...100_000)
        try check("limits.downloads", limits.downloads, in: 1...100_000)
        try check("limits.downloadsPerAddress", limits.downloadsPerAddress, in: 0...100_000)
        try check("limits.pendingRequests", limits.pendingRequests, in: 1...10_000)
        try check("limits.badRequests", limits.badRequests, in: 1...1_000_000)
        try validateFloodLimits()
    }

    private func validateFloodLimits() throws(InvalidConfiguration) {
        try check("limits.requestsPerSecond", limits.requestsPerSecond, in: 0...1_000_000)
        try check("limits.requestBurst", limits.requestBurst, in: 1...1_000_000)
        try check("limits.userRequestsPerSecond", limits.userRequestsPerSecond, in: 0...1_000_000)
        try check("limits.userRequestBurst", limits.userRequestBurst, in: 1...1_000_000)
        try check("limits.rateLimited", limits.rateLimited, in: 1...1_000_000)
        try check("limits.connectionsPerAddress", limits.connectionsPerAddress, in: 0...10_000_000)
        try check("limits.connectionsPerUser", limits.connectionsPerUser, in: 0...1_000_000)
        try check("limits.failedTokensPerSecond", limits.failedTokensPerSecond, in: 0...1_000_000)
        try check("limits.failedTokenBurst", limits.failedTokenBurst, in: 1...1_000_000)
        try check("limits.failedRefreshes", limits.failedRefreshes, in: 1...1_000_000)
        try check("limits.outboxBytes", limits.outboxBytes, in: 0...1_099_511_627_776)
        try check("limits.inboxBytes", limits.inboxBytes, in: 0...1_099_511_627_776)
        try check("limits.redisBytes", limits.redisBytes, in: 0...1_099_511_627_776)
    }

    private func validateRelations() throws(InvalidConfiguration) {
        // Before a user is reaped, their linger time for reconnecting elsewhere must be over.
        guard lease.duration >= linger else {
            throw InvalidConfiguration(
                key: "lease.duration",
                reason: "is \(lease.duration) ms, but must not be shorter than linger (\(linger) ms)")
        }
        // One renewal may be late or lost before the shard counts as dead.
        guard lease.renewal * 2 <= lease.duration else {
            throw InvalidConfiguration(
                key: "lease.renewal",
                reason: "is \(lease.renewal) ms, but must be at most half of lease.duration (\(lease.duration) ms)")
        }
        // The canary is sent with each renewal: silence is noticed at the latest after both times.
        guard lease.renewal + staleAfter <= Self.stalenessPromise else {
            throw InvalidConfiguration(
                key: "staleAfter",
                reason: "is \(staleAfter) ms, but with lease.renewal (\(lease.renewal) ms) must come to at most "
                    + "\(Self.stalenessPromise) ms, within which clients are promised to hear of staleness")
        }
        guard limits.contacts + limits.blocks <= Self.longestLists else {
            throw InvalidConfiguration(
                key: "limits.contacts",
                reason: "is \(limits.contacts), but must come to at most \(Self.longestLists) with limits.blocks "
                    + "(\(limits.blocks)): Redis answers with both lists at once")
        }
        guard limits.subscribeBatch <= limits.subscriptions else {
            throw InvalidConfiguration(
                key: "limits.subscribeBatch",
                reason: "is \(limits.subscribeBatch), but must be at most limits.subscriptions "
                    + "(\(limits.subscriptions))")
        }
    }

    /// The most contacts and blocks of one user together: Redis replies with both at once, and a reply of more than
    /// 1,048,576 elements (`AnswerObjects.longestArray`) would end the connection.
    static let longestLists = 1_000_000

    private func validateListeningValues() throws(InvalidConfiguration) {
        for origin in allowedOrigins where AllowedOrigins.Entry(origin) == nil {
            throw InvalidConfiguration(
                key: "allowedOrigins",
                reason:
                    "\"\(origin)\" is no origin as browsers write it: https://example.org, https://example.org:8443, null, file:// or *; "
                    + "a star within a name matches nothing")
        }
        for range in trustedProxies where AddressRange(range) == nil {
            throw InvalidConfiguration(
                key: "trustedProxies", reason: "\"\(range)\" is no address, nor a range such as 10.0.0.0/8")
        }
        guard !api.host.isEmpty else { throw InvalidConfiguration(key: "api.host", reason: "is empty") }
        guard let apiPort = api.port else { return }
        try check("api.port", apiPort, in: 1...65_535)
        guard apiPort != port else {
            throw InvalidConfiguration(key: "api.port", reason: "is \(apiPort), which is the public port")
        }
    }

    private func validateAuth() throws(InvalidConfiguration) {
        var seen: Set<String> = []
        for key in auth.keys {
            guard !key.kid.isEmpty else { throw InvalidConfiguration(key: "auth.keys", reason: "a key has no kid") }
            guard ["RS256", "ES256", "EdDSA"].contains(key.alg) else {
                throw InvalidConfiguration(
                    key: "auth.keys",
                    reason: "alg of \(key.kid) is \"\(key.alg)\", but must be RS256, ES256 or EdDSA")
            }
            guard !key.file.isEmpty else {
                throw InvalidConfiguration(key: "auth.keys", reason: "\(key.kid) has no file")
            }
            guard seen.insert(key.kid).inserted else {
                throw InvalidConfiguration(key: "auth.keys", reason: "the kid \(key.kid) is there twice")
            }
        }
    }

    private func check<Value: Comparable>(
        _ key: String, _ value: Value, in range: ClosedRange<Value>, unit: String = ""
    ) throws(InvalidConfiguration) {
        guard range.contains(value) else {
            throw InvalidConfiguration(
                key: key,
                reason: "is \(value)\(unit), but must be from \(range.lowerBound) to \(range.upperBound)\(unit)")
        }
    }
}
