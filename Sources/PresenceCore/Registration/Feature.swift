import Installation
import Logging
import PresenceProtocol
import Redis

/// A part of the server that plugs into every shard: its requests for clients and backends, its keys in Redis, its
/// reactions to events and deadlines. Its code is in a folder of its own; one line in `Features.swift` enables it.
/// docs/adding-a-feature.md walks through one.
///
/// A shard creates its features once, in the order of the list, and keeps them. All methods are called on the shard's
/// thread, and must not block.
package protocol Feature: AnyObject, SendableMetatype {
    /// Properties that are the same on all shards, and known in advance.
    static var plan: FeaturePlan { get }

    /// `shard` outlives the feature: keep it `unowned`.
    init(_ shard: ShardLogic)

    /// Registers its handlers. Called once, before any input.
    func register(in registry: inout Registry)

    /// Redis is unreachable: clients get `stale`.
    func becameStale()

    /// Redis is reachable, for the first time or again, and may have lost data: writes this shard's own again.
    ///
    /// - Throws: The failure, if Redis could not do it now: the shard starts over.
    func storeAgain() async throws(RedisFailure)

    /// Events may have been missed: reads the data in memory again. Follows ``storeAgain()``, or comes alone where only
    /// events were missed.
    ///
    /// - Throws: The failure, if Redis could not do it now: the shard starts over.
    func readAgain() async throws(RedisFailure)

    /// Events arrive again, and none is missing: clients get `live`.
    func becameLive()

    /// The server stops, and can still write to Redis.
    func drain()

    /// The shard stops: its loop ends soon, and Redis cannot be reached any more.
    func stop()

    /// This shard has ended the sessions that users had on a dead incarnation, known to be alive at `renewedAt`.
    func reaped(_ users: [UserID], of incarnation: String, renewedAt: Timestamp)
}

extension Feature {
    package func drain() {}
    package func stop() {}
    package func reaped(_ users: [UserID], of incarnation: String, renewedAt: Timestamp) {}
    package func register(in registry: inout Registry) {}
    package func becameStale() {}
    package func storeAgain() async throws(RedisFailure) {}
    package func readAgain() async throws(RedisFailure) {}
    package func becameLive() {}
}

/// A feature's contribution to the process.
package struct FeaturePlan: Sendable {
    /// For the configuration's `disabledFeatures` and for the log.
    package let name: String
    /// Whether a server works without it.
    package var isOptional = true
    /// Assembled when they are first used: a start needs few of them.
    package var scripts: [Script] { ownScripts() + claims.flatMap(\.scripts) }
    private let ownScripts: @Sendable () -> [Script]
    package var keys: [KeyFamily] = []
    package var settings: [any AnySetting] = []
    /// Threads for work that takes too long for a loop.
    package var pools: [WorkerPlan] = []
    /// Unique things of owners; their scripts and keys are among the plan's.
    package var claims: [ClaimPlan] = []
    /// Whether scripts record events for consumers outside (`KeyAddingStore`).
    package var needsOffers: @Sendable (ServerConfiguration) -> Bool = { _ in false }
    /// Where past statuses of users are kept; `nil` if they are not. At most one feature keeps them.
    package var past: @Sendable (ServerConfiguration) -> PastStatuses? = { _ in nil }
    /// Checks settings beyond the range of each, for example whether a file can be read.
    package var check: @Sendable (ServerConfiguration) throws(InvalidConfiguration) -> Void = {
        (_) throws(InvalidConfiguration) in
    }
    /// Reads files again that may change while the server runs: at SIGHUP, and every `auth.keyCheck`. Must not block.
    package var reload: (@Sendable (ServerConfiguration, SharedObjects, Logger) async -> Void)?
    /// Warnings for the log at the start: settings that are allowed, but weaker than they should be.
    package var warnings: @Sendable (ServerConfiguration) -> [String] = { _ in [] }

    package init(
        name: String, isOptional: Bool = true, scripts: @autoclosure @escaping @Sendable () -> [Script] = [],
        keys: [KeyFamily] = [], settings: [any AnySetting] = [], pools: [WorkerPlan] = [], claims: [ClaimPlan] = [],
        needsOffers: @escaping @Sendable (ServerConfiguration) -> Bool = { _ in false },
        past: @escaping @Sendable (ServerConfiguration) -> PastStatuses? = { _ in nil },
        check: @escaping @Sendable (ServerConfiguration) throws(InvalidConfiguration) -> Void = {
            (_) throws(InvalidConfiguration) in
        },
        reload: (@Sendable (ServerConfiguration, SharedObjects, Logger) async -> Void)? = nil,
        warnings: @escaping @Sendable (ServerConfiguration) -> [String] = { _ in [] }
    ) {
        self.name = name
        self.isOptional = isOptional
        ownScripts = scripts
        self.keys = keys + claims.flatMap(\.keys)
        self.settings = settings
        self.pools = pools
        self.claims = claims
        self.needsOffers = needsOffers
        self.past = past
        self.check = check
        self.reload = reload
        self.warnings = warnings
    }
}

extension ServerConfiguration {
    /// The features that are not disabled.
    package func enabled(_ features: [any Feature.Type]) -> [any Feature.Type] {
        features.filter { !disabledFeatures.contains($0.plan.name) }
    }
}
