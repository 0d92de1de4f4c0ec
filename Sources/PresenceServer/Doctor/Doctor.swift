import Foundation
import Installation
import PresenceCore
import PresenceProtocol
import Redis

/// Compares what Redis holds with what the servers' live leases account for, and clears what is safely wrong.
///
/// It works while servers run, and counts on their changing things meanwhile: everything is looked at in small steps
/// (`SCAN`, never `KEYS`); what looks wrong is looked at again after a pause in which every lease has been renewed and
/// swept, each user in one moment between two readings of the leases; and only what is wrong both times is. Repairs are
/// judged again in the same transaction that changes something, or made by the servers' own scripts, and can be repeated
/// or done by two at once. When slots of a cluster move meanwhile, or a replica takes over, it starts over.
///
/// For one thread. It waits for Redis, so it is for a tool and never for a loop.
public final class Doctor {
    private(set) var store: DoctorStore
    private let location: RedisLocation
    let lease: ServerConfiguration.Lease
    /// How long servers are there before they reap.
    let grace: Milliseconds
    var partitions: Partitions
    /// Where addresses are claimed; `nil` if no server with accounts has run.
    var addressPartitions: AddressPartitions?
    let features: [any Feature.Type]
    /// Whether the servers keep statuses that are over.
    let past: PastStatuses?
    /// The features' keys.
    var families: [KeyFamily] { features.flatMap { $0.plan.keys } }
    var counts = DoctorReport.Counts()
    /// While everything is looked at: asks the servers after their sessions.
    var inquiry: Inquiry?

    /// Sessions and users that one step reads: some hundred microseconds of Redis' time.
    static let step = 100
    /// What is further ahead of Redis' clock than this is no matter of many changes in one moment, in ms.
    static let tolerance: Milliseconds = 60_000
    /// A chosen status that should have ended longer ago than this has been forgotten, in ms.
    static let lapsing: Milliseconds = 10_000
    /// How often it starts over, and after which pause, in ms.
    private static let attempts = 5
    private static let restart: Milliseconds = 500

    /// - Parameters:
    ///   - url: Where the Redis is.
    ///   - configuration: The servers', for their times.
    /// - Throws: ``DoctorFailure`` if it cannot be reached.
    public convenience init(url: String, configuration: ServerConfiguration) throws(DoctorFailure) {
        try self.init(url: url, configuration: configuration, features: Features.all)
    }

    init(
        url: String, configuration: ServerConfiguration, features: [any Feature.Type]
    ) throws(DoctorFailure) {
        self.features = features
        past = configuration.past(of: features)
        do throws(InvalidConfiguration) {
            location = try configuration.redis.location(url)
        } catch {
            throw DoctorFailure(error.description)
        }
        lease = configuration.lease
        grace = max(configuration.linger, lease.duration)
        partitions = Partitions(configuration, database: location.database)
        do throws(RedisFailure) {
            store = try DoctorStore(location)
        } catch {
            throw DoctorFailure(error, at: location)
        }
    }

    /// Looks at everything.
    ///
    /// - Throws: ``DoctorFailure`` if Redis stopped answering, or its slots keep moving.
    public func examine() throws(DoctorFailure) -> DoctorReport {
        try startingOver { () throws(RedisFailure) in try report(confirmed(), repaired: []) }
    }

    /// Looks at everything, clears what is safely wrong, and looks again: the report is of what is still wrong, and says
    /// what was cleared.
    ///
    /// - Throws: ``DoctorFailure`` as `examine()`: what was done by then is done.
    public func repair() throws(DoctorFailure) -> DoctorReport {
        var repaired: Set<Symptom> = []
        return try startingOver { () throws(RedisFailure) in
            let wrong = try confirmed()
            let clearable = wrong.symptoms.filter(\.kind.isRepairable)
            repaired.formUnion(clearable)
            guard !clearable.isEmpty else { return report(wrong, repaired: findings(of: repaired)) }
            try Repair(self).clear(clearable)
            return try report(confirmed(), repaired: findings(of: repaired))
        }
    }

    /// Does it anew, on new connections, when what was asked is elsewhere now.
    private func startingOver(
        _ work: () throws(RedisFailure) -> DoctorReport
    ) throws(DoctorFailure) -> DoctorReport {
        var attempt = 1
        while true {
            do throws(RedisFailure) {
                if attempt > 1 { store = try DoctorStore(location) }
                return try work()
            } catch {
                guard error.isPassing, attempt < Self.attempts else {
                    throw DoctorFailure(error, at: location, attempts: attempt)
                }
                attempt += 1
                usleep(UInt32(Self.restart * 1_000))
            }
        }
    }

