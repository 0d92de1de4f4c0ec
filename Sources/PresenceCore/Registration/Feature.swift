import Installation
import PresenceProtocol
import Redis

/// A part of the server that plugs into every shard: what clients and backends can ask for, what it keeps in Redis, and
/// what it does when something comes or falls due. Its code is in a folder of its own; one line in `Features.swift`
/// switches it on. docs/adding-a-feature.md walks through one.
///
/// A shard makes its features once, in the order of the list, and keeps them for as long as it lives. Everything is called
/// on the shard's thread, and nothing may block.
package protocol Feature: AnyObject, SendableMetatype {
    /// What is the same on all shards and known before there is one.
    static var plan: FeaturePlan { get }

    /// `shard` outlives the feature: keep it `unowned`.
    init(_ shard: ShardLogic)

    /// Says what it handles. Called once, before anything comes.
    func register(in registry: inout Registry)

    /// A step of the shard's connection to Redis: see ``ResynchronisationStep``. By default there is nothing to do.
    ///
    /// - Parameter done: Called once, also when the step was given up; with why Redis did not do it now, if it did not.
    func resynchronise(_ step: ResynchronisationStep, done: @escaping (RedisFailure?) -> Void)

    /// A client was told `connected`: what it is to hear first comes now.
    func sessionGreeted(_ session: Session)

    /// A client has said whether its user is active, or whether it is in the background.
    func activityChanged(_ session: Session)

    /// A session of this shard has ended.
    func sessionEnded(_ session: Session)

    /// This shard has ended the sessions that users had on a dead incarnation, known to be alive at `renewedAt`.
    func reaped(_ users: [UserID], of incarnation: String, renewedAt: Timestamp)

    /// A user, of this shard or not, has chosen a status.
    func statusChosen(_ status: ChosenStatus, by user: UserID)

    /// What a user of this shard chose is known, or known better.
    func statusKnown(of user: LocalUser)

    /// Who may see a user of this shard is known, or has changed.
    func visibilityKnown(of user: LocalUser)
}

extension Feature {
    package func sessionGreeted(_ session: Session) {}
    package func activityChanged(_ session: Session) {}
    package func sessionEnded(_ session: Session) {}
    package func reaped(_ users: [UserID], of incarnation: String, renewedAt: Timestamp) {}
    package func statusChosen(_ status: ChosenStatus, by user: UserID) {}
    package func statusKnown(of user: LocalUser) {}
    package func visibilityKnown(of user: LocalUser) {}
    package func register(in registry: inout Registry) {}
    package func resynchronise(_ step: ResynchronisationStep, done: @escaping (RedisFailure?) -> Void) { done(nil) }
}

/// The steps in which a shard gets back to Redis' state, at its start and after each break.
package enum ResynchronisationStep: Equatable {
    /// Redis is reached again, and may have lost what this shard told it: tell it again. Comes before `reload`.
    case assert
    /// Events may have been missed: read again what is held, of all partitions or of some.
    case reload(partitions: Set<Int>?)
    /// Events come again, and nothing is missing: clients are told `live`.
    case live
    /// Redis is out of reach: clients are told `stale`. `done` is not waited for.
    case lost
}

/// What a feature adds to the process.
package struct FeaturePlan: Sendable {
    /// In the configuration's `disabledFeatures` and in the log.
    package let name: String
    /// Whether a server works without it.
    package var isOptional = true
    package var scripts: [Script] = []
    package var keys: [KeyFamily] = []
    package var settings: [FeatureSetting] = []
    /// Threads for what takes too long for a loop.
    package var pools: [WorkerPlan] = []
    /// Unique things that it lets owners have; their scripts and keys are among the plan's.
    package var claims: [ClaimPlan] = []
    /// Whether scripts write down what happens for others outside (`OfferingStore`).
    package var needsOffers: @Sendable (ServerConfiguration) -> Bool = { _ in false }
    /// Where the statuses of users are kept that are over; `nil`: it keeps none. At most one feature keeps them.
    package var past: @Sendable (ServerConfiguration) -> PastStatuses? = { _ in nil }
    /// Says what is wrong with its settings beyond the range of each, such as a file that cannot be read.
    package var check: @Sendable (ServerConfiguration) throws(InvalidConfiguration) -> Void = {
        (_) throws(InvalidConfiguration) in
    }
    /// What is logged at the start: settings that are allowed, and weaker than they should be.
    package var warnings: @Sendable (ServerConfiguration) -> [String] = { _ in [] }

    package init(
        name: String, isOptional: Bool = true, scripts: [Script] = [], keys: [KeyFamily] = [],
        settings: [FeatureSetting] = [], pools: [WorkerPlan] = [], claims: [ClaimPlan] = [],
        needsOffers: @escaping @Sendable (ServerConfiguration) -> Bool = { _ in false },
        past: @escaping @Sendable (ServerConfiguration) -> PastStatuses? = { _ in nil },
        check: @escaping @Sendable (ServerConfiguration) throws(InvalidConfiguration) -> Void = {
            (_) throws(InvalidConfiguration) in
        },
        warnings: @escaping @Sendable (ServerConfiguration) -> [String] = { _ in [] }
    ) {
        self.name = name
        self.isOptional = isOptional
        self.scripts = scripts + claims.flatMap(\.scripts)
        self.keys = keys + claims.flatMap(\.keys)
        self.settings = settings
        self.pools = pools
        self.claims = claims
        self.needsOffers = needsOffers
        self.past = past
        self.check = check
        self.warnings = warnings
    }
}

extension ServerConfiguration {
    /// Those of the features that it does not switch off.
    package func enabled(_ features: [any Feature.Type]) -> [any Feature.Type] {
        features.filter { !disabledFeatures.contains($0.plan.name) }
    }
}
