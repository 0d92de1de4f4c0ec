import PresenceCore
import PresenceProtocol
import Redis

/// The two checks: the first scans every key in small steps, the second checks everything suspect again.
extension Doctor {
    func checkAll() throws(RedisFailure) -> Look {
        var look = Look(leases: try readLeases())
        guard try checkStanding(&look) else { return look }
        inquiry = try Inquiry(store, partitions)
        for redis in store.servers { try checkAllKeys(of: redis, &look) }
        if let inquiry { recordDenials(try inquiry.denials(), &look) }
        inquiry = nil
        return look
    }

    private func checkAllKeys(of redis: DoctorRedis, _ look: inout Look) throws(RedisFailure) {
        var cursor = "0"
        repeat {
            let answer = try redis.runAll([["SCAN", cursor, "COUNT", String(Self.step)]])[0].get()
            guard let parts = answer.array, parts.count == 2, let next = parts[0].string, let keys = parts[1].array
            else { break }
            cursor = next
            try check(keys.map { $0.string ?? "" }, of: redis, &look)
        } while cursor != "0"
    }

    func recheck(_ first: Look) throws(RedisFailure) -> Look {
        var look = Look(leases: try readLeases())
        guard try checkStanding(&look, since: first.leases.now) else { return look }
        for symptom in first.symptoms {
            if case .key(let key) = symptom.place { try checkKeys([key], &look) }
            if case .claim(let thing, let key) = symptom.place { try checkClaim(on: thing, in: key, &look) }
            if case .accountClaim(let name, let key) = symptom.place { try checkAccountClaim(on: name, in: key, &look) }
            if case .membership(let user, let id) = symptom.place { try checkInboxes([(user, id)], &look) }
            if case .listing(let incarnation, let user, let partition) = symptom.place {
                try checkListing([user], of: incarnation, in: partition, &look)
            }
        }
        try checkKeys(Array(first.suspectLists), &look)
        for user in first.users { try checkUser(user, &look) }
        if first.symptoms.contains(where: { $0.kind == .ghostSession }) { try checkDenied(first.symptoms, &look) }
        return look
    }

    /// Checks the keys of one step of the scan.
    private func check(_ keys: [String], of redis: DoctorRedis, _ look: inout Look) throws(RedisFailure) {
        var users: Set<UserID> = []
        var sets: [String] = []
        var others: [String] = []
        for key in keys {
            counts.keys += 1
            let name = KeyName(key, in: partitions.space, families)
            guard name.isInPlace(partitions) else {
                others.append(key)
                continue
            }
            switch name {
            case .user(let id, _):
                counts.users += 1
                users.insert(id)
            case .sessions(let id, _):
                counts.sessionHolders.insert(id)
                users.insert(id)
            case .conversation:
                counts.conversations += 1
                sets.append(key)
            case .contacts, .blocks, .unfinished: sets.append(key)
            case .family, .partition, .users: others.append(key)
            case .shards, .floor, .fenced, .global: break
            case .unknown: counts.unknownKeys += 1
            }
        }
        for part in Array(users).parts(of: Self.step) { try checkUsers(part, of: redis, &look) }
        try checkSets(sets, of: redis, &look)
        try checkKeys(others, &look)
    }

    // MARK: Keys other than users

    private func checkKeys(_ keys: [String], _ look: inout Look) throws(RedisFailure) {
        for key in keys {
            let name = KeyName(key, in: partitions.space, families)
            guard name.isInPlace(partitions) else {
                if try store[key].run("EXISTS", key).int == 1 {
                    look.record(name.isPassing ? .unreachableKey : .unreachableRecord, .key(key))
                }
                continue
            }
            switch name {
            case .conversation, .contacts, .blocks, .unfinished: try checkSets([key], of: store[key], &look)
            case .family(let family, let id, _): try check(family, id, key, &look)
            case .partition(let family, _):
                _ = try checkType(of: key, is: family.type, &look)
            case .users(let incarnation, let partition): try checkList(key, of: incarnation, in: partition, &look)
            case .user(let user, _):
                try checkRecords(of: user, &look)
                try checkAccount(of: user, &look)
            // `checkStanding` checks a partition's own keys each time.
            case .sessions, .shards, .floor, .fenced, .global, .unknown: break
            }
        }
    }

