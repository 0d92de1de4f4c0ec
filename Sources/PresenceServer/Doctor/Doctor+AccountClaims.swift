import PresenceCore
import PresenceProtocol
import Redis

/// Checks each claim on an e-mail address and on a provider's identity: its account must have the name, want it, or be releasing
/// it. An interrupted change may leave a void claim. The next request for the name removes it, but without such a request it
/// would stay. Also checks that each account's names are claimed for the account, and that pending changes are listed for the
/// servers.
extension Doctor {
    /// - Parameter key: A hash of claims.
    func checkAccountClaims(_ key: String, _ look: inout Look) throws(RedisFailure) {
        for field in try store[key].run("HKEYS", key).array ?? [] {
            if let name = field.string { try checkAccountClaim(on: name, in: key, &look) }
        }
    }

    func checkAccountClaim(on text: String, in key: String, _ look: inout Look) throws(RedisFailure) {
        guard let value = try store[key].run("HGET", key, text).string else { return }
        guard let claim = AccountClaim(value), let name = ClaimedName(text) else {
            return look.record(.malformedValue, .accountClaim(text, key: key))
        }
        if try !account(of: claim.user).means(claim, on: name) {
            look.record(name.findings.unheld, .accountClaim(text, key: key))
        }
    }

    fileprivate func account(of user: UserID) throws(RedisFailure) -> HeldAccount {
        let key = partitions.keys(of: user).account(user)
        return HeldAccount(user, try store[key].runAll([["HMGET", key] + HeldAccount.fields])[0].get())
    }

    func checkAccount(of user: UserID, _ look: inout Look) throws(RedisFailure) {
        let keys = partitions.keys(of: user)
        let key = keys.account(user)
        let answers = try store[key].runAtOnce([
            ["HMGET", key] + HeldAccount.fields, ["SISMEMBER", keys.unfinished, EmailChange.member(of: user)],
            ["SISMEMBER", keys.unfinished, IdentityChange.member(of: user)],
        ])
        let account = HeldAccount(user, answers[0])
        if account.isChangingAddress, answers[1].int == 0 { look.record(.unlistedAddressChange, .key(key)) }
        if account.isChangingIdentities, answers[2].int == 0 { look.record(.unlistedIdentityChange, .key(key)) }
        guard let logins = loginPartitions else { return }
        guard let names = account.names else { return look.record(.malformedValue, .key(key)) }
        for (name, claim) in names { try check(name, isClaimedBy: claim, logins, key, &look) }
    }

    /// - Parameter key: The account's.
    private func check(
        _ name: ClaimedName, isClaimedBy own: AccountClaim, _ logins: LoginPartitions, _ key: String,
        _ look: inout Look
    ) throws(RedisFailure) {
        guard let claims = name.claims(in: logins) else { return look.record(.malformedValue, .key(key)) }
        guard let value = try store[claims].run("HGET", claims, name.text).string else {
            return look.record(name.findings.lost, .key(key))
        }
        // An unreadable claim is reported when the claims are checked.
        guard let claim = AccountClaim(value), claim != own else { return }
        guard try account(of: claim.user).means(claim, on: name) else {
            // Void claims are repaired earlier, in the order of the kinds.
            return look.record(name.findings.lost, .key(key))
        }
        if claim.user != own.user { look.record(name.findings.contested, .key(key)) }
    }
}

extension ClaimedName {
    /// As it is stored in a hash of claims. Each address has an @, and no digest has one.
    fileprivate init?(_ text: String) {
        if text.contains("@") {
            guard let email = EmailAddress(text) else { return nil }
            self = .email(email)
        } else {
            self = .identity(text)
        }
    }

    fileprivate var findings: (unheld: DoctorFinding.Kind, lost: DoctorFinding.Kind, contested: DoctorFinding.Kind) {
        switch self {
        case .email: (.unheldAddress, .lostAddress, .contestedAddress)
        case .identity: (.unheldIdentity, .lostIdentity, .contestedIdentity)
        }
    }
}

