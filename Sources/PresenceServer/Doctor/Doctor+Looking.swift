import PresenceCore
import PresenceProtocol
import Redis

/// The two checks: the first scans every key in small steps, the second checks everything suspect again.
extension Doctor {
    func lookAtEverything() throws(RedisFailure) -> Look {
        var look = Look(leases: try readLeases())
        guard try lookAtStanding(&look) else { return look }
        inquiry = try Inquiry(store, partitions)
        for redis in store.servers { try lookAtAllKeys(of: redis, &look) }
        if let inquiry { note(try inquiry.denials(), &look) }
        inquiry = nil
        return look
    }

    private func lookAtAllKeys(of redis: DoctorRedis, _ look: inout Look) throws(RedisFailure) {
        var cursor = "0"
        repeat {
            let answer = try redis.askAll([["SCAN", cursor, "COUNT", String(Self.step)]])[0].get()
            guard let parts = answer.array, parts.count == 2, let next = parts[0].string, let keys = parts[1].array
            else { break }
            cursor = next
            try lookAt(keys.map { $0.string ?? "" }, of: redis, &look)
        } while cursor != "0"
    }

    func lookAgain(at first: Look) throws(RedisFailure) -> Look {
        var look = Look(leases: try readLeases())
        guard try lookAtStanding(&look, since: first.leases.now) else { return look }
        for symptom in first.symptoms {
            if case .key(let key) = symptom.place { try lookAtKeys([key], &look) }
            if case .claim(let thing, let key) = symptom.place { try lookAtClaim(on: thing, in: key, &look) }
            if case .address(let address, let key) = symptom.place { try lookAtAddress(address, in: key, &look) }
            if case .membership(let user, let id) = symptom.place { try lookAtInboxes([(user, id)], &look) }
            if case .listing(let incarnation, let user, let partition) = symptom.place {
                try lookAtListing([user], of: incarnation, in: partition, &look)
            }
        }
        try lookAtKeys(Array(first.suspectLists), &look)
        for user in first.users { try lookAtMoment(of: user, &look) }
        if first.symptoms.contains(where: { $0.kind == .ghostSession }) { try lookAtDenied(first.symptoms, &look) }
        return look
    }

    /// Checks the keys of one step of the scan.
    private func lookAt(_ keys: [String], of redis: DoctorRedis, _ look: inout Look) throws(RedisFailure) {
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
        for part in Array(users).parts(of: Self.step) { try lookAtUsers(part, of: redis, &look) }
        try lookAtSets(sets, of: redis, &look)
        try lookAtKeys(others, &look)
    }

    // MARK: Keys other than users

    private func lookAtKeys(_ keys: [String], _ look: inout Look) throws(RedisFailure) {
        for key in keys {
            let name = KeyName(key, in: partitions.space, families)
            guard name.isInPlace(partitions) else {
                if try store[key].ask("EXISTS", key).int == 1 {
                    look.note(name.isPassing ? .unreachableKey : .unreachableRecord, .key(key))
                }
                continue
            }
            switch name {
            case .conversation, .contacts, .blocks, .unfinished: try lookAtSets([key], of: store[key], &look)
            case .family(let family, let id, _): try lookAt(family, id, key, &look)
            case .partition(let family, _):
                _ = try lookAtType(of: key, is: family.type, &look)
            case .users(let incarnation, let partition): try lookAtList(key, of: incarnation, in: partition, &look)
            case .user(let user, _):
                try lookAtRecords(of: user, &look)
                try lookAtAccount(of: user, &look)
            // `lookAtStanding` checks a partition's own keys each time.
            case .sessions, .shards, .floor, .fenced, .global, .unknown: break
            }
        }
    }

    private func lookAtSets(_ keys: [String], of redis: DoctorRedis, _ look: inout Look) throws(RedisFailure) {
        for (key, answer) in zip(keys, try redis.askAll(keys.map { [counting($0), $0] })) {
            if case .failure = answer { noteWrongType(of: key, &look) }
        }
        let talks = keys.filter {
            if case .conversation = KeyName($0, in: partitions.space, families) { true } else { false }
        }
        try lookAtConversations(talks, of: redis, &look)
    }