    /// What is wrong at two looks, a pause apart.
    private func confirmed() throws(RedisFailure) -> Look {
        counts = .init()
        let first = try lookAtEverything()
        guard !first.symptoms.isEmpty else { return first }
        usleep(UInt32(pause * 1_000))
        var second = try lookAgain(at: first)
        second.symptoms.formIntersection(first.symptoms)
        second.isCut = first.isCut
        return second
    }

    /// In this time a server that lives renews its lease, and one that is to be reaped is found.
    private var pause: Milliseconds { lease.renewal + 2 * lease.sweep }

    /// How long ago at most a server that runs has renewed: one renewal may be late.
    var renewingTime: Milliseconds { 2 * lease.renewal + 500 }

    /// How long after its end a lease is overdue: sweeps are a `lease.sweep` apart.
    var sweepingTime: Milliseconds { 5 * lease.sweep + 1_000 }

    /// Takes the number of partitions from Redis; or returns what is wrong with it, and then nobody can say where
    /// anything has to be.
    func readFormat() throws(RedisFailure) -> DoctorFinding.Kind? {
        guard let format = try store[partitions.space.format].ask("GET", partitions.space.format).string else {
            return .noFormat
        }
        guard let found = Partitions(format: format, in: partitions.space) else { return .wrongFormat }
        partitions = found
        let key = try store[partitions.space.addressKey].ask("GET", partitions.space.addressKey).string
        addressPartitions = key.flatMap { [UInt8](hexadecimal: $0) }.flatMap {
            $0.count == AddressPartitions.keyBytes ? AddressPartitions(key: $0, partitions: found) : nil
        }
        return nil
    }

    func readLeases() throws(RedisFailure) -> HeldLeases {
        let answers = try store[partitions.space.leases].askAtOnce([["HGETALL", partitions.space.leases], ["TIME"]])
        let words = answers[0].array?.map { $0.string ?? "" } ?? []
        return HeldLeases(words, now: DoctorRedis.milliseconds(answers[1]))
    }

    // MARK: The report

    private func report(_ look: Look, repaired: [DoctorFinding]) -> DoctorReport {
        DoctorReport(
            redis: "\(location)", redisTime: look.leases.now, partitions: partitions.count,
            leases: leaseLines(look.leases), swept: look.leases.swept.map { look.leases.now - $0 }, counts: counts,
            findings: findings(of: look.symptoms), repaired: repaired, isWhole: !look.isCut)
    }

    private func leaseLines(_ held: HeldLeases) -> [DoctorReport.Lease] {
        let lines = held.leases.sorted { $0.key < $1.key }.map { name, lease in
            DoctorReport.Lease(
                incarnation: name,
                state: lease.isReaping ? .reaping : lease.until > held.now ? .live : .ranOut,
                renewedAgo: held.now - lease.renewed, endsIn: lease.until - held.now,
                sessions: counts.sessionsOf[name] ?? 0)
        }
        let unreadable = held.malformed.sorted().map {
            DoctorReport.Lease(
                incarnation: $0, state: .malformed, renewedAgo: nil, endsIn: nil,
                sessions: counts.sessionsOf[$0] ?? 0)
        }
        return lines + unreadable
    }

    private func findings(of symptoms: Set<Symptom>) -> [DoctorFinding] {
        let byKind = Dictionary(grouping: symptoms, by: \.kind)
        return DoctorFinding.Kind.allCases.compactMap { kind in
            guard let symptoms = byKind[kind] else { return nil }
            let subjects = symptoms.map { $0.place.text(partitions) }.sorted()
            return DoctorFinding(
                kind: kind, count: symptoms.count, subjects: Array(subjects.prefix(DoctorReport.examples)))
        }
    }
}

/// Why nothing could be looked at, in words for the operator. Holds no password.
public struct DoctorFailure: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }

    init(_ failure: RedisFailure, at location: RedisLocation, attempts: Int = 1) {
        let (place, reason) = ("\(location)", "\(failure)")
        // Where nothing could be reached, the reason begins with that.
        description =
            (reason.hasPrefix(place) ? reason : "\(place): \(reason)")
            + (attempts > 1 ? " (tried \(attempts) times)" : "")
    }
}
