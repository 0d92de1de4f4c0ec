import PresenceCore
import PresenceProtocol
import Redis

/// Checks each claim on an e-mail address: its account must have the address, want it, or be releasing it. An interrupted
/// change may leave a void claim. The next request for the address removes it, but without such a request it would stay. Also
/// checks that each account's address is claimed for the account, and that pending changes of an address are listed for the
/// servers.
extension Doctor {
    func checkAddresses(_ key: String, _ look: inout Look) throws(RedisFailure) {
        for name in try store[key].run("HKEYS", key).array ?? [] {
            if let address = name.string { try checkAddress(address, in: key, &look) }
        }
    }

    func checkAddress(_ address: String, in key: String, _ look: inout Look) throws(RedisFailure) {
        guard let value = try store[key].run("HGET", key, address).string else { return }
        guard let claim = AccountClaim(value) else { return look.record(.malformedValue, .address(address, key: key)) }
        if try !account(of: claim.user).means(claim.number, on: address) {
            look.record(.unheldAddress, .address(address, key: key))
        }
    }

    fileprivate func account(of user: UserID) throws(RedisFailure) -> HeldAccount {
        let key = partitions.keys(of: user).account(user)
        return HeldAccount(try store[key].runAll([["HMGET", key] + HeldAccount.fields])[0].get())
    }

    func checkAccount(of user: UserID, _ look: inout Look) throws(RedisFailure) {
        let keys = partitions.keys(of: user)
        let key = keys.account(user)
        let answers = try store[key].runAtOnce([
            ["HMGET", key] + HeldAccount.fields, ["SISMEMBER", keys.unfinished, EmailChange.member(of: user)],
        ])
        let account = HeldAccount(answers[0])
        if account.isChanging, answers[1].int == 0 { look.record(.unlistedAddressChange, .key(key)) }
        guard let text = account.email, let addresses = addressPartitions else { return }
        guard let email = EmailAddress(text), let number = account.number else {
            return look.record(.malformedValue, .key(key))
        }
        let claims = addresses.keys(of: email.text).emails(with: email)
        guard let value = try store[claims].run("HGET", claims, email.text).string else {
            return look.record(.lostAddress, .key(key))
        }
        // An unreadable claim is reported when the claims are checked.
        guard let claim = AccountClaim(value) else { return }
        if claim == AccountClaim(user: user, number: number) { return }
        guard try self.account(of: claim.user).means(claim.number, on: email.text) else {
            // Void claims are repaired earlier, in the order of the kinds.
            return look.record(.lostAddress, .key(key))
        }
        if claim.user != user { look.record(.contestedAddress, .key(key)) }
    }
}

/// The fields of an account that the doctor reads.
private struct HeldAccount {
    static let fields = ["email", "emailClaim", "emailWanted", "emailWish", "emailReleasing"]
    let email: String?
    /// The number of the wish by which the account has its address; 0 if the account has had it since its sign-up.
    let number: Int64?
    private let values: [String?]

    init(_ answer: RedisValue) {
        let texts = (answer.array ?? []).map(\.string)
        values = texts.count == Self.fields.count ? texts : Self.fields.map { _ in nil }
        email = values[0]
        number = Int64(values[1] ?? "0")
    }

    /// Whether servers still have work to do for this account.
    var isChanging: Bool { values[2] != nil || values[4] != nil }

    /// Whether the account has the address by this claim, wants it, or is releasing it.
    func means(_ number: Int64, on address: String) -> Bool {
        let isHeld = email == address && self.number == number
        let isWanted = values[2]?.hasPrefix(address + " ") == true && values[3] == String(number)
        // An intent to release the address is pending.
        let isReleased = values[4]?.hasSuffix(" " + address) == true || values[4]?.contains(" \(address) ") == true
        return isHeld || isWanted || isReleased
    }
}

extension Repair {
    /// A number of a claim is never reused, so deleting exactly this value is safe at any time.
    func releaseAddress(_ address: String, in key: String) throws(RedisFailure) {
        let store = doctor.store
        guard let value = try store[key].run("HGET", key, address).string, AccountClaim(value) != nil else { return }
        let release = """
            if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
            """
        _ = try store[key].run("EVAL", release, "1", key, address, value)
    }

    /// If the account changes at the same time, the claim is void, and the next check reports it.
    func claimAddress(at key: String) throws(RedisFailure) {
        guard let (user, account) = try account(at: key), let addresses = doctor.addressPartitions,
            let number = account.number,
            let email = account.email.flatMap({ EmailAddress($0) })
        else { return }
        let claims = addresses.keys(of: email.text).emails(with: email)
        let claim = AccountClaim(user: user, number: number)
        _ = try store[claims].run("HSETNX", claims, email.text, claim.text)
    }

    /// Lists the change in `unfinished`; the servers complete everything listed there.
    func listAddressChange(at key: String) throws(RedisFailure) {
        guard let (user, account) = try account(at: key), account.isChanging else { return }
        _ = try store[key].run(
            "SADD", doctor.partitions.keys(of: user).unfinished, EmailChange.member(of: user))
    }

    private func account(at key: String) throws(RedisFailure) -> (UserID, HeldAccount)? {
        guard case .user(let user, _) = KeyName(key, in: doctor.partitions.space, doctor.families) else { return nil }
        return (user, try doctor.account(of: user))
    }
}