/// The fields of an account that the doctor reads.
private struct HeldAccount {
    static let fields = [
        "email", "emailClaim", "emailWanted", "emailWish", "emailReleasing", "identities", "identityWanted",
        "identityReleasing",
    ]
    /// The account's names, each with the claim by which the account has it; `nil` if some cannot be read.
    let names: [(ClaimedName, AccountClaim)]?
    private let values: [String: String]

    init(_ user: UserID, _ answer: RedisValue) {
        var values: [String: String] = [:]
        for (field, value) in zip(Self.fields, answer.array ?? []) { values[field] = value.string }
        self.values = values
        names = Self.names(user, values)
    }

    private static func names(_ user: UserID, _ values: [String: String]) -> [(ClaimedName, AccountClaim)]? {
        var names: [(ClaimedName, AccountClaim)] = []
        if let text = values["email"] {
            // An account has had its first address since its sign-up by the number 0.
            guard let email = EmailAddress(text), let number = Int64(values["emailClaim"] ?? "0") else { return nil }
            names.append((.email(email), AccountClaim(user: user, number: number)))
        }
        if let text = values["identities"] {
            let identities = LinkedIdentity.all(in: text)
            guard identities.count == text.split(separator: "\n").count else { return nil }
            names += identities.map { (.identity($0.digest), AccountClaim(user: user, number: $0.number)) }
        }
        return names
    }

    /// Whether servers still have work to do for this account.
    var isChangingAddress: Bool { values["emailWanted"] != nil || values["emailReleasing"] != nil }
    var isChangingIdentities: Bool { values["identityWanted"] != nil || values["identityReleasing"] != nil }

    /// Whether the account has the name by this claim, wants it, or is releasing it.
    func means(_ claim: AccountClaim, on name: ClaimedName) -> Bool {
        if names?.contains(where: { $0 == (name, claim) }) == true { return true }
        switch name {
        case .email(let email):
            let isWanted =
                values["emailWanted"]?.hasPrefix(email.text + " ") == true
                && values["emailWish"] == String(claim.number)
            return isWanted || releases(email.text, "emailReleasing")
        case .identity(let digest):
            return values["identityWanted"]?.hasPrefix("\(digest) \(claim.number) ") == true
                || releases(digest, "identityReleasing")
        }
    }

    /// Whether a pending intent releases the name: the field has pairs of "NUMBER NAME".
    private func releases(_ name: String, _ field: String) -> Bool {
        values[field]?.split(separator: " ").contains { $0 == name } == true
    }
}

extension Repair {
    /// A number of a claim is never reused, so deleting exactly this value is safe at any time.
    func releaseName(_ name: String, in key: String) throws(RedisFailure) {
        let store = doctor.store
        guard let value = try store[key].run("HGET", key, name).string, AccountClaim(value) != nil else { return }
        let release = """
            if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
            """
        _ = try store[key].run("EVAL", release, "1", key, name, value)
    }

    /// Claims all names of an account that are not claimed. If the account changes at the same time, a claim is void, and the
    /// next check reports it.
    func claimNames(at key: String) throws(RedisFailure) {
        guard let (_, account) = try account(at: key), let logins = doctor.loginPartitions else { return }
        for (name, claim) in account.names ?? [] {
            guard let claims = name.claims(in: logins) else { continue }
            _ = try doctor.store[claims].run("HSETNX", claims, name.text, claim.text)
        }
    }

    /// Lists the changes in `unfinished`; the servers complete everything listed there.
    func listAccountChanges(at key: String) throws(RedisFailure) {
        guard let (user, account) = try account(at: key) else { return }
        let unfinished = doctor.partitions.keys(of: user).unfinished
        if account.isChangingAddress {
            _ = try doctor.store[key].run("SADD", unfinished, EmailChange.member(of: user))
        }
        if account.isChangingIdentities {
            _ = try doctor.store[key].run("SADD", unfinished, IdentityChange.member(of: user))
        }
    }

    private func account(at key: String) throws(RedisFailure) -> (UserID, HeldAccount)? {
        guard case .user(let user, _) = KeyName(key, in: doctor.partitions.space, doctor.families) else { return nil }
        return (user, try doctor.account(of: user))
    }
}