    /// A conversation is a hash, the other keys are sets.
    private func counting(_ key: String) -> String {
        if case .conversation = KeyName(key, in: partitions.space, families) { "HLEN" } else { "SCARD" }
    }

    /// Keys that live no longer than their servers contain nothing to lose and block the servers, so they can be removed. Other
    /// keys may contain data.
    func noteWrongType(of key: String, _ look: inout Look) {
        let name = KeyName(key, in: partitions.space, families)
        let isFloor = if case .floor = name { true } else { false }
        look.note(name.isPassing || isFloor ? .unusableKey : .wrongType, .key(key))
    }

    private func lookAtType(of key: String, is type: String, _ look: inout Look) throws(RedisFailure) -> Bool {
        let found = try store[key].ask("TYPE", key).string
        if found == type { return true }
        if found != "none" { noteWrongType(of: key, &look) }
        return false
    }

    private func lookAt(
        _ family: KeyFamily, _ id: Identifier, _ key: String, _ look: inout Look
    ) throws(RedisFailure) {
        guard try lookAtType(of: key, is: family.type, &look) else { return }
        try lookAtClaims(family, id, key, &look)
        if family == .email { try lookAtAddresses(key, &look) }
        if family == .inbox { try lookAtInbox(key, of: id, &look) }
        guard family.expires || family.holdsNumbers else { return }
        let answers = try store[key].askAtOnce([["PTTL", key]] + (family.holdsNumbers ? [["HVALS", key]] : []))
        if family.expires, answers[0].int == -1 { look.note(.everlastingTyping, .key(key)) }
        if family.holdsNumbers, answers[1].array?.contains(where: { $0.int == nil }) == true {
            look.note(.malformedTyping, .key(key))
        }
    }

    /// Checks `{p}:shard:INCARNATION:users`: its incarnation must be alive, and each listed user must have a session of it.
    private func lookAtList(
        _ key: String, of incarnation: String, in partition: Int, _ look: inout Look
    ) throws(RedisFailure) {
        guard try lookAtType(of: key, is: "set", &look) else { return }
        guard look.leases.hold(incarnation) else {
            look.suspectLists.insert(key)
            return look.note(.deadIncarnation, .incarnation(incarnation))
        }
        var cursor = "0"
        repeat {
            let answer = try store[key].askAll([["SSCAN", key, cursor, "COUNT", String(Self.step)]])[0].get()
            guard let parts = answer.array, parts.count == 2, let next = parts[0].string, let names = parts[1].array
            else { break }
            cursor = next
            let users = names.compactMap { $0.string.flatMap(UserID.init) }
            if users.count < names.count { look.note(.malformedValue, .key(key)) }
            for part in users.parts(of: Self.step) { try lookAtListing(part, of: incarnation, in: partition, &look) }
        } while cursor != "0"
    }

    private func lookAtListing(
        _ users: [UserID], of incarnation: String, in partition: Int, _ look: inout Look
    ) throws(RedisFailure) {
        let keys = partitions.keys(partition)
        var commands: [[String]] = []
        for user in users {
            commands.append(["SISMEMBER", keys.users(ofShard: incarnation), user.string])
            commands.append(["HGETALL", keys.sessions(user)])
        }
        let answers = try store[keys.shards].askAtOnce(commands)
        for (index, user) in users.enumerated() where answers[2 * index].int == 1 {
            let held = HeldUser(user, values: [], sessions: answers[2 * index + 1].array ?? [])
            if !held.sessions.contains(where: { $0.incarnation == incarnation }) {
                look.note(.listedWithoutSession, .listing(incarnation, user: user, partition: partition))
            }
        }
    }
}

extension Array {
    func parts(of size: Int) -> [[Element]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
