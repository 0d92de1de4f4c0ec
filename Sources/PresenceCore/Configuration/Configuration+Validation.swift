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
        for setting in Self.coreSettings { try setting.check(self) }
        guard !host.isEmpty else { throw InvalidConfiguration(key: "host", reason: "is empty") }
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
        for setting in features.flatMap({ $0.plan.settings }) { try setting.check(self) }
        for feature in features { try feature.plan.check(self) }
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
        // A canary is sent with each renewal, so silence is noticed at the latest after the sum of both times.
        guard lease.renewal + staleAfter <= Self.stalenessPromise else {
            throw InvalidConfiguration(
                key: "staleAfter",
                reason: "is \(staleAfter) ms, but with lease.renewal (\(lease.renewal) ms) must come to at most "
                    + "\(Self.stalenessPromise) ms, within which clients are promised to hear of staleness")
        }
        guard limits.subscribeBatch <= limits.subscriptions else {
            throw InvalidConfiguration(
                key: "limits.subscribeBatch",
                reason: "is \(limits.subscribeBatch), but must be at most limits.subscriptions "
                    + "(\(limits.subscriptions))")
        }
    }

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
}
