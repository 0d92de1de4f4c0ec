import PresenceCore
import PresenceProtocol
import Redis

/// Claims and the records of their owners (`Claiming`), which are in different partitions: whether they name each other.
///
/// What is under way differs for a moment, and is looked at twice. A record with an open wish is the servers' to finish, and
/// so is a claim that stands in `unfinished`.
extension Doctor {
    private var plans: [ClaimPlan] { features.flatMap { $0.plan.claims } }

    func lookAtClaims(_ family: KeyFamily, _ id: Identifier, _ key: String, _ look: inout Look) throws(RedisFailure) {
        for plan in plans {
            if plan.record == family { try lookAtRecord(plan, of: id, key, &look) }
            if plan.claim == family { try lookAtClaim(plan, on: id, key, &look) }
        }
    }

    private func lookAtRecord(
        _ plan: ClaimPlan, of owner: Identifier, _ key: String, _ look: inout Look
    ) throws(RedisFailure) {
        let unfinished = partitions.keys(of: owner).unfinished
        let answers = try store[key].askAtOnce([
            ["HMGET", key, "held", "claim", "wish"], ["SISMEMBER", unfinished, plan.intent(of: owner)],
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
        let claim = partitions.keys(of: thing).key(plan.claim, thing)
        guard let value = try store[claim].ask("GET", claim).string else { return look.note(.lostClaim, .key(key)) }
        guard let held = HeldClaim(value) else { return }
        if held.owner != owner || held.number < number { look.note(.contestedClaim, .key(key)) }
    }

    private func lookAtClaim(
        _ plan: ClaimPlan, on thing: Identifier, _ key: String, _ look: inout Look
    ) throws(RedisFailure) {
        let unfinished = partitions.keys(of: thing).unfinished
        let answers = try store[key].askAtOnce([["GET", key], ["SISMEMBER", unfinished, plan.check(of: thing)]])
        guard let value = answers[0].string, answers[1].int == 0 else { return }
        guard let claim = HeldClaim(value) else { return look.note(.malformedValue, .key(key)) }
        let record = partitions.keys(of: claim.owner).key(plan.record, claim.owner)
        let held = HeldRecord(try store[record].ask("HMGET", record, "held", "claim", "wish"))
        if ![held.claim, held.wish].contains(String(claim.number)) { look.note(.unnamedClaim, .key(key)) }
    }

    /// The record, or the thing, that a key is of.
    func claim(at key: String) -> (plan: ClaimPlan, id: Identifier)? {
        guard case .family(let family, let id, _) = KeyName(key, in: partitions.space, families),
            let plan = plans.first(where: { $0.record == family || $0.claim == family })
        else { return nil }
        return (plan, id)
    }
}

extension Repair {
    /// The servers finish what is in `unfinished`: the server that does compares the claim with its owner's record again.
    func mendClaims(_ symptom: Symptom) throws(RedisFailure) {
        guard case .key(let key) = symptom.place, let (plan, id) = doctor.claim(at: key) else { return }
        let keys = doctor.partitions.keys(of: id)
        switch symptom.kind {
        case .unnamedClaim: _ = try doctor.store[key].ask("SADD", keys.unfinished, plan.check(of: id))
        case .unlistedIntent: _ = try doctor.store[key].ask("SADD", keys.unfinished, plan.intent(of: id))
        case .lostClaim:
            let record = HeldRecord(try doctor.store[key].ask("HMGET", key, "held", "claim", "wish"))
            guard record.wish == nil, let number = record.claim, let thing = record.held.flatMap({ Identifier($0) })
            else { return }
            let place = doctor.partitions.keys(of: thing)
            let claim = place.key(plan.claim, thing)
            // Should the record change now, the claim is looked at again.
            _ = try doctor.store[claim].ask("SADD", place.unfinished, plan.check(of: thing))
            _ = try doctor.store[claim].ask("SET", claim, "\(id) \(number)", "NX")
        default: break
        }
    }
}

/// Claims on e-mail addresses: whether the accounts that they name hold them, want them, or are about to give them up. What broke
/// off late may leave one that counts for nothing. The next request for the address finds that out; without one it would stay.
extension Doctor {
    func lookAtAddress(_ address: Identifier, _ key: String, _ look: inout Look) throws(RedisFailure) {
        guard let value = try store[key].ask("GET", key).string else { return }
        guard let claim = EmailClaim(value) else { return look.note(.malformedValue, .key(key)) }
        let account = partitions.keys(of: claim.user).account(claim.user)
        let answer = try store[account].ask("HMGET", account, "email", "claim", "wanted", "wish", "releasing")
        let held = (answer.array ?? []).map(\.string)
        guard held.count == 5 else { return }
        let number = String(claim.number)
        let isHeld = held[0] == address.string && held[1] == number
        let isWanted = held[2]?.hasPrefix(address.string + " ") == true && held[3] == number
        // An intent is at it.
        let isReleased = held[4]?.hasSuffix(" " + address.string) == true || held[4]?.contains(" \(address) ") == true
        if !isHeld, !isWanted, !isReleased { look.note(.unheldAddress, .key(key)) }
    }
}

extension Repair {
    /// The number of a claim that is over never comes again: what is compared as a whole can be removed at any time.
    func releaseAddress(at key: String) throws(RedisFailure) {
        guard let value = try store[key].ask("GET", key).string, EmailClaim(value) != nil else { return }
        let release = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"
        _ = try store[key].ask("EVAL", release, "1", key, value)
    }
}

/// What the doctor reads of an owner's record.
private struct HeldRecord {
    let held: String?
    let claim: String?
    let wish: String?

    init(_ answer: RedisValue) {
        let texts = (answer.array ?? []).map(\.string)
        (held, claim, wish) = texts.count == 3 ? (texts[0], texts[1], texts[2]) : (nil, nil, nil)
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
