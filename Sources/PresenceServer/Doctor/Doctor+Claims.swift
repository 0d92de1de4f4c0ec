import PresenceCore
import PresenceProtocol
import Redis

/// Claims and the records of their owners (`Claiming`), which are in different partitions: whether they name each other.
///
/// What is under way differs for a moment, and is looked at twice. A record with an open wish is the servers' to finish, and
/// so is a claim that stands in `unfinished`.
extension Doctor {
    private var plans: [ClaimPlan] { features.flatMap { $0.plan.claims } }

    /// - Parameter id: Of an owner, or of a hash of claims.
    func lookAtClaims(_ family: KeyFamily, _ id: Identifier, _ key: String, _ look: inout Look) throws(RedisFailure) {
        for plan in plans {
            if plan.record == family { try lookAtRecord(plan, of: id, key, &look) }
            if plan.claim == family { try lookAtBucket(plan, key, &look) }
        }
    }

    /// The records that are in the hash of a user.
    func lookAtRecords(of user: UserID, _ look: inout Look) throws(RedisFailure) {
        for plan in plans where plan.record == nil {
            try lookAtRecord(plan, of: user, partitions.keys(of: user).user(user), &look)
        }
    }

    private func lookAtRecord(
        _ plan: ClaimPlan, of owner: Identifier, _ key: String, _ look: inout Look
    ) throws(RedisFailure) {
        let unfinished = partitions.keys(of: owner).unfinished
        let answers = try store[key].askAtOnce([
            HeldRecord.query(key), ["SISMEMBER", unfinished, plan.intent(of: owner)],
        ])
        let record = HeldRecord(answers[0])
        guard record.wish == nil else {
            if answers[1].int != 1 { look.note(.unlistedIntent, .key(key)) }
            return
        }
        guard let text = record.held else { return }
        guard let thing = Identifier(text), let number = record.claim.flatMap({ Int64($0) }) else {
            return look.note(.malformedValue, .key(key))
        }
        let claims = plan.claims(on: thing, in: partitions.keys(of: thing))
        guard let value = try store[claims].ask("HGET", claims, thing.string).string else {
            return look.note(.lostClaim, .key(key))
        }
        guard let held = HeldClaim(value) else { return }
        if held.owner != owner || held.number < number { look.note(.contestedClaim, .key(key)) }
    }

    private func lookAtBucket(_ plan: ClaimPlan, _ key: String, _ look: inout Look) throws(RedisFailure) {
        for name in try store[key].ask("HKEYS", key).array ?? [] {
            guard let thing = name.string.flatMap({ Identifier($0) }),
                plan.claims(on: thing, in: partitions.keys(of: thing)) == key
            else {
                look.note(.unreachableRecord, .key(key))
                continue
            }
            try lookAtClaim(plan, on: thing, key, &look)
        }
    }

    func lookAtClaim(on thing: Identifier, in key: String, _ look: inout Look) throws(RedisFailure) {
        if let plan = plan(ofClaimsAt: key) { try lookAtClaim(plan, on: thing, key, &look) }
    }

    private func lookAtClaim(
        _ plan: ClaimPlan, on thing: Identifier, _ key: String, _ look: inout Look
    ) throws(RedisFailure) {
        let unfinished = partitions.keys(of: thing).unfinished
        let answers = try store[key].askAtOnce([
            ["HGET", key, thing.string], ["SISMEMBER", unfinished, plan.check(of: thing)],
        ])
        guard let value = answers[0].string, answers[1].int == 0 else { return }
        guard let claim = HeldClaim(value) else { return look.note(.malformedValue, .claim(thing, key: key)) }
        let record = plan.record(of: claim.owner, in: partitions.keys(of: claim.owner))
        let held = HeldRecord(try store[record].askAtOnce([HeldRecord.query(record)])[0])
        let isNamed = [held.claim, held.wish].contains(String(claim.number))
        if !isNamed, !held.releases(thing, claim.number) {
            look.note(.unnamedClaim, .claim(thing, key: key))
        }
    }

    func plan(ofClaimsAt key: String) -> ClaimPlan? {
        guard case .family(let family, _, _) = KeyName(key, in: partitions.space, families) else { return nil }
        return plans.first { $0.claim == family }
    }

    /// The record that is at a key, and whose it is.
    func record(at key: String) -> (plan: ClaimPlan, owner: Identifier)? {
        switch KeyName(key, in: partitions.space, families) {
        case .user(let user, _): plans.first { $0.record == nil }.map { ($0, user) }
        case .family(let family, let id, _): plans.first { $0.record == family }.map { ($0, id) }
        default: nil
        }
    }
}

extension Repair {
    /// The servers finish what is in `unfinished`: the server that does compares the claim with its owner's record again.
    func mendClaims(_ symptom: Symptom) throws(RedisFailure) {
        if case .claim(let thing, let key) = symptom.place, symptom.kind == .unnamedClaim {
            guard let plan = doctor.plan(ofClaimsAt: key) else { return }
            let unfinished = doctor.partitions.keys(of: thing).unfinished
            _ = try doctor.store[key].ask("SADD", unfinished, plan.check(of: thing))
        }
        guard case .key(let key) = symptom.place, let (plan, id) = doctor.record(at: key) else { return }
        let keys = doctor.partitions.keys(of: id)
        switch symptom.kind {
        case .unlistedIntent: _ = try doctor.store[key].ask("SADD", keys.unfinished, plan.intent(of: id))
        case .lostClaim:
            let record = HeldRecord(try doctor.store[key].askAtOnce([HeldRecord.query(key)])[0])
            guard record.wish == nil, let number = record.claim, let thing = record.held.flatMap({ Identifier($0) })
            else { return }
            let place = doctor.partitions.keys(of: thing)
            let claims = plan.claims(on: thing, in: place)
            // Should the record change now, the claim is looked at again.
            _ = try doctor.store[claims].ask("SADD", place.unfinished, plan.check(of: thing))
            _ = try doctor.store[claims].ask("HSETNX", claims, thing.string, "\(id) \(number)")
        default: break
        }
    }
}

/// What the doctor reads of an owner's record.
private struct HeldRecord {
    let held: String?
    let claim: String?
    let wish: String?
    /// What the open wish gives up: a number and a thing for each.
    let releasing: [Substring]

    static func query(_ key: String) -> [String] { ["HMGET", key, "held", "claim", "wish", "releasing"] }

    init(_ answer: RedisValue) {
        var texts = (answer.array ?? []).map(\.string)
        if texts.count != 4 { texts = [nil, nil, nil, nil] }
        (held, claim, wish) = (texts[0], texts[1], texts[2])
        releasing = (texts[3] ?? "").split(separator: " ")
    }

    /// Whether the servers give this claim up as they go on with the open wish.
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
