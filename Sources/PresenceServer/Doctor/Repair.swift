import PresenceCore
import PresenceProtocol
import Redis

/// Repairs the doctor's findings, each only if it still holds.
///
/// The servers' own scripts make all changes that users see, so that watchers receive them. The rest are transactions that fail
/// if the data changes at the same time.
struct Repair {
    let doctor: Doctor
    var store: DoctorStore { doctor.store }
    private var leases: DoctorRedis { store[partitions.space.leases] }
    var partitions: Partitions { doctor.partitions }

    /// How many users one call of a script handles: this takes Redis some tens of microseconds.
    private static let batch = 50
    /// For how long other reapers leave a dead incarnation to this one, in ms. A reaper that begins after that does no
    /// harm.
    private static let claim: Milliseconds = 10_000
    /// A name that no incarnation has, for scripts that must end no sessions: a script ends only those of the incarnation
    /// named.
    private static let nobody = "doctor"

    init(_ doctor: Doctor) { self.doctor = doctor }

    func clear(_ symptoms: Set<Symptom>) throws(RedisFailure) {
        // Unreadable values are repaired first, because they would make scripts fail.
        let order = DoctorFinding.Kind.allCases
        let sorted = symptoms.sorted { order.firstIndex(of: $0.kind)! < order.firstIndex(of: $1.kind)! }
        let first: Set<DoctorFinding.Kind> = [.unusableKey, .malformedSession]
        for symptom in sorted where first.contains(symptom.kind) {
            try attempt { () throws(RedisFailure) in try clear(symptom) }
        }
        var ghosts: [String: Set<UserID>] = [:]
        for symptom in sorted {
            switch (symptom.kind, symptom.place) {
            case (.deadIncarnation, .incarnation(let name)), (.overdueLease, .incarnation(let name)),
                (.malformedLease, .incarnation(let name)):
                ghosts[name, default: []].formUnion([])
            case (.ghost, .session(let user, let name)):
                try attempt { () throws(RedisFailure) in
                    guard let session = try session(name, of: user) else { return }
                    ghosts[session.incarnation, default: []].insert(user)
                }
            default: break
            }
        }
        for (incarnation, users) in ghosts {
            try attempt { () throws(RedisFailure) in try reap(incarnation, and: users) }
        }
        for symptom in sorted where !first.contains(symptom.kind) {
            try attempt { () throws(RedisFailure) in try clear(symptom) }
        }
    }

    /// Continues if Redis replies with an error such as WRONGTYPE: the check that follows reports again what could not be
    /// repaired, and the remaining repairs can proceed.
    private func attempt(_ work: () throws(RedisFailure) -> Void) throws(RedisFailure) {
        do throws(RedisFailure) {
            try work()
        } catch {
            guard case .server = error, !error.isPassing else { throw error }
        }
    }

    private func clear(_ symptom: Symptom) throws(RedisFailure) {
        switch (symptom.kind, symptom.place) {
        case (.malformedSession, .session(let user, let name)): try removeMalformed(name, of: user)
        case (.unusableKey, .session(let user, _)): try removeSessions(of: user)
        case (.unusableKey, .key(let key)): try removeUnusable(key)
        case (.malformedVisibility, .field(let user, _)): try mendVisibility(of: user)
        case (.ghostSession, .session(let user, let name)): try endGhost(name, of: user)
        case (.unlistedSession, .session(let user, let name)): try list(name, of: user)
        case (.listedWithoutSession, .listing(let incarnation, let user, let partition)):
            try unlist(user, of: incarnation, in: partition)
        case (.wrongPresence, .user(let user)): try showAnew(user)
        case (.overdueStatus, .user(let user)): try showRightly(user)
        case (.missingWriter, .writer(let incarnation, let partition)): try admit(incarnation, to: partition)
        case (.malformedSweep, _): try resetSweep()
        case (.unreachableKey, .key(let key)): _ = try store[key].run("UNLINK", key)
        case (.malformedTyping, .key(let key)): _ = try store[key].run("UNLINK", key)
        case (.everlastingTyping, .key(let key)): _ = try store[key].run("PEXPIRE", key, "3600000")
        case (.unheldAddress, .accountClaim(let name, let key)), (.unheldIdentity, .accountClaim(let name, let key)):
            try releaseName(name, in: key)
        case (.lostAddress, .key(let key)), (.lostIdentity, .key(let key)): try claimNames(at: key)
        case (.unlistedAddressChange, .key(let key)), (.unlistedIdentityChange, .key(let key)):
            try listAccountChanges(at: key)
        case (.brokenIndex, .key(let key)): try mendIndex(key)
        case (.unlistedConversation, .membership(let user, let id)): try enter(id, in: user)
        case (.lostConversation, .membership(let user, let id)): try enterLeft(id, in: user)
        default: try mendClaims(symptom)
        }
    }

