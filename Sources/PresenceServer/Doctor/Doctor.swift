import Foundation
import PresenceProtocol
import Redis

/// Compares what Redis holds with what the servers' live leases account for, and clears what is safely wrong.
///
/// It works while servers run, and counts on their changing things meanwhile: everything is looked at in small steps
/// (`SCAN`, never `KEYS`); what looks wrong is looked at again after a pause in which every lease has been renewed and
/// swept, each thing in one moment; and only what is wrong both times is. Repairs are judged again in the same
/// transaction that changes something, or made by the servers' own scripts, and can be repeated or done by two at once.
///
/// For one thread. It waits for Redis, so it is for a tool and never for a loop.
public final class Doctor {
    let redis: DoctorRedis
    let endpoint: RedisEndpoint
    let lease: ServerConfiguration.Lease
    var partitions: Partitions
    var counts = DoctorReport.Counts()

    /// Sessions and users that one step reads: some hundred microseconds of Redis' time.
    static let step = 100
    /// What is further ahead of Redis' clock than this is no matter of many changes in one moment, in ms.
    static let tolerance: Milliseconds = 60_000
    /// A chosen status that should have ended longer ago than this has been forgotten, in ms.
    static let lapsing: Milliseconds = 10_000

    /// - Parameters:
    ///   - url: Where the Redis is.
    ///   - configuration: The servers', for their times.
    /// - Throws: ``DoctorFailure`` if it cannot be reached.
    public init(url: String, configuration: ServerConfiguration) throws(DoctorFailure) {
        endpoint = try Self.endpoint(url)
        lease = configuration.lease
        partitions = Partitions(count: configuration.partitions)
        do throws(RedisFailure) {
            redis = try DoctorRedis(endpoint)
        } catch {
            throw DoctorFailure("\(error)")
        }
    }

    private static func endpoint(_ url: String) throws(DoctorFailure) -> RedisEndpoint {
        let location: RedisLocation
        do throws(RedisEndpointError) {
            location = try RedisLocation(url: url)
        } catch {
            throw DoctorFailure(error.message)
        }
        switch location {
        case .server(let endpoint): return endpoint
        case .sentinels(let sentinels):
            do throws(RedisFailure) {
                return try BlockingRedis.master(of: sentinels)
            } catch {
                throw DoctorFailure("\(sentinels): \(error)")
            }
        case .cluster(let seeds):
            throw DoctorFailure(
                "\(seeds): a cluster cannot be looked at, since no moment is the same on all of its masters")
        }
    }

    /// Looks at everything.
    ///
    /// - Throws: ``DoctorFailure`` if Redis stopped answering.
    public func examine() throws(DoctorFailure) -> DoctorReport {
        do throws(RedisFailure) {
            return try report(confirmed(), repaired: [])
        } catch {
            throw DoctorFailure("\(endpoint): \(error)")
        }
    }

    /// Looks at everything, clears what is safely wrong, and looks again: the report is of what is still wrong, and says
    /// what was cleared.
    ///
    /// - Throws: ``DoctorFailure`` if Redis stopped answering: what was done by then is done.
    public func repair() throws(DoctorFailure) -> DoctorReport {
        do throws(RedisFailure) {
            let wrong = try confirmed()
            let repaired = wrong.symptoms.filter(\.kind.isRepairable)
            guard !repaired.isEmpty else { return report(wrong, repaired: []) }
            try Repair(self).clear(repaired)
            return try report(confirmed(), repaired: findings(of: repaired))
        } catch {
            throw DoctorFailure("\(endpoint): \(error)")
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
        guard let format = try redis.ask("GET", GlobalKeys.format).string else { return .noFormat }
        let words = format.split(separator: " ")
        guard words.count == 2, words[0] == "1", let count = Int(words[1]), (1...16_384).contains(count) else {
            return .wrongFormat
        }
        partitions = Partitions(count: count)
        return nil
    }

    func readLeases() throws(RedisFailure) -> HeldLeases {
        let answers = try redis.askAtOnce([["HGETALL", GlobalKeys.leases], ["TIME"]])
        let words = answers[0].array?.map { $0.string ?? "" } ?? []
        return HeldLeases(words, now: DoctorRedis.milliseconds(answers[1]))
    }

    // MARK: The report

    private func report(_ look: Look, repaired: [DoctorFinding]) -> DoctorReport {
        DoctorReport(
            redis: "\(endpoint)", redisTime: look.leases.now, partitions: partitions.count,
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
}
