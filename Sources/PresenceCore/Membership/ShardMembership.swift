import PresenceProtocol
import Redis

/// The shard's standing with Redis: its incarnation, its lease, and whether its data is current.
///
///     starting ──▶ live ──▶ stale ──▶ (resynchronising) ──▶ live
///                   a break, silence, an expired lease
///
/// After a break of the command or lease connection the shard takes a new incarnation and reports all its sessions
/// again; after a break of only the subscription it keeps its incarnation. In either case it reads everything watched
/// before it is `live`.
package final class ShardMembership {
    package unowned let shard: ShardLogic

    package private(set) var state = State.starting
    package var incarnation = ""
    /// Grows with every resynchronisation: a session is asserted once in each.
    var round = 1
    /// The highest version seen in each partition: none at or below it may be assigned again.
    var seenVersions: [Int64]
    /// With interests, an upper bound of versions that other shards may have seen.
    var ceiling: VersionCeiling
    let isAlone: Bool
    /// The value of `presence:format` when it was last read or written.
    var foundFormat = ""

    var lanesUp: Set<StoreLane> = []
    var isSubscribed = false
    /// The old incarnation may no longer be used.
    var needsIncarnation = true
    /// The incarnation may write in every partition. An attempt that becomes obsolete earlier leaves an incarnation that may
    /// not.
    var hasJoined = false
    /// Redis rejected a part of the incarnation's entry: it is retried with the same incarnation, so that there is one
    /// incarnation to clean up, not one for each try.
    var entersAgain = false
    /// Earlier incarnations of this shard that it still has to clean up.
    var former: [(incarnation: String, renewedAt: Timestamp)] = []
    /// Grows whenever running steps become obsolete; callbacks of earlier attempts then do nothing.
    var attempt = 0
    var isResynchronising = false
    /// The canary that ends the resynchronisation, once everything else is done.
    var lastCanary: Int?
    /// Redis rejected some sessions that began or ended during the last resynchronisation: they are reported again.
    var leavesRest = false
    /// When an unsuitable Redis is checked again.
    var restartsAt: Milliseconds?
    /// Partitions whose events have been rerouted since they were last read.
    var rerouted: Set<Int> = []
    /// Since when rerouted partitions are being read again, while the shard stays live.
    var catchingUpSince: Milliseconds?
    /// The logged reasons why the shard is not live yet: several servers may be unreachable in turn.
    private var absences: Set<String> = []
    /// When a logged reason may be logged again.
    private var nextAbsence: Milliseconds = 0
    private var nextFewReplicas: Milliseconds = 0
    /// Minimum ms between two log lines for the same condition.
    static let quiet: Milliseconds = 10_000

    // The lease, and the canary that is sent through the subscription with every renewal.
    let canary: String
    var renewals: [Renewal] = []
    var renewalNumber = 0
    var canaryHeard = 0
    var lastRenewal: Milliseconds = 0
    var nextRenewal: Milliseconds = 0
    var nextSweep: Milliseconds = 0
    /// The highest renewal that Redis has acknowledged.
    var renewalAnswered = 0
    /// When the shard started, on the monotonic clock.
    let started: Milliseconds
    /// How long a server must have been running before it ends the sessions of dead servers: until it started, their users
    /// may have had no server to reconnect to. Other servers of the same Redis have at least a lease's duration to show that
    /// they are alive.
    let grace: Milliseconds

    /// Called whenever the shard becomes live.
    var onLive: () -> Void = {}
    /// Called when Redis has data that this server must not touch.
    var onRefusal: (String) -> Void = { _ in }

    package enum State: Equatable {
        case starting
        case live
        case stale(since: Timestamp)
    }

    struct Renewal {
        package let number: Int
        let sentAt: Milliseconds
        var isAnswered = false
    }

    init(_ shard: ShardLogic, isAlone: Bool) {
        self.shard = shard
        started = shard.clock.now
        let settings = shard.configuration
        grace = isAlone ? settings.linger : max(settings.linger, settings.lease.duration)
        canary = shard.partitions.space.channels + "canary:" + shard.randomName()
        seenVersions = Array(repeating: 0, count: shard.partitions.count)
        ceiling = VersionCeiling(partitions: shard.partitions.count)
        self.isAlone = isAlone
    }

    package var isLive: Bool { state == .live }

    package func start() { shard.store.subscribe(canary: canary) }

    // MARK: Inputs

    package func handle(_ change: StoreChange) {
        switch change {
        case .up(let lane):
            lanesUp.insert(lane)
            resynchroniseIfPossible()
        case .down(let lane, let reason):
            lanesUp.remove(lane)
            needsIncarnation = true
            renewals.removeAll()
            logAbsence(reason)
            lost(reason, since: shard.clock.redisNow)
        case .subscribed:
            isSubscribed = true
            // The canaries of earlier renewals were published before this subscription, and were lost with the former
            // one: waiting for them would make the shard stale again at once.
            renewals.removeAll(where: \.isAnswered)
            resynchroniseIfPossible()
        case .followed(let channel): shard.interests?.confirm(channel)
        case .unsubscribed(let reason):
            isSubscribed = false
            shard.interests?.lost()
            shard.policies.doubt()
            lost(reason, since: shard.clock.redisNow)
        case .rerouted(let partitions):
            rerouted.formUnion(partitions)
            shard.policies.doubt(partitions)
            catchUp()
        }
    }

    /// A renewal's canary has passed through the subscription, and so has everything before it.
    package func handle(canary payload: UnsafeRawBufferPointer) {
        guard let number = Int(String(decoding: payload, as: UTF8.self)) else { return }
        canaryHeard = max(canaryHeard, number)
        completeRenewals()
    }

    func sawVersions(_ versions: [Int64], of subject: Identifier) {
        let partition = shard.partitions.index(of: subject)
        for version in versions where version > seenVersions[partition] { seenVersions[partition] = version }
    }

    func sawVersion(_ version: Int64, partition: Int) {
        if version > seenVersions[partition] { seenVersions[partition] = version }
    }

    /// Returns true if a script rejected the write because this incarnation is fenced. If the incarnation has not
    /// joined yet, the script was one of the former incarnation, or ran too early.
    @discardableResult
    package func noticeFencing(in result: Result<RedisValue, RedisFailure>) -> Bool {
        guard (try? result.get())?.array?.first?.string == "FENCED" else { return false }
        noticeFencing()
        return true
    }

    func noticeFencing() {
        if hasJoined { fence("Redis no longer has this incarnation") }
    }

    /// Whether Redis no longer has a lease of this incarnation.
    static func isGone(_ result: Result<RedisValue, RedisFailure>) -> Bool {
        (try? result.get())?.array?.first?.string == "GONE"
    }

    func tick() {
        let now = shard.clock.now
        if now >= nextRenewal {
            renew()
            if leavesRest { assertRest() }
        }
        if now >= nextSweep { isLive ? sweep() : (nextSweep = now + Self.pauseWhileStale) }
        if let restartsAt, now >= restartsAt { restart() }
        watchSilence()
    }

    /// When `tick` has something to do.
    var nextWake: Milliseconds { min(nextRenewal, nextSweep) }
    /// In ms.
    private static let pauseWhileStale: Milliseconds = 100

    // MARK: Staleness

    /// Before the shard is first live, reasons are only logged: each reason once by each shard, and repeatedly by the
    /// first one.
    private func logAbsence(_ reason: String) {
        guard state == .starting else { return }
        let isNew = absences.count < 100 && absences.insert(reason).inserted
        guard isNew || shard.place.number == 0 && shard.clock.now >= nextAbsence else { return }
        nextAbsence = shard.clock.now + Self.quiet
        shard.log("waiting for Redis", ["reason": reason], level: .warning)
    }

    /// While Redis has too few replicas, every change is rejected with `unavailable`.
    func logFewReplicas(_ count: Int) {
        guard shard.clock.now >= nextFewReplicas else { return }
        nextFewReplicas = shard.clock.now + Self.quiet
        shard.log(
            "too few replicas have changes",
            ["replicas": "\(count)", "redis.wait": "\(shard.configuration.redis.wait)"], level: .warning)
    }

    package func lost(_ reason: String, since: Timestamp) {
        attempt += 1
        isResynchronising = false
        restartsAt = nil
        catchingUpSince = nil
        becomeStale(reason, since: since)
    }

    func becomeStale(_ reason: String, since: Timestamp) {
        guard state == .live else { return }
        state = .stale(since: since)
        shard.log("stale", ["reason": reason], level: .warning)
        shard.metrics.staleCount += 1
        shard.announceStaleness(since: since)
        shard.policies.lost()
        shard.awaitedProfiles.lost()
        for feature in shard.features { feature.becameStale() }
        shard.handleAllHeld()
    }

    func becomeLive() {
        guard state != .live else { return }
        let wasStarting = state == .starting
        state = .live
        shard.log(wasStarting ? "serving" : "live", ["incarnation": incarnation])
        nextSweep = shard.clock.now
        shard.sessions.lingerAgain()
        for feature in shard.features { feature.becameLive() }
        if !wasStarting { shard.announceLive() }
        shard.policies.resume()
        shard.intents.resume()
        onLive()
    }

    func fence(_ reason: String) {
        guard !needsIncarnation else { return }
        needsIncarnation = true
        lost(reason, since: shard.clock.redisNow)
        resynchroniseIfPossible()
    }

    private func watchSilence() {
        let now = shard.clock.now
        let settings = shard.configuration
        if !incarnation.isEmpty, !needsIncarnation, !isResynchronising, now - lastRenewal > settings.lease.duration {
            fence("the lease has run out")
        }
        if isLive, let began = catchingUpSince, now - began > settings.staleAfter {
            becomeStale("moved partitions have not been read yet", since: shard.clock.redisNow - (now - began))
        }
        guard let oldest = renewals.first, now - oldest.sentAt > settings.staleAfter else { return }
        // A subscription may fall silent while the shard is stale for another reason: only this check detects that.
        // Without it the shard would stay stale.
        let unheard = renewals.first(where: \.isAnswered).map { now - $0.sentAt > settings.staleAfter } ?? false
        let isDeaf = unheard && isSubscribed
        guard isLive || isDeaf else { return }
        lost(
            isDeaf ? "the subscription is silent" : "Redis is silent",
            since: shard.clock.redisNow - (now - oldest.sentAt))
        if isDeaf {
            isSubscribed = false
            renewals.removeAll(where: \.isAnswered)
            shard.policies.doubt()
            shard.store.subscribe(canary: canary)
        }
    }

    /// A renewal is settled when it was acknowledged and its canary arrived: until then nothing was missed. Earlier
    /// renewals that Redis rejected, or whose canary it rejected, are settled with it, since it proves at least as
    /// much.
    func completeRenewals() {
        prove()
        guard let last = renewals.lastIndex(where: { $0.isAnswered && canaryHeard >= $0.number }) else { return }
        renewals.removeFirst(last + 1)
        let isSilent = renewals.first.map { shard.clock.now - $0.sentAt > shard.configuration.staleAfter } ?? false
        // Redis was silent, or rejected commands, but no connection broke. Rejected sessions have still to be reported.
        if !isSilent, case .stale = state, !needsIncarnation { resynchroniseIfPossible() }
    }
}
