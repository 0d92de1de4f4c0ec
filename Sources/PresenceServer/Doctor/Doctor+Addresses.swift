import PresenceCore
import PresenceProtocol
import Redis

/// Claims on e-mail addresses: whether the accounts that they name hold them, want them, or are about to give them up. What broke
/// off late may leave one that counts for nothing. The next request for the address finds that out; without one it would stay.
extension Doctor {
    func lookAtAddresses(_ key: String, _ look: inout Look) throws(RedisFailure) {
        for name in try store[key].ask("HKEYS", key).array ?? [] {
            if let address = name.string { try lookAtAddress(address, in: key, &look) }
        }
    }

    func lookAtAddress(_ address: String, in key: String, _ look: inout Look) throws(RedisFailure) {
        guard let value = try store[key].ask("HGET", key, address).string else { return }
        guard let claim = EmailClaim(value) else { return look.note(.malformedValue, .address(address, key: key)) }
        let account = partitions.keys(of: claim.user).account(claim.user)
        let answer = try store[account].ask(
            "HMGET", account, "email", "emailClaim", "emailWanted", "emailWish", "emailReleasing")
        let held = (answer.array ?? []).map(\.string)
        guard held.count == 5 else { return }
        let number = String(claim.number)
        // A sign-up claims the address without a number.
        let isHeld = held[0] == address && (held[1] ?? "0") == number
        let isWanted = held[2]?.hasPrefix(address + " ") == true && held[3] == number
        // An intent is at it.
        let isReleased = held[4]?.hasSuffix(" " + address) == true || held[4]?.contains(" \(address) ") == true
        if !isHeld, !isWanted, !isReleased { look.note(.unheldAddress, .address(address, key: key)) }
    }
}

extension Repair {
    /// The number of a claim that is over never comes again: what is compared as a whole can be removed at any time.
    func releaseAddress(_ address: String, in key: String) throws(RedisFailure) {
        let store = doctor.store
        guard let value = try store[key].ask("HGET", key, address).string, EmailClaim(value) != nil else { return }
        let release = """
            if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
            """
        _ = try store[key].ask("EVAL", release, "1", key, address, value)
    }
}
