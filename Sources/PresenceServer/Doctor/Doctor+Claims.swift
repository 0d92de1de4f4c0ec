import PresenceCore
import PresenceProtocol
import Redis

/// Checks that claims and the records of their owners (`Claiming`), which are in different partitions, match each other.
///
/// During a change they differ for a moment, so both are checked twice. The servers complete records with an open wish, and
/// check claims that are listed in `unfinished`, so these are skipped.
extension Doctor {
    private var plans: [ClaimPlan] { features.flatMap { $0.plan.claims } }

    /// - Parameter id: The id of an owner, or of a hash of claims.
    func checkClaims(_ family: KeyFamily, _ id: Identifier, _ key: String, _ look: inout Look) throws(RedisFailure) {
        for plan in plans {
            if plan.record == family { try checkRecord(plan, of: id, key, &look) }
            if plan.claim == family { try checkBucket(plan, key, &look) }
        }
    }

    /// Checks the records in the hash of a user.
    func checkRecords(of user: UserID, _ look: inout Look) throws(RedisFailure) {
        for plan in plans where plan.record == nil {
            try checkRecord(plan, of: user, partitions.keys(of: user).user(user), &look)
        }
    }

    private func checkRecord(
        _ plan: ClaimPlan, of owner: Identifier, _ key: String, _ look: inout Look
    ) throws(RedisFailure) {
        let unfinished = partitions.keys(of: owner).unfinished
        let answers = try store[key].runAtOnce([
            HeldRecord.query(key), ["SISMEMBER", unfinished, plan.intent(of: owner)],
        ])
        let record = HeldRecord(answers[0])
        guard record.wish == nil else {
            if answers[1].int != 1 { look.record(.unlistedIntent, .key(key)) }
            return
        }
        guard let text = record.held else { return }
        guard let thing = Identifier(text), let number = record.claim.flatMap({ Int64($0) }) else {
            return look.record(.malformedValue, .key(key))
        }
        let claims = plan.claims(on: thing, in: partitions.keys(of: thing))
        guard let value = try store[claims].run("HGET", claims, thing.string).string else {
            return look.record(.lostClaim, .key(key))
        }
        guard let held = HeldClaim(value) else { return }
        if held.owner != owner || held.number < number { look.record(.contestedClaim, .key(key)) }
    }

    private func checkBucket(_ plan: ClaimPlan, _ key: String, _ look: inout Look) throws(RedisFailure) {
        for name in try store[key].run("HKEYS", key).array ?? [] {
            guard let thing = name.string.flatMap({ Identifier($0) }),
                plan.claims(on: thing, in: partitions.keys(of: thing)) == key
            else {
                look.record(.unreachableRecord, .key(key))
                continue
            }
            try checkClaim(plan, on: thing, key, &look)
        }
    }

    func checkClaim(on thing: Identifier, in key: String, _ look: inout Look) throws(RedisFailure) {
        if let plan = plan(ofClaimsAt: key) { try checkClaim(plan, on: thing, key, &look) }
    }

    private func checkClaim(
        _ plan: ClaimPlan, on thing: Identifier, _ key: String, _ look: inout Look
    ) throws(RedisFailure) {
        let unfinished = partitions.keys(of: thing).unfinished
        let answers = try store[key].runAtOnce([
            ["HGET", key, thing.string], ["SISMEMBER", unfinished, plan.check(of: thing)],
        ])
        guard let value = answers[0].string, answers[1].int == 0 else { return }
        guard let claim = HeldClaim(value) else { return look.record(.malformedValue, .claim(thing, key: key)) }
        let record = plan.record(of: claim.owner, in: partitions.keys(of: claim.owner))
        let held = HeldRecord(try store[record].runAtOnce([HeldRecord.query(record)])[0])
        let isNamed = [held.claim, held.wish].contains(String(claim.number))
        if !isNamed, !held.releases(thing, claim.number) {
            look.record(.unnamedClaim, .claim(thing, key: key))
        }
    }

    func plan(ofClaimsAt key: String) -> ClaimPlan? {
        guard case .family(let family, _, _) = KeyName(key, in: partitions.space, families) else { return nil }
        return plans.first { $0.claim == family }
    }

    /// The record at a key, and its owner.
    func record(at key: String) -> (plan: ClaimPlan, owner: Identifier)? {
        switch KeyName(key, in: partitions.space, families) {
        case .user(let user, _): plans.first { $0.record == nil }.map { ($0, user) }
        case .family(let family, let id, _): plans.first { $0.record == family }.map { ($0, id) }
        default: nil
        }
    }
}

extension Repair {
    /// Lists claims in `unfinished`. The server that handles them compares each claim with its owner's record again.
    func mendClaims(_ symptom: Symptom) throws(RedisFailure) {
        if case .claim(let thing, let key) = symptom.place, symptom.kind == .unnamedClaim {
            guard let plan = doctor.plan(ofClaimsAt: key) else { return }
            let unfinished = doctor.partitions.keys(of: thing).unfinished
            _ = try doctor.store[key].run("SADD", unfinished, plan.check(of: thing))
        }
        guard case .key(let key) = symptom.place, let (plan, id) = doctor.record(at: key) else { return }
        let keys = doctor.partitions.keys(of: id)
        switch symptom.kind {
        case .unlistedIntent: _ = try doctor.store[key].run("SADD", keys.unfinished, plan.intent(of: id))
        case .lostClaim:
            let record = HeldRecord(try doctor.store[key].runAtOnce([HeldRecord.query(key)])[0])
            guard record.wish == nil, let number = record.claim, let thing = record.held.flatMap({ Identifier($0) })
            else { return }
            let place = doctor.partitions.keys(of: thing)
            let claims = plan.claims(on: thing, in: place)
            // If the record changes at the same time, a server checks the claim again.
            _ = try doctor.store[claims].run("SADD", place.unfinished, plan.check(of: thing))
            _ = try doctor.store[claims].run("HSETNX", claims, thing.string, "\(id) \(number)")
        default: break
        }
    }
}

/// The fields of an owner's record that the doctor reads.
private struct HeldRecord {
    let held: String?
    let claim: String?
    let wish: String?
    /// The claims that the open wish releases: pairs of a number and a thing.
    let releasing: [Substring]

    static func query(_ key: String) -> [String] { ["HMGET", key, "held", "claim", "wish", "releasing"] }

    init(_ answer: RedisValue) {
        var texts = (answer.array ?? []).map(\.string)
        if texts.count != 4 { texts = [nil, nil, nil, nil] }
        (held, claim, wish) = (texts[0], texts[1], texts[2])
        releasing = (texts[3] ?? "").split(separator: " ")
    }

    /// Whether the servers will release this claim when they complete the open wish.
    func releases(_ thing: Identifier, _ number: Int64) -> Bool {
        guard wish != nil else { return false }
        return stride(from: 0, to: releasing.count - 1, by: 2).contains { place in
            releasing[place] == String(number) && releasing[place + 1] == thing.string
        }
    }
}

private struct HeldClaim {
    let owner: Identifier
    let number: Int64

    init?(_ value: String) {
        let words = value.split(separator: " ")
        guard words.count == 2, let owner = Identifier(String(words[0])), let number = Int64(words[1]) else {
            return nil
        }
        (self.owner, self.number) = (owner, number)
    }
}