    // MARK: Dead incarnations

    /// Ends all sessions of a dead incarnation as a server's reaper does. First it marks the lease, so that the incarnation
    /// cannot renew it, and another reaper continues if this process dies. Then it handles each partition, and finally removes
    /// the mark.
    private func reap(_ incarnation: String, and users: Set<UserID>) throws(RedisFailure) {
        guard let renewed = try mark(incarnation) else { return }
        var further = Dictionary(grouping: users) { partitions.index(of: $0) }
        // Users whose sessions cannot be ended because their data is damaged.
        var stuck: Set<UserID> = []
        for partition in 0..<partitions.count {
            let keys = partitions.keys(partition)
            let list = keys.users(ofShard: incarnation)
            var names: [UserID]
            repeat {
                let reply = try store[list].run(
                    ScriptCall(
                        .fence, ["shards": keys.shards, "shardUsers": list, "fenced": keys.fenced(incarnation)],
                        ["incarnation": incarnation, "most": Self.batch]))
                names = reply.rest.compactMap { $0.string.flatMap(UserID.init) }
                names.removeAll(where: stuck.contains)
                stuck.formUnion(try endEach(names, of: incarnation, renewed: renewed, in: partition))
            } while !names.isEmpty
            for part in (further.removeValue(forKey: partition) ?? []).parts(of: Self.batch) {
                stuck.formUnion(try endEach(part, of: incarnation, renewed: renewed, in: partition))
            }
        }
        // If users are left, the mark stays so that the next reaper finds them.
        if stuck.isEmpty { _ = try leases.run("HDEL", partitions.space.leases, incarnation) }
    }

    /// Ends the sessions of all these users at once; if that fails for one, user by user. Returns the users for whom it failed.
    private func endEach(
        _ users: [UserID], of incarnation: String, renewed: Timestamp, in partition: Int
    ) throws(RedisFailure) -> [UserID] {
        do throws(RedisFailure) {
            try end(users, of: incarnation, renewed: renewed, in: partition)
            return []
        } catch {
            guard case .server = error, !error.isPassing else { throw error }
            guard users.count > 1 else { return users }
        }
        var stuck: [UserID] = []
        for user in users { stuck += try endEach([user], of: incarnation, renewed: renewed, in: partition) }
        return stuck
    }

    private func end(
        _ users: [UserID], of incarnation: String, renewed: Timestamp, in partition: Int
    ) throws(RedisFailure) {
        guard !users.isEmpty else { return }
        let keys = partitions.keys(partition)
        _ = try store[keys.floor].run(.reap(users, in: keys, of: incarnation, renewed, doctor.past))
    }

    /// Claims a dead incarnation. Returns the time of its last renewal, 0 if the time is unknown, or `nil` if the incarnation
    /// is alive.
    private func mark(_ incarnation: String) throws(RedisFailure) -> Timestamp? {
        var renewed: Timestamp?
        _ = try leases.change(watching: [partitions.space.leases]) { () throws(RedisFailure) in
            let held = try leases.run("HGET", partitions.space.leases, incarnation)
            let now = try leases.now()
            let lease = held.string.flatMap { HeldLease($0) }
            renewed = nil
            if let lease, lease.until > now { return nil }
            renewed = lease?.renewed ?? 0
            return [["HSET", partitions.space.leases, incarnation, "reaping \(renewed!) \(now + Self.claim)"]]
        }
        return renewed
    }

    // MARK: Sessions

    private func session(_ name: String, of user: UserID) throws(RedisFailure) -> HeldSession? {
        let key = partitions.keys(of: user).sessions(user)
        let value = try store[key].run("HGET", key, name).string
        return value.flatMap { HeldSession(name: name, value: $0) }
    }

    private func removeMalformed(_ name: String, of user: UserID) throws(RedisFailure) {
        let key = partitions.keys(of: user).sessions(user)
        let isRemoved = try store[key].change(watching: [key]) { () throws(RedisFailure) in
            guard try store[key].run("HEXISTS", key, name).int == 1, try session(name, of: user) == nil else {
                return nil
            }
            return [["HDEL", key, name]]
        }
        if isRemoved { try showRightly(user) }
    }

