import PresenceCore
import PresenceProtocol
import Redis

/// Checks what is small enough to be read as a whole: the servers' settings, leases, and the partitions' own keys.
extension Doctor {
    /// Checks everything of this kind.
    ///
    /// - Parameter since: The time of the first check. A server that has not renewed its lease since then is not running.
    /// - Returns: Whether the layout is known, so that the rest can be checked.
    func checkStanding(_ look: inout Look, since: Timestamp? = nil) throws(RedisFailure) -> Bool {
        for redis in store.servers { try checkSettings(of: redis, &look) }
        if let flaw = try readFormat() {
            look.record(flaw, .redis(store[partitions.space.format].name))
            return false
        }
        checkLeases(&look)
        // Scripts that Redis does not know are no error: servers load them on demand. A server that was killed a moment
        // ago still looks alive; the second check sees that it has not renewed its lease.
        let running = look.leases.renewing(after: since ?? look.leases.now - renewingTime)
        for redis in store.servers {
            let held = (0..<partitions.count).filter { store[partitions.keys($0).events] === redis }
            for part in held.parts(of: Self.step) { try check(partitions: part, of: redis, running: running, &look) }
        }
        return true
    }

    private func checkSettings(of redis: DoctorRedis, _ look: inout Look) throws(RedisFailure) {
        let answers = try redis.runAll([
            ["CONFIG", "GET", "maxmemory-policy"], ["INFO", "memory"], ["INFO", "persistence"],
        ])
        let memory = Self.fields(answers[1])
        // Hosted services often disable CONFIG but keep INFO. If both are refused, the policy is assumed to be right.
        let policy = (try? answers[0].get())?.array?.last?.string ?? memory["maxmemory_policy"]
        if let policy, policy != "noeviction" { look.record(.evictsKeys, .redis(redis.name)) }
        if let most = memory["maxmemory"].flatMap({ Int($0) }), most > 0,
            let used = memory["used_memory"].flatMap({ Int($0) }), used >= most
        {
            look.record(.memoryFull, .redis(redis.name))
        }
        let persistence = Self.fields(answers[2])
        for field in ["aof_last_write_status", "rdb_last_bgsave_status"] where persistence[field] == "err" {
            look.record(.cannotPersist, .redis(redis.name))
        }
    }

    private static func fields(_ answer: Result<RedisValue, RedisFailure>) -> [String: String] {
        guard case .success(let value) = answer, let text = value.string else { return [:] }
        var fields: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            fields[String(line[..<colon])] = String(line[line.index(after: colon)...])
        }
        return fields
    }

    private func checkLeases(_ look: inout Look) {
        let held = look.leases
        for incarnation in held.malformed { look.record(.malformedLease, .incarnation(incarnation)) }
        if held.isSweptMalformed { look.record(.malformedSweep, .key(partitions.space.leases)) }
        let isSettling = held.isSettling(within: grace + sweepingTime)
        for (incarnation, lease) in held.leases {
            if !isSettling, lease.until + sweepingTime <= held.now {
                look.record(.overdueLease, .incarnation(incarnation))
            }
            if lease.renewed > held.now + Self.tolerance { look.record(.timeAhead, .incarnation(incarnation)) }
        }
        let running = held.renewing(after: held.now - renewingTime)
        if !running.isEmpty, !held.isSweptMalformed, held.now - (held.swept ?? 0) > sweepingTime {
            look.record(.nobodySweeps, .key(partitions.space.leases))
        }
    }

    private func check(
        partitions part: [Int], of redis: DoctorRedis, running: [String], _ look: inout Look
    ) throws(RedisFailure) {
        let keys = part.map { partitions.keys($0) }
        let answers = try redis.runAll(
            [["TIME"], ["PUBSUB", "NUMSUB"] + keys.map(\.events)] + keys.map { ["SMEMBERS", $0.shards] }
                + keys.map { ["GET", $0.floor] })
        let now = DoctorRedis.milliseconds(try answers[0].get())
        let listeners = try answers[1].get().array ?? []
        for (index, partition) in part.enumerated() {
            let heard = listeners.count > 2 * index + 1 ? listeners[2 * index + 1].int ?? 0 : 0
            if heard < running.count { look.record(.unheardPartition, .channel(partition: partition)) }
            checkWriters(answers[2 + index], of: partition, running: running, &look)
            checkFloor(answers[2 + part.count + index], of: partition, now: now, &look)
        }
    }

    private func checkWriters(
        _ answer: Result<RedisValue, RedisFailure>, of partition: Int, running: [String], _ look: inout Look
    ) {
        guard case .success(let value) = answer, let names = value.array else {
            return recordWrongType(of: partitions.keys(partition).shards, &look)
        }
        let writers = Set(names.map { $0.string ?? "" })
        for incarnation in writers where !look.leases.hold(incarnation) {
            look.record(.deadIncarnation, .incarnation(incarnation))
        }
        for incarnation in running where !writers.contains(incarnation) {
            look.record(.missingWriter, .writer(incarnation, partition: partition))
        }
    }

    private func checkFloor(
        _ answer: Result<RedisValue, RedisFailure>, of partition: Int, now: Timestamp, _ look: inout Look
    ) {
        let key = partitions.keys(partition).floor
        guard case .success(let value) = answer else { return recordWrongType(of: key, &look) }
        guard !value.isNull else { return }
        guard let floor = value.int else { return look.record(.malformedValue, .key(key)) }
        if floor > now + Self.tolerance { look.record(.versionAhead, .key(key)) }
    }
}