    private func checkSets(_ keys: [String], of redis: DoctorRedis, _ look: inout Look) throws(RedisFailure) {
        for (key, answer) in zip(keys, try redis.runAll(keys.map { [counting($0), $0] })) {
            if case .failure = answer { recordWrongType(of: key, &look) }
        }
        let talks = keys.filter {
            if case .conversation = KeyName($0, in: partitions.space, families) { true } else { false }
        }
        try checkConversations(talks, of: redis, &look)
    }

    /// A conversation is a hash, the other keys are sets.
    private func counting(_ key: String) -> String {
        if case .conversation = KeyName(key, in: partitions.space, families) { "HLEN" } else { "SCARD" }
    }

    /// Keys that live no longer than their servers contain nothing to lose and block the servers, so they can be removed. Other
    /// keys may contain data.
    func recordWrongType(of key: String, _ look: inout Look) {
        let name = KeyName(key, in: partitions.space, families)
        let isFloor = if case .floor = name { true } else { false }
        look.record(name.isPassing || isFloor ? .unusableKey : .wrongType, .key(key))
    }

    private func checkType(of key: String, is type: String, _ look: inout Look) throws(RedisFailure) -> Bool {
        let found = try store[key].run("TYPE", key).string
        if found == type { return true }
        if found != "none" { recordWrongType(of: key, &look) }
        return false
    }

    private func check(
        _ family: KeyFamily, _ id: Identifier, _ key: String, _ look: inout Look
    ) throws(RedisFailure) {
        guard try checkType(of: key, is: family.type, &look) else { return }
        try checkClaims(family, id, key, &look)
        if [.email, .identities].contains(family) { try checkAccountClaims(key, &look) }
        if family == .inbox { try checkInbox(key, of: id, &look) }
        guard family.expires || family.holdsNumbers else { return }
        let answers = try store[key].runAtOnce([["PTTL", key]] + (family.holdsNumbers ? [["HVALS", key]] : []))
        if family.expires, answers[0].int == -1 { look.record(.everlastingTyping, .key(key)) }
        if family.holdsNumbers, answers[1].array?.contains(where: { $0.int == nil }) == true {
            look.record(.malformedTyping, .key(key))
        }
    }

    /// Checks `{p}:shard:INCARNATION:users`: its incarnation must be alive, and each listed user must have a session of it.
    private func checkList(
        _ key: String, of incarnation: String, in partition: Int, _ look: inout Look
    ) throws(RedisFailure) {
        guard try checkType(of: key, is: "set", &look) else { return }
        guard look.leases.hold(incarnation) else {
            look.suspectLists.insert(key)
            return look.record(.deadIncarnation, .incarnation(incarnation))
        }
        var cursor = "0"
        repeat {
            let answer = try store[key].runAll([["SSCAN", key, cursor, "COUNT", String(Self.step)]])[0].get()
            guard let parts = answer.array, parts.count == 2, let next = parts[0].string, let names = parts[1].array
            else { break }
            cursor = next
            let users = names.compactMap { $0.string.flatMap(UserID.init) }
            if users.count < names.count { look.record(.malformedValue, .key(key)) }
            for part in users.parts(of: Self.step) { try checkListing(part, of: incarnation, in: partition, &look) }
        } while cursor != "0"
    }

    private func checkListing(
        _ users: [UserID], of incarnation: String, in partition: Int, _ look: inout Look
    ) throws(RedisFailure) {
        let keys = partitions.keys(partition)
        var commands: [[String]] = []
        for user in users {
            commands.append(["SISMEMBER", keys.users(ofShard: incarnation), user.string])
            commands.append(["HGETALL", keys.sessions(user)])
        }
        let answers = try store[keys.shards].runAtOnce(commands)
        for (index, user) in users.enumerated() where answers[2 * index].int == 1 {
            let held = HeldUser(user, values: [], sessions: answers[2 * index + 1].array ?? [])
            if !held.sessions.contains(where: { $0.incarnation == incarnation }) {
                look.record(.listedWithoutSession, .listing(incarnation, user: user, partition: partition))
            }
        }
    }
}

extension Array {
    func parts(of size: Int) -> [[Element]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
