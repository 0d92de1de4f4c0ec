import Foundation
import Installation
import PresenceCore
import PresenceProtocol
import Redis

/// Compares the data in Redis with the servers' live leases, and repairs errors where a repair is safe.
///
/// It runs beside live servers, and expects them to change data meanwhile. The scan reads in small steps (`SCAN`, never
/// `KEYS`). Everything suspect is checked again after a pause in which every lease has been renewed and swept. This second
/// check reads each user atomically, between two reads of the leases. Only symptoms found both times are reported. Repairs
/// check the condition again in the transaction that changes the data, or use the servers' own scripts, so they can be repeated
/// or run twice at once. If slots of a cluster move or a replica takes over, the doctor starts again.
///
/// To be used from one thread. It blocks on Redis, so it is for tools and never for a loop.
public final class Doctor {
    private(set) var store: DoctorStore
    private let location: RedisLocation
    let lease: ServerConfiguration.Lease
    /// How long servers run before they reap, in ms.
    let grace: Milliseconds
    var partitions: Partitions
    /// Where e-mail addresses are claimed; `nil` if no server with accounts has run.
    var loginPartitions: LoginPartitions?
    let features: [any Feature.Type]
    /// How the servers record past statuses; `nil` if they do not.
    let past: PastStatuses?
    /// The keys of all features.
    var families: [KeyFamily] { features.flatMap { $0.plan.keys } }
    var counts = DoctorReport.Counts()
    /// Set during the first scan: asks the servers about their sessions.
    var inquiry: Inquiry?

    /// How many sessions or users one step reads: this takes Redis some hundred microseconds.
    static let step = 100
    /// How far a version or time may lie ahead of Redis' clock, in ms. Many changes in one millisecond do not explain more.
    static let tolerance: Milliseconds = 60_000
    /// A chosen status this long past its end, in ms, is reported as overdue.
    static let lapsing: Milliseconds = 10_000
    /// The most times that the doctor starts again, and the pause before each, in ms.
    private static let attempts = 5
    private static let restart: Milliseconds = 500

    /// - Parameters:
    ///   - url: The URL of Redis.
    ///   - configuration: The servers' configuration, for its durations.
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

    /// Checks everything.
    ///
    /// - Throws: ``DoctorFailure`` if Redis stops answering, or slots keep moving.
    public func examine() throws(DoctorFailure) -> DoctorReport {
        try startingOver { () throws(RedisFailure) in try report(confirmed(), repaired: []) }
    }

    /// Checks everything, repairs what can be repaired safely, and checks again. The report lists the remaining errors and the
    /// repairs.
    ///
    /// - Throws: ``DoctorFailure`` as for `examine()`; the repairs made before the failure stay.
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

    /// Repeats the work on new connections if the data has moved to another server meanwhile.
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

    /// The symptoms that both of two checks have found, a pause apart.
    private func confirmed() throws(RedisFailure) -> Look {
        counts = .init()
        let first = try checkAll()
        guard !first.symptoms.isEmpty else { return first }
        usleep(UInt32(pause * 1_000))
        var second = try recheck(first)
        second.symptoms.formIntersection(first.symptoms)
        second.isCut = first.isCut
        return second
    }

    /// Within this time, a live server renews its lease, and a dead one is found by a sweep.
    private var pause: Milliseconds { lease.renewal + 2 * lease.sweep }

    /// The longest time since the last renewal of a running server: one renewal may be late.
    var renewingTime: Milliseconds { 2 * lease.renewal + 500 }

    /// How long after its end a lease is overdue; servers sweep every `lease.sweep`.
    var sweepingTime: Milliseconds { 5 * lease.sweep + 1_000 }

    /// Reads the number of partitions from Redis. Returns the error if the layout is missing or unknown, because then no key's
    /// place can be checked.
    func readFormat() throws(RedisFailure) -> DoctorFinding.Kind? {
        guard let format = try store[partitions.space.format].run("GET", partitions.space.format).string else {
            return .noFormat
        }
        guard let found = Partitions(format: format, in: partitions.space) else { return .wrongFormat }
        partitions = found
        let key = try store[partitions.space.addressKey].run("GET", partitions.space.addressKey).string
        loginPartitions = key.flatMap { [UInt8](hexadecimal: $0) }.flatMap {
            $0.count == LoginPartitions.keyBytes ? LoginPartitions(key: $0, partitions: found) : nil
        }
        return nil
    }

    func readLeases() throws(RedisFailure) -> HeldLeases {
        let answers = try store[partitions.space.leases].runAtOnce([["HGETALL", partitions.space.leases], ["TIME"]])
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

/// The reason why Redis could not be checked, in words for the operator. It contains no password.
public struct DoctorFailure: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }

    init(_ failure: RedisFailure, at location: RedisLocation, attempts: Int = 1) {
        let (place, reason) = ("\(location)", "\(failure)")
        // If Redis was unreachable, the reason already begins with the address.
        description =
            (reason.hasPrefix(place) ? reason : "\(place): \(reason)")
            + (attempts > 1 ? " (tried \(attempts) times)" : "")
    }
}