    /// The session's shard has denied it twice, so it is ended in the name of that shard.
    private func endGhost(_ name: String, of user: UserID) throws(RedisFailure) {
        guard let session = try session(name, of: user), try isLive(session.incarnation) else { return }
        let keys = partitions.keys(of: user)
        let redis = store[keys.floor]
        let silence = max(0, try redis.now() - session.began)
        _ = try redis.run(
            .end(name, of: user, in: keys, by: session.incarnation, silence: silence, doctor.past),
            as: session.incarnation)
    }

    private func list(_ name: String, of user: UserID) throws(RedisFailure) {
        let keys = partitions.keys(of: user)
        _ = try store[keys.floor].change(watching: [keys.sessions(user)]) { () throws(RedisFailure) in
            guard let session = try session(name, of: user) else { return nil }
            return [["SADD", keys.users(ofShard: session.incarnation), user.string]]
        }
    }

    private func unlist(_ user: UserID, of incarnation: String, in partition: Int) throws(RedisFailure) {
        let keys = partitions.keys(partition)
        let redis = store[keys.floor]
        _ = try redis.change(watching: [keys.sessions(user)]) { () throws(RedisFailure) in
            let held = HeldUser(user, values: [], sessions: try redis.run("HGETALL", keys.sessions(user)).array ?? [])
            guard !held.sessions.contains(where: { $0.incarnation == incarnation }) else { return nil }
            return [["SREM", keys.users(ofShard: incarnation), user.string]]
        }
    }

    // MARK: Keys of another type, and unreadable values

    /// Removes a key if its type is not the one that servers expect.
    private func remove(_ key: String, unless type: String) throws(RedisFailure) {
        _ = try store[key].change(watching: [key]) { () throws(RedisFailure) in
            try store[key].run("TYPE", key).string == type ? nil : [["UNLINK", key]]
        }
    }

    private func removeSessions(of user: UserID) throws(RedisFailure) {
        try remove(partitions.keys(of: user).sessions(user), unless: "hash")
        try showRightly(user)
    }

    private func removeUnusable(_ key: String) throws(RedisFailure) {
        switch KeyName(key, in: partitions.space, doctor.families) {
        case .sessions: try remove(key, unless: "hash")
        case .family(let family, _, _) where family.isPassing: try remove(key, unless: family.type)
        case .users, .shards: try remove(key, unless: "set")
        case .fenced: try remove(key, unless: "string")
        case .floor:
            // Versions are times, and no version later than now was assigned.
            let redis = store[key]
            _ = try redis.change(watching: [key]) { () throws(RedisFailure) in
                guard try redis.run("TYPE", key).string != "string" else { return nil }
                return [["UNLINK", key], ["SET", key, String(try redis.now())]]
            }
        default: break
        }
    }

    /// Runs the reaping script with an incarnation that has no sessions: an expired chosen status ends, and the presence is
    /// computed and published again.
    private func showRightly(_ user: UserID) throws(RedisFailure) {
        try end([user], of: Self.nobody, renewed: 0, in: partitions.index(of: user))
    }

    /// The same, but only if `shown` does not match the presence: it is deleted first, so that the presence is published again.
    private func showAnew(_ user: UserID) throws(RedisFailure) {
        let keys = partitions.keys(of: user)
        let redis = store[keys.floor]
        _ = try redis.change(watching: [keys.user(user), keys.sessions(user)]) { () throws(RedisFailure) in
            let answers = try redis.runAll(doctor.readings(of: user))
            let held = HeldUser(
                user, values: try answers[0].get().array ?? [], sessions: try answers[1].get().array ?? [])
            return held.isShownRightly ? nil : [["HDEL", keys.user(user), "shown"]]
        }
        try showRightly(user)
    }

    // MARK: Leases

    private func admit(_ incarnation: String, to partition: Int) throws(RedisFailure) {
        let shards = partitions.keys(partition).shards
        guard try isLive(incarnation) else { return }
        _ = try store[shards].run("SADD", shards, incarnation)
        // The leases may be on another server, and this lease may have expired meanwhile; then the incarnation is reaped.
        if try !isLive(incarnation) { try reap(incarnation, and: []) }
    }

    private func isLive(_ incarnation: String) throws(RedisFailure) -> Bool {
        try doctor.readLeases().isLive(incarnation)
    }

    private func resetSweep() throws(RedisFailure) {
        _ = try leases.change(watching: [partitions.space.leases]) { () throws(RedisFailure) in
            let held = try leases.run("HGET", partitions.space.leases, "swept")
            guard !held.isNull, held.int == nil else { return nil }
            return [["HSET", partitions.space.leases, "swept", String(try leases.now())]]
        }
    }
}
